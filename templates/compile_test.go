package templates

import (
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// TestFamiliesCompile compiles every family on a few machines, whole and in
// three instances, and has the IR executed by the verifier, which shares
// nothing with the trace.
func TestFamiliesCompile(t *testing.T) {
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				for _, m := range []script.Machine{script.Even(1, 4), script.Even(2, 4), script.Even(3, 2), {Nodes: 2, GPUsPerNode: []int{3, 2}}} {
					for _, inPlace := range []bool{false, true} {
						for _, root := range roots(c, m, inPlace) {
							q := script.Request{Collective: c, Root: root, InPlace: inPlace}
							grid, err := f.GridFor(m, q, nil)
							if err != nil {
								t.Fatal(err)
							}
							for _, p := range grid {
								compileAndVerify(t, f, m, q, p)
							}
						}
					}
				}
			})
		}
	}
}

func compileAndVerify(t *testing.T, f *Family, m script.Machine, q script.Request, p script.Params) {
	t.Helper()
	program, err := f.Trace(m, q, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, instances := range []int{1, 3} {
		compiled, err := compiler.Compile(program, compiler.Options{Instances: instances, MaxChannels: 1 << 10, CallPerChunk: true})
		if err != nil {
			t.Errorf("%v %+v %v ×%d: %v", m.GPUsPerNode, q, p, instances, err)
			continue
		}
		if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
			t.Errorf("%v %+v %v ×%d: %v", m.GPUsPerNode, q, p, instances, err)
		}
	}
}
