package synth

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
)

// spreading returns the problem of a collective that copies chunks and sums nothing.
func spreading(t testing.TB, q Query, name string, chunks int) *problem {
	t.Helper()
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(q.Topology.Ranks), Chunks: chunks, InPlace: collective.DefaultInPlace(name)})
	if err != nil {
		t.Fatal(err)
	}
	q.Collective = c
	p, err := newProblem(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// never reports that the time is not over.
func never() bool { return false }

// leastOfAll returns the least cost of lanes in steps by which every rank in wanted gets
// the chunk. It tries every subset of lanes and steps: an independent oracle.
func leastOfAll(net *network, steps, source int, wanted []int, price []int64) int64 {
	best := int64(infinite)
	for choice := range 1 << (len(net.lanes) * steps) {
		has := uint(1) << source
		cost := int64(0)
		for t := range steps {
			now := has
			for l, lane := range net.lanes {
				if at := l*steps + t; choice>>at&1 == 1 {
					if cost += price[at]; has>>lane.from&1 == 1 {
						now |= 1 << lane.to
					}
				}
			}
			has = now
		}
		all := true
		for _, r := range wanted {
			all = all && has>>r&1 == 1
		}
		if all {
			best = min(best, cost)
		}
	}
	return best
}

// pays returns the cost of a branching from rank 0. It fails unless the branching brings
// the chunk to all ranks in wanted, and each rank sends only what it had before the step.
func (br branching) pays(t *rapid.T, net *network, wanted []int, steps int, price []int64) (paid int64) {
	has := uint(1)
	for i, h := range br {
		lane := net.lanes[h.lane]
		for _, o := range br[:i] {
			if o.step == h.step && net.lanes[o.lane].to == lane.from {
				t.Fatalf("%v: sent on in the step it came", br)
			}
		}
		if has>>lane.from&1 == 0 {
			t.Fatalf("%v: rank %d sends what it does not have", br, lane.from)
		}
		has |= 1 << lane.to
		paid += price[int(h.lane)*steps+h.step]
	}
	for _, r := range wanted {
		if has>>r&1 == 0 {
			t.Fatalf("%v: nothing comes to rank %d", br, r)
		}
	}
	return paid
}

// The cheapest branching is valid, and costs as little as the exhaustive search's best.
func TestCheapestBranching(t *testing.T) {
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "ranks")
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		net := &network{ranks: n}
		for a := range n {
			for b := range n {
				if a != b && len(net.lanes)*steps+steps <= 14 && rapid.IntRange(0, 2).Draw(t, "lane") > 0 {
					net.lanes = append(net.lanes, lane{from: int32(a), to: int32(b)})
				}
			}
		}
		net.index()
		var wanted []int
		for r := range n {
			if rapid.Bool().Draw(t, "wanted") {
				wanted = append(wanted, r)
			}
		}
		price := rapid.SliceOfN(rapid.Int64Range(0, 9), len(net.lanes)*steps, len(net.lanes)*steps).Draw(t, "price")
		for _, r := range wanted {
			if d := net.dist[0][r]; d < 0 || int(d) > steps {
				return
			}
		}
		tried++
		want := leastOfAll(net, steps, 0, wanted, price)
		b := newBrancher(newSets(n, steps), net, steps, 0, wanted)
		for range 2 { // the sets are left as they were found
			br, cost := b.cheapest(price, infinite, never)
			if cost != want {
				t.Fatalf("the cheapest branching costs %d, want %d", cost, want)
			}
			if paid := br.pays(t, net, wanted, steps, price); paid != want {
				t.Fatalf("%v costs %d, want %d", br, paid, want)
			}
			earliest := b.earliest(price)
			if paid := earliest.pays(t, net, wanted, steps, price); paid < want {
				t.Fatalf("%v costs %d, less than the cheapest's %d", earliest, paid, want)
			}
			for _, h := range earliest {
				if to := net.lanes[h.lane].to; h.step+1 != int(net.dist[0][to]) {
					t.Fatalf("%v: rank %d has it %d steps late", earliest, to, h.step+1-int(net.dist[0][to]))
				}
			}
		}
		if want < infinite {
			if br, cost := b.cheapest(price, want, never); br != nil || cost != want {
				t.Fatalf("a branching of %d below a limit of %d", cost, want)
			}
		}
	})
	if tried < 20 {
		t.Errorf("%d branchings tried: too few to mean much", tried)
	}
}

