package compiler

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// TestLimitsOfAProgram: each limit by itself, at what the program needs and one
// below.
func TestLimitsOfAProgram(t *testing.T) {
	step := func(count int32, deps int) ir.Step {
		return ir.Step{Op: ir.Copy, Count: count, Deps: make([]ir.Dep, deps)}
	}
	p := &ir.Program{
		Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 8, InPlace: true},
		GPUs: []ir.GPU{{Scratch: 3, Threadblocks: []ir.Threadblock{
			{Send: 1, Recv: 1, Channel: 4, Steps: []ir.Step{step(2, 0), step(7, 1), step(1, 3)}},
		}}, {Scratch: 5, Threadblocks: []ir.Threadblock{
			{Send: 0, Recv: -1, Steps: []ir.Step{step(1, 0)}},
			{Send: -1, Recv: 0},
			{Send: 2, Recv: -1},
		}}},
	}
	for _, c := range []struct {
		enough, few Limits
		want        string
	}{
		{Limits{Threadblocks: 3}, Limits{Threadblocks: 2}, "gpu 1 needs 3 threadblocks, 1 more than the limit of 2"},
		{Limits{Steps: 5}, Limits{Steps: 3}, "gpu 0 threadblock 0 needs 5 steps, 2 more than the limit of 3"},
		{Limits{Channels: 5}, Limits{Channels: 4}, "the program needs 5 channels, 1 more than the limit of 4"},
		{Limits{Count: 7}, Limits{Count: 6}, "gpu 0 threadblock 0 needs 7 chunks in a step, 1 more than the limit of 6"},
		{Limits{Connections: 2}, Limits{Connections: 1}, "gpu 1 needs 2 connections on a channel, 1 more than the limit of 1"},
		{Limits{Scratch: 5}, Limits{Scratch: 1}, "gpu 1 needs 5 chunks of scratch, 4 more than the limit of 1"},
		{Limits{}, Limits{Scratch: 4, Threadblocks: 2}, "gpu 1 needs 3 threadblocks, 1 more than the limit of 2\ngpu 1 needs 5 chunks of scratch, 1 more than the limit of 4"},
	} {
		if err := c.enough.Check(p); err != nil {
			t.Errorf("%+v: %v", c.enough, err)
		}
		if err := c.few.Check(p); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.few, err, c.want)
		}
	}
	apart := &ir.Program{Collective: p.Collective, GPUs: []ir.GPU{{Threadblocks: []ir.Threadblock{{Send: -1, Recv: -1, Steps: []ir.Step{
		{Op: ir.Copy, Count: 4, Src: ir.Loc{Stride: 2}, Dst: ir.Loc{Buf: collective.Scratch}},
	}}}}, {}}}
	if err := (&Limits{Steps: 3}).Check(apart); err != nil {
		t.Error(err)
	}
	if err := (&Limits{Steps: 3, Contiguous: true}).Check(apart); err == nil || err.Error() != "gpu 0 threadblock 0 needs 4 steps, 1 more than the limit of 3" {
		t.Error(err)
	}
	if _, err := Compile(ringAllReduce(4, 1), Options{Limits: Limits{Steps: 6}}); err == nil || err.Error() != "gpu 0 threadblock 0 needs 7 steps, 1 more than the limit of 6" {
		t.Error(err)
	}
}
