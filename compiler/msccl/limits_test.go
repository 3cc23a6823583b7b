package msccl

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Limits refuse a program exactly where the rules for a runtime's files do.
func TestLimitsAgreeWithTheRules(t *testing.T) {
	// A rank that copies its input to its output in the given number of steps.
	program := func(steps, channel int, count int32) *ir.Program {
		p := &ir.Program{Name: "copies", Collective: collective.Spec{Name: "alltoall", Ranks: 1, Chunks: int(count)}, GPUs: make([]ir.GPU, 1)}
		tb := ir.Threadblock{Send: -1, Recv: -1, Channel: channel}
		for range steps {
			tb.Steps = append(tb.Steps, ir.Step{Op: ir.Copy, Count: count, Dst: ir.Loc{Buf: collective.Out}})
		}
		p.GPUs[0].Threadblocks = []ir.Threadblock{tb}
		return p
	}
	for _, name := range Runtimes() {
		r, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		l := r.Limits()
		for _, c := range []struct {
			what       string
			at, beyond *ir.Program
		}{
			{"steps", program(l.Steps, 0, 1), program(l.Steps+1, 0, 1)},
			{"channels", program(1, l.Channels-1, 1), program(1, l.Channels, 1)},
			{"chunks in a step", program(1, 0, int32(l.Count)), program(1, 0, int32(l.Count)+1)},
		} {
			if err := l.Check(c.at); err != nil {
				t.Errorf("%s, %s: %v", name, c.what, err)
			}
			if ok, why := Accepts(c.at, name, "LL"); !ok {
				t.Errorf("%s, %s: %q", name, c.what, why)
			}
			if err := l.Check(c.beyond); err == nil || !strings.Contains(err.Error(), c.what+", 1 more than the limit of") {
				t.Errorf("%s, %s: %v", name, c.what, err)
			}
			if ok, _ := Accepts(c.beyond, name, "LL"); ok {
				t.Errorf("%s takes one more of %s", name, c.what)
			}
		}
	}
}