// When the time is over, the search for a first branching stops, adds no column and proves
// nothing; with time it finds one.
func TestBranchingEnds(t *testing.T) {
	p := spreading(t, Query{Topology: resolve(t, "ndv2", 2), Steps: 4, Rounds: 4}, "allgather", 1)
	b := p.newPricing()
	looks := 0
	if b.addFirst(func() bool { looks++; return true }); looks == 0 || b.columns() > 0 || !b.orbits[0].spent {
		t.Fatalf("%d branchings after %d looks: want none after a few", b.columns(), looks)
	}
	if c, news := b.cut(slices.Repeat([]float64{1}, len(b.width)*b.steps), func() bool { return true }); c.need != 0 || news {
		t.Errorf("chunks are said to pay %d", c.need)
	}
	if b.addFirst(never); b.columns() == 0 {
		t.Error("no branchings with time enough")
	}
}

// What dual prices refute has no routing by a solver either, and every packing replays as
// a routing.
func TestBranchingsAgreeWithSolvers(t *testing.T) {
	s := open(t, "pb")
	refuted, packed := 0, 0
	check := func(t *rapid.T) {
		top := turning(t)
		name := rapid.SampledFrom([]string{"allgather", "broadcast"}).Draw(t, "collective")
		chunks, steps := rapid.IntRange(1, 3).Draw(t, "chunks"), rapid.IntRange(1, 3).Draw(t, "steps")
		q := Query{Topology: top, Steps: steps, Rounds: steps + rapid.IntRange(0, 3).Draw(t, "more")}
		c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: chunks, InPlace: collective.DefaultInPlace(name)})
		if err != nil {
			return
		}
		q.Collective = c
		p, err := newProblem(context.Background(), q)
		if err != nil {
			return
		}
		budget := byWork(2 * time.Second)
		all := splits(p.Steps, p.Rounds)
		b := p.newPricing()
		if b == nil {
			return
		}
		left, fitting := b.judgeSplits(p, all, b.limit(context.Background(), budget, 50_000_000))
		if len(left) == 0 {
			refuted++
			a, err := p.solve(context.Background(), s, byWork(10*time.Second), all)
			if err != nil || a.Status == solver.Sat {
				t.Fatalf("%s of %d chunks in %d steps of %d rounds on %s: refuted, %v (%v)", name, chunks, steps, q.Rounds, top.Name, a.Status, err)
			}
			return
		}
		if sched := b.pack(context.Background(), budget, p, fitting, 20_000_000); sched != nil {
			packed++
			if err := Replay(q, p.net.unit, p.names(), sched); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range times() {
		rapid.Check(t, check)
	}
	t.Logf("%d refuted, %d packed", refuted, packed)
	if refuted < 5 || packed < 5 {
		t.Errorf("%d refuted, %d packed: too few to mean much", refuted, packed)
	}
}

// Two NDv2 are joined by a link so narrow that no solver settles how often it is crossed.
// Dual prices refute, and packings answer.
func TestBranchesBetweenNodes(t *testing.T) {
	top := resolve(t, "ndv2", 2)
	shared, spent := &frontierCache{pricings: map[string]*pricing{}}, time.Duration(0)
	for _, w := range []struct {
		chunks, steps, rounds int
		status                solver.Status
	}{
		{1, 2, 16, unsat}, {1, 2, 17, sat}, {2, 2, 33, unsat}, {3, 3, 26, sat}, {6, 3, 51, unsat},
		{1, 4, 9, unsat}, {2, 4, 17, unsat}, {6, 4, 48, unsat}, {6, 4, 50, sat}, {6, 6, 48, unsat},
		{1, 7, 8, unsat}, {6, 7, 48, unsat}, // in so many steps not even the first branching is found by all sets
	} {
		p := spreading(t, Query{Topology: top, Steps: w.steps, Rounds: w.rounds}, "allgather", w.chunks)
		budget := byWork(time.Minute)
		b := shared.pricing(p)
		left, fitting := b.judgeSplits(p, splits(p.Steps, p.Rounds), b.limit(t.Context(), budget, 1_500_000_000))
		switch refuted := left != nil && len(left) == 0; {
		case refuted != (w.status == unsat):
			t.Errorf("%v: refuted is %v", w, refuted)
		case w.status == sat:
			if sched := b.pack(t.Context(), budget, p, fitting, 4_000_000_000); sched == nil {
				t.Errorf("%v: no packing", w)
			} else if err := Replay(p.Query, p.net.unit, p.names(), sched); err != nil {
				t.Errorf("%v: %v", w, err)
			}
		}
		spent += time.Minute - budget.left()
	}
	if spent <= 0 {
		t.Error("no work was counted")
	}
}
