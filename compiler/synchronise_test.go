package compiler

import (
	"testing"

	"github.com/colltune/colltune/compiler/ir"
)

// TestEveryWaitIsNeeded takes the waits out one at a time: each time the oracle
// must find two accesses that nothing orders, or the wait was implied. It also
// shows that the oracle finds what it is there to find.
func TestEveryWaitIsNeeded(t *testing.T) {
	for name, p := range families() {
		for _, o := range []Options{{}, {Instances: 2, MaxChannels: 64}} {
			res, err := Compile(p, o)
			if err != nil {
				t.Fatal(err)
			}
			waits, implied := 0, 0
			eachWait(res.Program, func(s *ir.Step, d int) {
				waits++
				all := s.Deps
				s.Deps = append(append([]ir.Dep(nil), all[:d]...), all[d+1:]...)
				if execute(res.Program, DefaultSlots, false, 1) == nil {
					implied++
				}
				s.Deps = all
			})
			t.Logf("%s, %d instances: %d waits, %d of them implied", name, o.Instances, waits, implied)
			if implied > 0 {
				t.Errorf("%s, %d instances: %d of %d waits are implied by others", name, o.Instances, implied, waits)
			}
		}
	}
}

// eachWait calls f with every wait of a program.
func eachWait(p *ir.Program, f func(s *ir.Step, dep int)) {
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			steps := p.GPUs[g].Threadblocks[t].Steps
			for s := range steps {
				for d := range steps[s].Deps {
					f(&steps[s], d)
				}
			}
		}
	}
}
