package script_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/script"
)

// A broadcast along a line of ranks, traced on one node of three GPUs.
func ExampleTemplate_Trace() {
	const text = `
family(
    name = "line",
    collectives = ["broadcast"],
    parameters = {"channel": choice(0, 1)},
)

def program(topo, p):
    c = chunk(0, "in", 0)
    for rank in range(1, topo.ranks):
        c = c.copy(rank, "out", 0, ch = p.channel)
`
	t, err := script.Load("line.star", []byte(text), script.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := script.Request{Collective: "broadcast", InPlace: true}
	p, err := t.Trace(script.Even(1, 3), request, map[string]any{"channel": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range p.Ops {
		op := &p.Ops[i]
		fmt.Println(op.Src, "→", op.Dst, "channel", op.Channel, "at", p.Pos(op))
	}
	_, err = t.Trace(script.Even(1, 3), request, map[string]any{"chanel": 1})
	fmt.Println(err)
	// Output:
	// rank 0 in[0] → rank 1 in[0] channel 1 at line.star:11:19
	// rank 1 in[0] → rank 2 in[0] channel 1 at line.star:11:19
	// line has no parameter chanel (did you mean channel?): it has channel
}
