package compiler

import (
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// TestEveryWaitIsNeeded removes the waits one at a time: each time the oracle must find
// two unordered accesses, or the wait was implied. It also tests that the oracle finds
// races.
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

// TestLongThreadblocks: threadblocks have more steps than a clock counts.
func TestLongThreadblocks(t *testing.T) {
	const chunks = 1<<16 + 2
	b := begin(collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: chunks})
	for i := range chunks {
		b.copy(in(0, i), out(1, i), 1)
		b.copy(in(1, i), out(0, i), 1)
	}
	b.copy(in(0, 0), sc(0, 0), 1)
	res, err := Compile(&b.p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Program.MaxSteps(); n < chunks {
		t.Fatalf("%d steps", n)
	}
	if err := verify.Check(res.Program, verify.Options{}).Err(); err != nil {
		t.Error(err)
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

// TestStoredClocks stores clocks across the ends of blocks, and reads each back unchanged.
func TestStoredClocks(t *testing.T) {
	k := &vectorClocks{}
	var at []int32
	widths := []int{1, clockBlock / 2, clockBlock/2 - 1, 1, clockBlock - newestWords, 7, clockBlock - 6, 11585}
	for n, w := range widths {
		clock := make([]uint16, w)
		for i := range clock {
			clock[i] = uint16(n + 1)
		}
		at = append(at, k.store(clock, int32(n)<<16+5))
	}
	for n, w := range widths {
		k.storedAt = []int32{at[n]}
		if got := k.newest(0); got != int32(n)<<16+5 {
			t.Fatalf("clock %d's newest is %#x", n, got)
		}
		block, from := at[n]/clockBlock, int(at[n]%clockBlock)
		for _, got := range k.blocks[block][from : from+w] {
			if got != uint16(n+1) {
				t.Fatalf("clock %d holds %d", n, got)
			}
		}
	}
}
