package synth

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
)

// onceSolver answers as a solver that keeps a formula would, stating all of it
// anew each time.
type onceSolver struct {
	s *constraints.Solvers
	// state states the formula again: to what is assumed it must not be added twice.
	state  func() *kept
	asked  int
	denied []string
	claim  bool // whatever is asked: there is none
}

func (o *onceSolver) Ask(ctx context.Context, _ time.Duration, assume ...constraints.Lit) (constraints.Answer, error) {
	if o.asked++; o.claim {
		return constraints.Answer{Status: unsat, By: "liar"}, nil
	}
	f := o.state().f
	for _, l := range assume {
		f.Clause(l)
	}
	return o.s.Solve(ctx, f)
}

func (o *onceSolver) Deny(what, by string) { o.denied = append(o.denied, what) }
func (o *onceSolver) Close()               {}

// keepOnce is a problem's formula up to so many chunks and rounds in the hands of
// a onceSolver.
func keepOnce(s *constraints.Solvers, p *problem, chunks int) (*kept, *onceSolver) {
	state := func() *kept { return p.stateKept(chunks) }
	k := state()
	if k == nil {
		return nil, nil
	}
	o := &onceSolver{s: s, state: state}
	k.solver = o
	return k, o
}

// One formula answers queries of any chunks and rounds as their own do, and what
// it finds is a routing.
func TestKeptAnswersAsAfresh(t *testing.T) {
	s := open(t, "pb")
	found, refuted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ranks, switches, links := drawn(t)
		top := system(ranks, switches, links)
		name := rapid.SampledFrom([]string{"allgather", "broadcast", "gather", "scatter", "alltoall", "alltonext", "reduce", "reducescatter"}).Draw(t, "collective")
		steps, more := rapid.IntRange(1, 3).Draw(t, "steps"), rapid.IntRange(1, 5).Draw(t, "more")
		make := func(chunks, rounds int) *problem {
			c, err := collective.New(collective.Spec{Name: name, Ranks: ranks, Chunks: chunks})
			if err != nil {
				t.Fatal(err)
			}
			p, err := newProblem(Query{Topology: top, Collective: c, Steps: steps, Rounds: rounds})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		largest := make(3, steps+more)
		reversed := largest.reduces
		if reversed {
			largest = largest.reversedProblem()
		}
		k, _ := keepOnce(s, largest, 3)
		if k == nil {
			t.Fatalf("%s: not kept", name)
		}
		p := make(rapid.IntRange(1, 3).Draw(t, "chunks"), steps+rapid.IntRange(0, more).Draw(t, "rounds"))
		want, err := s.Solve(context.Background(), p.encode(nil, false).formula)
		if err != nil {
			t.Fatal(err)
		}
		q := p
		if reversed {
			q = p.reversedProblem()
		}
		if !k.fits(q) {
			t.Fatalf("(%d,%d,%d) does not fit", p.Collective.Chunks, p.Steps, p.Rounds)
		}
		got, err := k.ask(context.Background(), time.Minute, q, nil)
		if err != nil || got.Status != want.Status {
			t.Fatalf("%s: kept %v, afresh %v, %v", p.name(), got.Status, want.Status, err)
		}
		if got.Status != sat {
			refuted++
			return
		}
		found++
		sched := got.Schedule
		if reversed {
			sched = sched.reversed()
		}
		if err := Replay(p.Query, p.net.unit, p.names(), sched); err != nil {
			t.Fatalf("%s: %v", p.name(), err)
		}
	})
	t.Logf("%d routings, %d refuted", found, refuted)
	if found < 20 || refuted < 10 {
		t.Errorf("%d routings, %d refuted: too few of a kind to tell", found, refuted)
	}
}

// steep is a ratio search with several queries for a solver: an alltoall on a frontier.
func steep(t *testing.T, claim bool) (*ratioSearch, *onceSolver) {
	t.Helper()
	s := open(t, "pb")
	c, err := collective.New(collective.Spec{Name: "alltoall", Ranks: 8, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(Query{Topology: resolve(t, "frontier", 0), Collective: c, Steps: 2, Rounds: 2})
	if err != nil {
		t.Fatal(err)
	}
	spec := c.Spec
	spec.Chunks = 6
	six, err := collective.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	largest, err := newProblem(Query{Topology: p.Topology, Collective: six, Steps: 2, Rounds: 40})
	if err != nil {
		t.Fatal(err)
	}
	k, o := keepOnce(s, largest, 6)
	o.claim = claim
	return &ratioSearch{p: p, s: s, w: FrontierOptions{Chunks: 48}, steps: 2, kept: k}, o
}

// What a kept formula claims is proved by others before it counts, and few
// questions prove many claims.
func TestClaimsAreConfirmed(t *testing.T) {
	c, o := steep(t, false)
	point, err := c.run(context.Background(), c.p.ratioQueue(c.w, 2, c.p.leastRatio(), nil))
	if err != nil || point == nil || point.Chunks != 8 || point.Rounds != 4 || !point.Proved {
		t.Fatalf("%+v, %v", point, err)
	}
	follow := 0
	for _, r := range point.Refuted {
		if r.Status != unsat || r.By != "pb" && r.By != Bound {
			t.Errorf("(%d,%d,%d) is %v by %s", r.Chunks, r.Steps, r.Rounds, r.Status, r.By)
		}
		if len(r.Detail) > 3 && r.Detail[:3] == "as " {
			follow++
		}
	}
	if o.asked < 10 || follow < 10 || len(o.denied) > 0 {
		t.Errorf("%d questions to what is kept, %d claims that follow from others, denied %q", o.asked, follow, o.denied)
	}
}

// A solver that claims what is not so is found out, named, and asked no more: the
// walk comes to the same point.
func TestFalseClaimsAreFoundOut(t *testing.T) {
	c, o := steep(t, true)
	ladder := func() *ratioQueue { return c.p.ratioQueue(c.w, 2, c.p.leastRatio(), nil) }
	if _, err := c.run(context.Background(), ladder()); err != errDenied || len(o.denied) != 1 {
		t.Fatalf("%v, denied %q", err, o.denied)
	}
	asked := o.asked
	point, err := c.run(context.Background(), ladder())
	if err != nil || point == nil || point.Chunks != 8 || point.Rounds != 4 || !point.Proved || o.asked != asked {
		t.Errorf("after it: %+v, %v; asked %d times more", point, err, o.asked-asked)
	}
}

func TestStrongestClaims(t *testing.T) {
	all := []claim{{rcRatio: rcRatio{chunks: 3, rounds: 8}}, {rcRatio: rcRatio{chunks: 6, rounds: 16}, at: 1}, {rcRatio: rcRatio{chunks: 4, rounds: 8}, at: 2}, {rcRatio: rcRatio{chunks: 6, rounds: 17}, at: 3}}
	var got []int
	for _, c := range strongest(all) {
		got = append(got, c.at)
	}
	if len(got) != 2 || got[0] != 0 || got[1] != 3 {
		t.Errorf("%v, want those at 0 and 3", got)
	}
}
