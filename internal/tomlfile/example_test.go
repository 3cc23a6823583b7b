package tomlfile_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/tomlfile"
)

func ExampleDecode() {
	var v struct {
		Node struct{ GPUs int }
	}
	_, lines, err := tomlfile.Decode("name = \"box\"\n[node]\ngpus = 8\n", &v)
	fmt.Println(v.Node.GPUs, lines.Of("node.gpus"), err)
	_, _, err = tomlfile.Decode("name = box\n", &v)
	fmt.Println(err)
	// Output:
	// 8 3 <nil>
	// line 1: a value without quotes: want name = "box"
}
