package templates_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/templates"
)

// The ring's allreduce with the first parameters of its grid, on a node of 4 GPUs.
func ExampleFind() {
	ring, err := templates.Find(templates.Builtin(), "ring", "allreduce")
	if err != nil {
		fmt.Println(err)
		return
	}
	machine := script.Even(1, 4)
	grid, err := ring.Grid(machine, "allreduce", map[string]string{"channels": "2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	request := script.Request{Collective: "allreduce", InPlace: true}
	program, err := ring.Trace(machine, request, grid[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %d operations on %d chunks\n", grid[0], len(program.Ops), program.Collective.Chunks)

	alias, err := templates.Find(templates.Builtin(), "Binomial", "gather")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(alias.Name)
	// Output:
	// channels=2 rings=1: 24 operations on 4 chunks
	// k-nomial
}
