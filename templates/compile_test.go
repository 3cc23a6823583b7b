package templates

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// TestFamiliesCompile compiles every family on a few machines, whole and in
// three instances, and has the IR executed by the verifier, which shares
// nothing with the trace. What the family says it costs must be what is counted. But for
// COLLTUNE_LONG=1, machines of 5 and 6 ranks take every eighth set of parameters.
func TestFamiliesCompile(t *testing.T) {
	machines := map[string]script.Machine{
		"4": script.Even(1, 4), "2x4": script.Even(2, 4), "3x2": script.Even(3, 2),
		"3+2": {Nodes: 2, GPUsPerNode: []int{3, 2}}, "5": script.Even(1, 5),
		"ring of 5": ringMachine(5), "mesh 3x4": meshMachine(false, 3, 4), "torus 3x3": meshMachine(true, 3, 3), "mesh 2x2x2": meshMachine(false, 2, 2, 2),
		"4x2": script.Even(4, 2),
	}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				for _, m := range machines {
					for _, q := range requests(c, m) {
						grid, err := f.GridFor(m, q, nil, 1)
						if err != nil {
							t.Fatal(err)
						}
						for i, p := range grid {
							if i == 0 || i == len(grid)-1 || m.Ranks() < 5 || m.Ranks() < 7 && (everything() || i%8 == 3) {
								compileAndVerify(t, f, m, q, p)
							}
						}
					}
				}
			})
		}
	}
}

func compileAndVerify(t rapid.TB, f *Family, m script.Machine, q script.Request, p script.Params) {
	t.Helper()
	program, err := f.Trace(m, q, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, instances := range []int{1, 3} {
		if instances > 1 && len(program.Ops) > 1000 {
			break
		}
		compiled, err := compiler.Compile(program, compiler.Options{Instances: instances, MaxChannels: 1 << 10, CallPerChunk: true})
		if err != nil {
			t.Errorf("%v %+v %v ×%d: %v", m.GPUsPerNode, q, p, instances, err)
			continue
		}
		if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
			t.Errorf("%v %+v %v ×%d: %v", m.GPUsPerNode, q, p, instances, err)
			continue
		}
		if instances > 1 {
			continue
		}
		got := measure(t, compiled.Program)
		said, ok, err := f.Cost(m, q, p)
		switch {
		case err != nil || !ok:
			t.Errorf("%v %+v %v: no cost: %v", m.GPUsPerNode, q, p, err)
		case got.steps != said.Steps || got.wire.Cmp(said.Wire) != 0:
			t.Errorf("%v %+v %v: it says %d steps and %v of the size on the wire; counted are %d and %v", m.GPUsPerNode, q, p, said.Steps, said.Wire, got.steps, got.wire)
		}
	}
}
