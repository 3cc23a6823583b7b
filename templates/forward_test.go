package templates

import (
	"context"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// uncopied are the families that out of place copy nothing within a rank, on any
// of the machines below, with the first of their parameters.
var uncopied = map[string][]string{
	"ring":                       {"allreduce", "reducescatter"},
	"double-binary-tree":         {"allreduce"},
	"hierarchical":               {"allreduce"},
	"multi-level":                {"allreduce"},
	"grid":                       {"allreduce"},
	"scatter-allgather":          {"reduce"},
	"recursive-halving-doubling": {"allreduce"},
	"recursive-doubling":         {"allreduce"},
	"chain":                      {"reduce"},
	"k-nomial":                   {"reduce"},
	"direct":                     {"reduce"},
	"routed":                     {"allreduce", "reducescatter", "reduce"},
	"all-pairs":                  {"allreduce", "reducescatter"},
}

// uncopiedInPlace are those that in place copy and add up nothing within a rank, on
// the machines below of 8 ranks.
var uncopiedInPlace = map[string]string{
	"recursive-doubling": "allreduce", "recursive-halving-doubling": "reducescatter", "scatter-allgather": "reduce",
}

// TestNoFirstCopy compiles every family for every collective it does, in both
// placements, with passes forward and deliver and without. Both move the right
// bytes on real memory, and both are verified; with them nobody has more steps
// or copies more, and those that only copied to reduce copy nothing.
func TestNoFirstCopy(t *testing.T) {
	machines := []script.Machine{script.Even(1, 4), script.Even(2, 4), ringMachine(5), meshMachine(true, 3, 3)}
	copiesOf := func(p *ir.Program) (copies, chunks, sums, steps int) {
		for g := range p.GPUs {
			for _, tb := range p.GPUs[g].Threadblocks {
				steps += len(tb.Steps)
				for _, s := range tb.Steps {
					switch s.Op {
					case ir.Copy:
						copies, chunks = copies+1, chunks+int(s.Count)
					case ir.Reduce:
						sums++
					}
				}
			}
		}
		return copies, chunks, sums, steps
	}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				t.Parallel()
				compiled := 0
				for i, m := range machines {
					top := topotest.Resolve(t, fmt.Sprintf("fullmesh:%d", m.Ranks()), 0)
					for _, q := range requests(c, m) {
						grid, err := f.GridFor(m, q, nil, 1)
						if err != nil {
							t.Fatal(err)
						}
						if len(grid) == 0 {
							continue
						}
						program, err := f.Trace(m, q, grid[0])
						if err != nil {
							t.Fatal(err)
						}
						var copies, chunks, sums, steps [2]int
						for with, leave := range [2][]string{{"propagate copies", "sink copies"}, nil} {
							r, err := compiler.Compile(program, compiler.Options{Instances: 1 + i%2, MaxChannels: 1 << 10, Disable: leave})
							if err != nil {
								t.Fatal(err)
							}
							if err := verify.Check(r.Program, verify.Options{Slots: 2}).Err(); err != nil {
								t.Errorf("%v, %+v, without %v: %v", m.GPUsPerNode, q, leave, err)
							}
							got, err := cpu.New().Run(context.Background(), executor.Trial{
								Program: r.Program, Topology: top, Bytes: 4 * int64(1003+i), DType: "f32", Protocol: topologies.AllProtocols[i%3], Iters: 1, Seed: int64(i),
							})
							if err != nil || got.Wrong != 0 || !got.Checked {
								t.Errorf("%v, %+v, without %v: %d wrong, %v", m.GPUsPerNode, q, leave, got.Wrong, err)
							}
							copies[with], chunks[with], sums[with], steps[with] = copiesOf(r.Program)
						}
						compiled++
						if copies[1] > copies[0] || chunks[1] > chunks[0] || steps[1] > steps[0] {
							t.Errorf("%v, %+v: %d copies of %d chunks in %d steps, without the passes %d of %d in %d", m.GPUsPerNode, q, copies[1], chunks[1], steps[1], copies[0], chunks[0], steps[0])
						}
						if uncopiedInPlace[f.Name] == c && q.InPlace && m.Ranks() == 8 && copies[1]+sums[1] > 0 {
							t.Errorf("%v, %+v: %d copies and %d sums within ranks: want none", m.GPUsPerNode, q, copies[1], sums[1])
						}
						for _, u := range uncopied[f.Name] {
							if u == c && !q.InPlace && (copies[1] != 0 || copies[0] == 0 && m.Ranks() > 1) {
								t.Errorf("%v, %+v: %d copies, %d without the passes: want none, and some", m.GPUsPerNode, q, copies[1], copies[0])
							}
						}
					}
				}
				if compiled == 0 {
					t.Error("it was never compiled")
				}
			})
		}
	}
}
