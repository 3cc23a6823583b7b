package ir_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// Decode reads the JSON form of a program, and Print shows it to people.
func ExampleDecode() {
	const document = `{"schema": "colltune.ir/v1", "name": "pair",
		"collective": {"name": "broadcast", "ranks": 2, "chunks": 1, "in_place": true},
		"gpus": [
			{"gpu": 0, "scratch": 0, "threadblocks": [
				{"tb": 0, "send": 1, "recv": -1, "channel": 0, "steps": [{"op": "s", "src": ["in", 0]}]}]},
			{"gpu": 1, "scratch": 0, "threadblocks": [
				{"tb": 0, "send": -1, "recv": 0, "channel": 0, "steps": [{"op": "r", "dst": ["in", 0]}]}]}]}`
	p, err := ir.Decode(strings.NewReader(document))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Hash()[:8], p.Channels(), "channel")
	_ = ir.Print(os.Stdout, p)

	_, err = ir.Decode(strings.NewReader(`{"schema": "colltune.ir/v1", "colour": 1}`))
	fmt.Println(err)
	// Output:
	// d215026c 1 channel
	// broadcast over 2 ranks, 1 chunks, in place
	// gpu 0
	//   tb 0 send→1 ch 0
	//     0 s    in[0]
	// gpu 1
	//   tb 0 recv←0 ch 0
	//     0 r    in[0]
	// 1:30: unknown key "colour": want schema, name, comment, protocol, collective, gpus
}
