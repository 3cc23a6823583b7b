package templates

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// odd returns numbers of ranks that algorithms forget: one, primes, odd
// composites, and even ones that are no power of two; on one node, on one rank
// a node, and on nodes of an odd number each.
func odd() []script.Machine {
	var all []script.Machine
	for _, n := range []int{1, 3, 5, 6, 7, 9, 12, 15} {
		all = append(all, script.Even(1, n), script.Even(n, 1))
	}
	return append(all, script.Even(3, 5), script.Even(5, 3), script.Even(3, 3),
		script.Machine{Nodes: 3, GPUsPerNode: []int{1, 1, 3}}, script.Machine{Nodes: 2, GPUsPerNode: []int{5, 1}})
}

// TestOddSizes compiles every family for every collective it does, in and out
// of place, for the first, the middle and the last root, on machines of odd
// sizes: with each set of parameters it is refused and told why, or what comes
// out, whole and in two instances, computes the collective with two slots, by
// the verifier, which shares nothing with trace and compiler. The ordinary test
// takes the smaller machines, and the first and the last set of parameters that
// apply.
func TestOddSizes(t *testing.T) {
	for _, f := range Builtin() {
		for _, coll := range f.Collectives {
			t.Run(f.Name+"/"+coll, func(t *testing.T) {
				t.Parallel()
				for _, m := range odd() {
					if m.Ranks() > 7 && !everything() {
						continue
					}
					for _, q := range requests(coll, m) {
						oddSize(t, f, m, q)
						if last := m.Ranks() - 1; q.Root == last && last > 1 {
							q.Root = m.Ranks() / 2
							oddSize(t, f, m, q)
						}
					}
				}
			})
		}
	}
}

// oddSize tries the sets of parameters of a family for one request.
func oddSize(t *testing.T, f *Family, m script.Machine, q script.Request) {
	t.Helper()
	axes, err := f.axes(nil)
	if err != nil {
		t.Fatal(err)
	}
	var grid []script.Params
	at := make([]int, len(axes))
	for more := true; more; more = next(at, axes) {
		params := script.Params{}
		for i, p := range f.Parameters {
			params[p.Name] = axes[i][at[i]]
		}
		switch yes, why, err := f.Admits(m, q, params); {
		case err != nil:
			t.Fatalf("%v %+v %v: %v", m.GPUsPerNode, q, params, err)
		case yes:
			grid = append(grid, params)
		case why == "":
			t.Errorf("%v %+v %v: refused without a reason", m.GPUsPerNode, q, params)
		}
	}
	for i, params := range grid {
		if i > 0 && i < len(grid)-1 && !everything() {
			continue
		}
		for _, instances := range []int{1, 2} {
			if err := rightAsCompiled(f, m, q, params, instances); err != nil {
				t.Errorf("%v %+v %v ×%d: %v", m.GPUsPerNode, q, params, instances, err)
			}
		}
	}
}

// rightAsCompiled compiles as the command line does, and verifies.
func rightAsCompiled(f *Family, m script.Machine, q script.Request, params script.Params, instances int) error {
	program, err := f.Trace(m, q, params)
	if err != nil {
		return err
	}
	compiled, err := compiler.Compile(program, compiler.Options{Instances: instances, MaxChannels: 1 << 10})
	if err != nil {
		return err
	}
	report := verify.Check(compiled.Program, verify.Options{Slots: 2, Linked: m.Linked})
	if err := report.Err(); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return fmt.Errorf("the verifier finds %v", report.Findings)
	}
	return nil
}
