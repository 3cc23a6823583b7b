package program_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// A family's drafts for eight GPUs of a full mesh, built: each is verified IR, or refused.
func ExampleBuilder() {
	mesh, err := topologies.Resolve("fullmesh:8", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	family, err := templates.Find(templates.Builtin(), "recursive-doubling", "allreduce")
	if err != nil {
		fmt.Println(err)
		return
	}
	call := collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}
	builder := program.New(program.Target{Call: call, Topology: mesh, InPlace: true}, program.Options{})
	defer builder.Close()
	all, err := builder.Family(context.Background(), family, program.Never, program.Never)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range all.Drafts[:2] {
		built, err := builder.Build(context.Background(), d)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d operations, %d threadblocks a GPU\n", d, d.Operations(), built.Program.MaxThreadblocks())
	}
	// Output:
	// recursive-doubling ×1: 48 operations, 6 threadblocks a GPU
	// recursive-doubling ×2: 96 operations, 12 threadblocks a GPU
}
