package synth

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
)

// every lists all demands without regard to symmetry or implication: into every set of
// ranks (of sums: from outside), and out of every rank whose chunks each have one
// destination.
func (p *problem) every() []demand {
	n := p.net.ranks
	var all []demand
	fresh := func() demand { return demand{from: make([]int64, n), into: make([]int64, n)} }
	for set := 1; set < 1<<n-1; set++ {
		d := fresh()
		for r := range n {
			if set>>r&1 == 1 {
				d.set = append(d.set, r)
			}
		}
		for i := range p.items {
			it := &p.items[i]
			wanted := false
			for _, r := range it.wanted {
				wanted = wanted || set>>r&1 == 1
			}
			switch {
			case !wanted:
			case it.source < 0:
				d.need++
			case set>>it.source&1 == 0:
				d.from[it.source]++
				d.need++
			}
		}
		for r := range n {
			if set>>r&1 == 1 {
				d.into[r] = d.need
			} else if p.reduces {
				d.from[r] = d.need
			}
		}
		all = append(all, d)
	}
	for r := range n {
		d, single := fresh(), !p.reduces
		for i := range p.items {
			it := &p.items[i]
			if others := it.destinations(); it.source == r {
				single = single && len(others) <= 1
				for _, to := range others {
					d.from[r]++
					d.into[to]++
					d.need++
				}
			}
		}
		if single {
			all = append(all, d)
		}
	}
	return all
}

// TestDemandsLoseNothing: what all demands together refute, the chosen representatives
// refute.
func TestDemandsLoseNothing(t *testing.T) {
	refuted, left := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		top := turning(t)
		spec := collective.Spec{Ranks: len(top.Ranks), Chunks: rapid.IntRange(1, 4).Draw(t, "chunks")}
		spec.Name = rapid.SampledFrom([]string{"allreduce", "allgather", "broadcast", "alltoall", "alltonext", "scatter"}).Draw(t, "collective")
		c, err := collective.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		p, err := newProblem(context.Background(), Query{Topology: top, Collective: c, Steps: steps, Rounds: steps + rapid.IntRange(0, 1).Draw(t, "more"), Unit: gb})
		if err != nil {
			t.Fatal(err)
		}
		few := p.sumDemands
		if !p.reduces {
			few = p.demands
		}
		judge := func(demands []demand) *splitter {
			return &splitter{p: p, u: p.net.unroll(p.Steps), demands: demands, order: lists.UpTo(len(demands))}
		}
		all, some := judge(p.every()), judge(few())
		for _, rounds := range splits(p.Steps, p.Rounds) {
			a, b := all.refute(context.Background(), rounds), some.refute(context.Background(), rounds)
			if a != nil && b == nil || a == nil && b != nil && !p.reduces {
				t.Fatalf("%s with rounds %v: of every demand %+v is not met, of those looked at %+v", c.Name, rounds, a, b)
			}
			if a != nil {
				refuted++
			}
		}
		left += len(all.demands) - len(some.demands)
	})
	if refuted < 20 || left < 20 {
		t.Errorf("%d splits refuted, %d demands left out: too few to mean much", refuted, left)
	}
}

// TestRateRefutesMore counts alltoalls on rings with chords that flows leave open and the
// bandwidth bound refutes.
func TestRateRefutesMore(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	left, refuted := 0, 0
	for range 30 {
		n := 5 + r.IntN(4)
		links := map[[2]int]int{}
		for _, chord := range r.Perm(n - 1)[:1+r.IntN(3)] {
			width, both := 1+r.IntN(2), r.IntN(2) == 0
			for v := range n {
				to := (v + chord + 1) % n
				links[[2]int{v, to}] = width
				if both {
					links[[2]int{to, v}] = width
				}
			}
		}
		c, err := collective.New(collective.Spec{Name: "alltoall", Ranks: n, Chunks: 1 + r.IntN(3)})
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Topology: system(n, 0, links), Collective: c, Steps: 1, Rounds: 1}
		p, err := newProblem(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		least, err := p.minSteps()
		if err != nil {
			continue // not connected
		}
		q.Steps = least + r.IntN(2)
		for q.Rounds = q.Steps; ; q.Rounds++ {
			if p, err = newProblem(context.Background(), q); err != nil {
				t.Fatal(err)
			}
			_, no, err := p.bound(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if no != nil {
				continue
			}
			if left++; p.belowRateBound() == nil {
				break
			}
			refuted++
		}
	}
	t.Logf("of %d queries that flows leave open %d are refuted", left, refuted)
	if refuted < left/4 {
		t.Errorf("of %d queries that flows leave open only %d are refuted", left, refuted)
	}
}
