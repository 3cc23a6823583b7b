package sim

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// TestAShuffleIsOneStep: a step with a stride moves all its chunks and takes as long as
// with contiguous chunks. For runtimes without strides it is a step for each chunk, each
// with a step's cost.
func TestAShuffleIsOneStep(t *testing.T) {
	top := system(t, "fullmesh:2", 1)
	timed := func(stride int32, apart bool) float64 {
		b := build("allgather", 2, 16, false)
		for g := range b.p.GPUs {
			b.p.GPUs[g].Scratch = 16
			b.p.GPUs[g].Threadblocks = []ir.Threadblock{{Send: -1, Recv: -1, Steps: []ir.Step{
				{Op: ir.Copy, Count: 8, Src: ir.Loc{Stride: stride}, Dst: ir.Loc{Buf: collective.Scratch}},
			}}}
		}
		p := b.p
		if apart {
			var err error
			if p, err = ir.Contiguous(p); err != nil {
				t.Fatal(err)
			}
		}
		return timeOf(t, p, top, Knobs{Bytes: 1 << 20, Protocol: topologies.Simple})
	}
	whole := timed(0, false)
	near(t, "strided", timed(2, false), whole, 1e-12)
	if got := timed(2, true); got <= whole {
		t.Errorf("in 8 steps: %v us, in one %v", got, whole)
	}
}
