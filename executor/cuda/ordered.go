package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Lines of LL and LL128 carry their data in themselves and order no other
// memory: that is why they are fast. A program may lean on more: a threadblock
// writes a chunk and sends another, and the answer, two ranks later, tells a
// threadblock of the first rank that the chunk is there. Such programs run with
// a fence around every message; this finds out which they are.

// mostCompared is how many pairs of accesses are compared before a program is
// taken for one that needs fences.
const mostCompared = 1 << 24

// messagesOrder tells whether some pair of accesses of a rank's chunks, one of
// them a write, is ordered by messages alone: not by its threadblocks' order and
// dependencies.
func messagesOrder(p *ir.Program) bool {
	budget := mostCompared
	for r := range p.GPUs {
		if rankNeedsMessages(&p.GPUs[r], &budget) {
			return true
		}
	}
	return false
}

// access is one step's of a chunk.
type access struct {
	tb, step int32
	writes   bool
}

func rankNeedsMessages(g *ir.GPU, budget *int) bool {
	clocks := localOrder(g)
	if clocks == nil {
		return true
	}
	type place struct {
		buffer collective.Buffer
		index  int32
	}
	accesses := map[place][]access{}
	for tb := range g.Threadblocks {
		for i := range g.Threadblocks[tb].Steps {
			s := &g.Threadblocks[tb].Steps[i]
			for c := range s.Count {
				if s.Op.ReadsSrc() {
					at := place{s.Src.Buf, s.Src.At(c)}
					accesses[at] = append(accesses[at], access{int32(tb), int32(i), false})
				}
				if s.Op.WritesDst() {
					at := place{s.Dst.Buf, s.Dst.At(c)}
					accesses[at] = append(accesses[at], access{int32(tb), int32(i), true})
				}
			}
		}
	}
	// before: what b's threadblock knows of a's when b starts.
	before := func(a, b access) bool { return clocks[b.tb][b.step][a.tb] > a.step }
	for _, all := range accesses {
		for i, a := range all {
			for _, b := range all[i+1:] {
				if a.tb == b.tb || !a.writes && !b.writes {
					continue
				}
				if *budget--; *budget < 0 || !before(a, b) && !before(b, a) {
					return true
				}
			}
		}
	}
	return false
}

// localOrder is, for every threadblock and step, how many steps of each
// threadblock of the GPU have surely ended when it starts. nil: dependencies
// that wait for each other, or a GPU too large to look at.
func localOrder(g *ir.GPU) [][][]int32 {
	n, steps := len(g.Threadblocks), 0
	for tb := range g.Threadblocks {
		steps += len(g.Threadblocks[tb].Steps)
	}
	if int64(n)*int64(steps) > mostCompared {
		return nil
	}
	clocks := make([][][]int32, n)
	for left := steps; left > 0; {
		before := left
		for tb := range g.Threadblocks {
			for len(clocks[tb]) < len(g.Threadblocks[tb].Steps) {
				clock := startOf(g, clocks, tb)
				if clock == nil {
					break
				}
				clocks[tb] = append(clocks[tb], clock)
				left--
			}
		}
		if left == before {
			return nil
		}
	}
	return clocks
}

// startOf is the clock of a threadblock's next step; nil where a step that it
// depends on has none yet.
func startOf(g *ir.GPU, clocks [][][]int32, tb int) []int32 {
	step := int32(len(clocks[tb]))
	clock := make([]int32, len(g.Threadblocks))
	if step > 0 {
		copy(clock, clocks[tb][step-1])
	}
	clock[tb] = step
	for _, d := range g.Threadblocks[tb].Steps[step].Deps {
		if int(d.TB) >= len(clocks) || int(d.Step) >= len(clocks[d.TB]) {
			return nil
		}
		for other, steps := range clocks[d.TB][d.Step] {
			clock[other] = max(clock[other], steps)
		}
		clock[d.TB] = max(clock[d.TB], d.Step+1)
	}
	return clock
}
