package verify

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// TestNothingPanics: whatever the numbers in a program, Check gives a report.
func TestNothingPanics(t *testing.T) {
	names := append(collective.Names(), "none")
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.IntRange(-2, 4), rapid.IntRange(math.MinInt32, math.MaxInt32), rapid.Int()).Draw
		p := &ir.Program{Collective: collective.Spec{
			Name: rapid.SampledFrom(names).Draw(t, "collective"), Ranks: rapid.IntRange(0, 3).Draw(t, "ranks"),
			Chunks: number(t, "chunks"), Root: rapid.IntRange(-1, 3).Draw(t, "root"), InPlace: rapid.Bool().Draw(t, "in place")}}
		for range rapid.IntRange(0, 3).Draw(t, "gpus") {
			gpu := ir.GPU{Scratch: number(t, "scratch")}
			for range rapid.IntRange(0, 3).Draw(t, "threadblocks") {
				tb := ir.Threadblock{Send: number(t, "send"), Recv: number(t, "recv"), Channel: number(t, "channel")}
				for range rapid.IntRange(0, 3).Draw(t, "steps") {
					loc := func() ir.Loc {
						return ir.Loc{Buf: collective.Buffer(rapid.IntRange(0, 3).Draw(t, "buffer")), Off: int32(number(t, "offset")), Stride: int32(number(t, "stride"))}
					}
					s := ir.Step{Op: ir.Op(rapid.IntRange(0, 9).Draw(t, "op")), HasDep: rapid.Bool().Draw(t, "flag"),
						Count: int32(number(t, "count")), Src: loc(), Dst: loc()}
					for range rapid.IntRange(0, 2).Draw(t, "dependencies") {
						s.Deps = append(s.Deps, ir.Dep{TB: int32(number(t, "on")), Step: int32(number(t, "of"))})
					}
					tb.Steps = append(tb.Steps, s)
				}
				gpu.Threadblocks = append(gpu.Threadblocks, tb)
			}
			p.GPUs = append(p.GPUs, gpu)
		}
		r := Check(p, Options{Slots: number(t, "slots"), CallChunks: number(t, "call chunks"), MaxFindings: number(t, "findings")})
		if r.OK() != (r.Err() == nil) {
			t.Fatalf("ok %v, %v", r.OK(), r.Err())
		}
	})
}
