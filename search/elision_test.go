package search

import (
	"context"
	"iter"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies/topotest"
)

// traced is a routing of a family and what it is called.
type traced struct {
	name    string
	program *lang.Program
}

// everyRouting traces all routings of all families, but for those that are very large.
func everyRouting(t *testing.T, p *Problem) iter.Seq[traced] {
	o := &Options{Executor: "sim"}
	e := &enumeration{problem: p, options: o, machine: machineOf(p.Topology)}
	_, asked, err := o.check(p)
	if err != nil && (p.Collective != "alltoall" || !p.InPlace) { // which has no such form
		t.Fatal(err)
	}
	return func(yield func(traced) bool) {
		for _, f := range asked {
			grid, err := f.GridFor(e.machine, e.request(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, params := range grid {
				// A family may say only as it runs that it does not apply.
				program, err := e.trace(f, params)
				if err == nil && len(program.Ops) < 20000 && !yield(traced{candidateName(f.Name, params, 0), program}) {
					return
				}
			}
		}
	}
}

// Of nearly all programs of all families as many copies are said to be made within
// ranks as the compiler makes, and of no program far more or fewer.
func TestSparedCopies(t *testing.T) {
	programs, same := 0, 0
	for _, coll := range []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "gather", "scatter"} {
		for _, system := range []struct {
			name  string
			nodes int
		}{{"dgx-a100", 1}, {"dgx-a100", 2}, {"mesh:3x3", 1}} {
			for _, inPlace := range []bool{false, true} {
				p := &Problem{Topology: topotest.Resolve(t, system.name, system.nodes), Call: collective.Call{Collective: coll, Op: "sum", DType: "f32"}, InPlace: inPlace, Sizes: []int64{1 << 20}}
				for d := range everyRouting(t, p) {
					result, err := compiler.Compile(d.program, compiler.Options{Context: context.Background()})
					if err != nil {
						continue
					}
					all, kept, made := 0, 0, 0
					for i, spared := range elidableCopies(d.program) {
						switch {
						case spared:
							all++
						case isCopy(&d.program.Ops[i]):
							all++
							kept++
						}
					}
					for _, gpu := range result.Program.GPUs {
						for _, tb := range gpu.Threadblocks {
							for _, s := range tb.Steps {
								if s.Op == ir.Copy {
									made++
								}
							}
						}
					}
					if programs++; kept == made {
						same++
					}
					if 4*max(kept-made, made-kept) > all {
						t.Errorf("%s on %s×%d, in place %v: %s: of %d copies %d are kept, the compiler makes %d", coll, system.name, system.nodes, inPlace, d.name, all, kept, made)
					}
				}
			}
		}
	}
	if programs < 600 || 100*same < 98*programs {
		t.Errorf("as the compiler has it in %d of %d programs", same, programs)
	}
}

// Reductions into one place are one, up to as many as a runtime does together, and
// begin anew where something else has been done there.
func TestJoinedSums(t *testing.T) {
	span := func(rank, index int32) lang.Span { return lang.Span{Rank: rank, Index: index, Count: 1, Stride: 1} }
	p := &lang.Program{}
	for i := range int32(18) {
		p.Ops = append(p.Ops, lang.Op{Kind: lang.Reduce, Src: span(0, 10+i), Dst: span(0, 0)})
	}
	p.Ops = append(p.Ops,
		lang.Op{Kind: lang.Reduce, Src: span(0, 40), Dst: span(0, 1)}, // another place
		lang.Op{Kind: lang.Reduce, Src: span(0, 41), Dst: span(0, 0)},
		lang.Op{Kind: lang.Reduce, Src: span(1, 0), Dst: span(0, 0)}, // from another rank
		lang.Op{Kind: lang.Reduce, Src: span(0, 42), Dst: span(0, 0)},
		lang.Op{Kind: lang.Reduce, Src: span(0, 43), Dst: span(0, 0)},
	)
	first := map[int]bool{0: true, 16: true, 18: true, 20: true, 21: true}
	for i, joined := range joinedSums(p) {
		if joined == first[i] {
			t.Errorf("operation %d is joined: %v", i, joined)
		}
	}
}
