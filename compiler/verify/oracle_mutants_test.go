package verify

import (
	"fmt"
	"math/rand"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// agree holds Check's word against the oracle's, under many schedules.
func agree(p *ir.Program, rng *rand.Rand, runs int) error {
	col, err := collective.New(p.Collective)
	if err != nil {
		return err
	}
	r := Check(p, Options{})
	if r.Has(SharedConnection) {
		return nil // what happens depends on who comes first
	}
	// Answering all questions at once finds races where asking one by one does.
	if all := check(p, Options{}, 0); all.OK() != r.OK() || all.Has(Race) != r.Has(Race) {
		return fmt.Errorf("one by one\n%v\nall at once\n%v", r.Findings, all.Findings)
	}
	try := func(slots, per int) string {
		return (&oracle{p: p, col: col, rng: rng, slots: slots, per: per, tiles: 3}).outcome()
	}
	fail := func(what, bad string) error {
		return fmt.Errorf("%s: the oracle says %q, the report\n%v", what, bad, r.Findings)
	}
	switch {
	case r.OK():
		if racy(p) {
			return fail("race", "racy")
		}
		for range runs {
			if bad := try(0, 1<<30); bad != "" {
				return fail("right", bad)
			}
			if bad := try(max(1, r.SlotsNeeded), 1<<30); bad != "" {
				return fail(fmt.Sprintf("right with %d slots", r.SlotsNeeded), bad)
			}
			for per := 1; per <= 2; per++ {
				if bad := try(max(1, r.SlotsNeededSplit), per); bad != "" {
					return fail(fmt.Sprintf("right with %d slots, %d chunks a call", r.SlotsNeededSplit, per), bad)
				}
			}
		}
		if n := r.SlotsNeeded - 1; n > 0 {
			if bad := try(n, 1<<30); bad == "" {
				return fail(fmt.Sprintf("deadlock with %d slots", n), bad)
			}
		}
		if n := r.SlotsNeededSplit - 1; n > 0 {
			if bad := try(n, 1); bad == "" {
				return fail(fmt.Sprintf("deadlock with %d slots, a call a chunk", n), bad)
			}
		}
	case r.Has(Race):
		for _, f := range r.Findings {
			if f.Kind == Race && !overlapsItself(p) && !racy(p) {
				return fail("race", "orderly")
			}
		}
	default:
		for range runs {
			if bad := try(0, 1<<30); bad == "" {
				return fail("wrong", bad)
			}
		}
	}
	return nil
}

func overlapsItself(p *ir.Program) bool {
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			for _, s := range tb.Steps {
				if s.Op.ReadsSrc() && s.Op.WritesDst() && s.Src.Buf == s.Dst.Buf && s.Src != s.Dst {
					return true
				}
			}
		}
	}
	return false
}

func TestRandomProgramsAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		p := randomProgram(rng)
		if r := Check(p, Options{}); !r.OK() {
			t.Fatalf("found: %v", r.Err())
		}
		if err := agree(p, rng, 2); err != nil {
			t.Fatal(err)
		}
	})
}

// mutate changes one thing, and says what.
func mutate(p *ir.Program, rng *rand.Rand) string {
	g := rng.Intn(len(p.GPUs))
	gpu := &p.GPUs[g]
	t := rng.Intn(len(gpu.Threadblocks))
	tb := &gpu.Threadblocks[t]
	if len(tb.Steps) == 0 {
		return "nothing"
	}
	i := rng.Intn(len(tb.Steps))
	s := &tb.Steps[i]
	delta := []int32{-2, -1, 1, 2}[rng.Intn(4)]
	at := fmt.Sprintf("gpu %d threadblock %d step %d", g, t, i)
	switch rng.Intn(13) {
	case 0:
		s.Src.Off += delta
		return at + ": source"
	case 1:
		s.Dst.Off += delta
		return at + ": destination"
	case 2:
		s.Count += delta
		return at + ": count"
	case 3:
		if len(s.Deps) > 0 {
			n := rng.Intn(len(s.Deps))
			s.Deps = append(append([]ir.Dep(nil), s.Deps[:n]...), s.Deps[n+1:]...)
		}
		return at + ": dependency dropped"
	case 4:
		if len(s.Deps) > 0 {
			s.Deps = append([]ir.Dep(nil), s.Deps...)
			s.Deps[rng.Intn(len(s.Deps))].Step += delta
		}
		return at + ": dependency moved"
	case 5:
		s.HasDep = !s.HasDep
		return at + ": flag"
	case 6:
		if i > 0 {
			tb.Steps[i-1], tb.Steps[i] = tb.Steps[i], tb.Steps[i-1]
		}
		return at + ": swapped with the one before"
	case 7:
		tb.Steps = append(append([]ir.Step(nil), tb.Steps[:i]...), tb.Steps[i+1:]...)
		return at + ": dropped"
	case 8:
		tb.Send = rng.Intn(len(p.GPUs)+1) - 1
		return at + ": send peer"
	case 9:
		tb.Recv = rng.Intn(len(p.GPUs)+1) - 1
		return at + ": receive peer"
	case 10:
		s.Op = ir.Op(rng.Intn(len(ir.Ops())))
		return at + ": instruction"
	case 11:
		l := []*ir.Loc{&s.Src, &s.Dst}[rng.Intn(2)]
		l.Stride = max(0, l.Stride+delta)
		return at + ": stride"
	}
	s.Dst.Buf = collective.Buffer(rng.Intn(3))
	return at + ": buffer"
}

func TestMutantsAreJudgedAsExecutionJudgesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		p := randomProgram(rng)
		what := mutate(p, rng)
		if rng.Intn(3) == 0 {
			what += ", " + mutate(p, rng)
		}
		if err := agree(p, rng, 4); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	})
}

// A program that Check finds racy computes a wrong result under some of the oracle's
// schedules, so these differ enough.
func TestRacesShow(t *testing.T) {
	p := allPairs(3, 1, false)
	for t := range p.GPUs[0].Threadblocks {
		for i := range p.GPUs[0].Threadblocks[t].Steps {
			p.GPUs[0].Threadblocks[t].Steps[i].Deps = nil
		}
	}
	r := Check(p, Options{})
	if !r.Has(Race) {
		t.Fatalf("no race among %v", r.Findings)
	}
	col, _ := collective.New(p.Collective)
	wrong := 0
	for seed := range int64(100) {
		if (&oracle{p: p, col: col, rng: rand.New(rand.NewSource(seed)), per: 1, tiles: 2}).outcome() != "" {
			wrong++
		}
	}
	if wrong < 10 {
		t.Errorf("%d of 100 schedules go wrong: want more", wrong)
	}
}
