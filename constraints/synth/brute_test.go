package synth

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

const gb = 1_000_000_000

// system builds a topology from links, by their ends, of the given number of units; numbers
// from ranks on are switches.
func system(ranks, switches int, links map[[2]int]int) *topologies.Topology {
	t := &topologies.Topology{Name: "drawn", Nodes: 1, Runtime: "nccl"}
	for r := range ranks {
		t.Ranks = append(t.Ranks, topologies.Rank{Local: r, SMs: 8})
		t.Vertices = append(t.Vertices, topologies.Vertex{Kind: topologies.GPU})
	}
	for range switches {
		t.Vertices = append(t.Vertices, topologies.Vertex{Kind: topologies.Switch, Name: "switch"})
	}
	for k, width := range links {
		t.Edges = append(t.Edges, topologies.Edge{From: k[0], To: k[1], Count: 1, Bandwidth: units.Bandwidth(width * gb)})
	}
	slices.SortFunc(t.Edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return t
}

// drawn draws a connected system of 2 to 4 ranks, some with a switch.
func drawn(t *rapid.T) (ranks, switches int, links map[[2]int]int) {
	ranks = rapid.IntRange(2, 4).Draw(t, "ranks")
	switches = rapid.IntRange(0, 1).Draw(t, "switches")
	links = map[[2]int]int{}
	for a := range ranks + switches {
		for b := range ranks + switches {
			if a != b && (b == (a+1)%ranks && a < ranks || rapid.IntRange(0, 2).Draw(t, "link") == 0) {
				links[[2]int{a, b}] = rapid.IntRange(1, 2).Draw(t, "width")
			}
		}
	}
	return ranks, switches, links
}

// brute answers a query by exhaustive search over what each rank has after each step,
// chunk by chunk, with the loads of the links on every path.
type brute struct {
	q    Query
	dist map[[2]int][]int // path edges by pair
	need [][]bool         // by item and rank
	seen map[string]bool
	unit int64
	work int // choices left to try
	// split is the rounds of each step; nil: any split.
	split []int
}

// bruteForce answers a query by exhaustive search, for one split of rounds if given.
// settled is false if the search was cut short.
func bruteForce(q Query, split ...int) (found, settled bool) {
	b := &brute{q: q, split: split, dist: map[[2]int][]int{}, seen: map[string]bool{}, unit: int64(q.Unit), work: 1 << 17}
	n := q.Collective.Ranks
	for a := range n {
		for c := range n {
			if p, ok := q.Topology.Path(a, c); ok {
				b.dist[[2]int{a, c}] = p.Edges
			}
		}
	}
	number := map[[2]int]int{}
	var state []uint8 // by item: which ranks have it
	for r := range n {
		for i := range q.Collective.OutChunks(r) {
			w := q.Collective.Want(r, i)
			if w.Kind != collective.WantInput || w.Rank == r {
				continue
			}
			k := [2]int{w.Rank, w.Index}
			x, ok := number[k]
			if !ok {
				x = len(state)
				number[k] = x
				state = append(state, 1<<w.Rank)
				b.need = append(b.need, make([]bool, n))
			}
			b.need[x][r] = true
		}
	}
	found = b.from(state, 0, q.Rounds)
	return found, found || b.work > 0
}

func (b *brute) from(state []uint8, step, rounds int) bool {
	done := true
	for x, at := range state {
		for r, want := range b.need[x] {
			done = done && (!want || at>>r&1 == 1)
		}
	}
	if done {
		return true
	}
	left := b.q.Steps - step
	if left == 0 {
		return false
	}
	key := fmt.Sprint(state, step, rounds)
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	for r := rounds - left + 1; r >= 1; r-- {
		if left == 1 && r < rounds {
			break
		}
		if b.split != nil && r != b.split[step] {
			continue
		}
		if b.choose(state, slices.Clone(state), 0, 0, map[int]int64{}, r, step, rounds) {
			return true
		}
	}
	return false
}

// choose tries every sender of item x to rank to in this step, and none.
func (b *brute) choose(before, after []uint8, x, to int, load map[int]int64, r, step, rounds int) bool {
	if b.work--; b.work <= 0 {
		return false
	}
	if x == len(before) {
		return b.from(after, step+1, rounds-r)
	}
	nextX, nextTo := x, to+1
	if nextTo == b.q.Collective.Ranks {
		nextX, nextTo = x+1, 0
	}
	if before[x]>>to&1 == 0 {
		for from := range b.q.Collective.Ranks {
			path, ok := b.dist[[2]int{from, to}]
			if before[x]>>from&1 == 0 || !ok {
				continue
			}
			fits := true
			for _, e := range path {
				load[e]++
				fits = fits && load[e] <= int64(b.q.Topology.Edges[e].Bandwidth)/b.unit*int64(r)
			}
			if fits {
				after[x] |= 1 << to
				if b.choose(before, after, nextX, nextTo, load, r, step, rounds) {
					return true
				}
				after[x] &^= 1 << to
			}
			for _, e := range path {
				load[e]--
			}
		}
	}
	return b.choose(before, after, nextX, nextTo, load, r, step, rounds)
}

// reverse reverses every link.
func reverse(links map[[2]int]int) map[[2]int]int {
	back := map[[2]int]int{}
	for k, w := range links {
		back[[2]int{k[1], k[0]}] = w
	}
	return back
}

// dualOf maps a collective that reduces to the one that copies the same way on the
// reversed system.
var dualOf = map[string]string{"reduce": "broadcast", "reducescatter": "allgather"}

// times is how often rapid.Check, of 100 cases, runs: 300 cases take seconds, 10,000 are
// for the long suite.
func times() int {
	if os.Getenv("COLLTUNE_LONG") != "" {
		return 100
	}
	return 3
}

// solverless returns a query's status by exhaustive search; settled is false if that was
// cut short.
func solverless(t *rapid.T, q Query, ranks, switches int, links map[[2]int]int) (status solver.Status, settled bool) {
	if dual, ok := dualOf[q.Collective.Name]; ok {
		spec := q.Collective.Spec
		spec.Name = dual
		c, err := collective.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		q.Collective, q.Topology = c, system(ranks, switches, reverse(links))
	}
	switch routed, settled := bruteForce(q); {
	case !settled:
		return unsat, false
	case routed:
		return sat, true
	}
	return unsat, true
}

// both opens every solver available.
func both(t *testing.T) map[string]*solver.Pool {
	all := map[string]*solver.Pool{"pb": open(t, "pb")}
	if os.Getenv(z3.Variable) != "off" && z3.Open() == nil {
		all["z3"] = open(t, "z3")
	}
	return all
}

// TestBruteForce compares the answers of bounds with solvers, of each solver alone, and of
// bounds alone with exhaustive search, on random small queries.
func TestBruteForce(t *testing.T) {
	solvers := both(t)
	count, found, open, solved := 0, 0, 0, 0
	check := func(t *rapid.T) {
		count++
		ranks, switches, links := drawn(t)
		spec := collective.Spec{Ranks: ranks, Chunks: rapid.IntRange(1, 2).Draw(t, "chunks")}
		spec.Name = rapid.SampledFrom([]string{"broadcast", "allgather", "gather", "scatter", "alltoall", "alltonext", "sendrecv", "reduce", "reducescatter"}).Draw(t, "collective")
		if c, _ := collective.New(spec); c.Rooted() {
			spec.Root = rapid.IntRange(0, ranks-1).Draw(t, "root")
		}
		if slices.Contains([]string{"alltoall", "scatter", "gather", "allgather", "reducescatter"}, spec.Name) {
			spec.Chunks = 1
		}
		c, err := collective.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		steps := rapid.IntRange(1, 3).Draw(t, "steps")
		q := Query{Topology: system(ranks, switches, links), Collective: c, Steps: steps,
			Rounds: steps + rapid.IntRange(0, 2).Draw(t, "more"), Unit: gb}
		want, settled := solverless(t, q, ranks, switches, links)
		if !settled {
			open++
			return
		}
		if want == sat {
			found++
		}
		p, err := newProblem(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range solvers {
			a, err := Find(context.Background(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := s.Solve(context.Background(), p.encode(nil, true).formula)
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != want || alone.Status != want {
				t.Fatalf("%s with %d chunks on %v in %d steps of %d rounds: %v by %s (%s), %v by %s alone, want %v", spec.Name, spec.Chunks, links, steps, q.Rounds, a.Status, a.By, a.Detail, alone.Status, name, want)
			}
			if a.By != Bound {
				solved++
			}
		}
	}
	for range times() {
		rapid.Check(t, check)
	}
	t.Logf("%d queries settled, %d of them with a routing; %d times a solver was needed", count-open, found, solved)
	if asked := count - open; found < asked/20 || asked-found < asked/20 {
		t.Errorf("%d of %d queries had a routing: too few of one kind to mean much", found, asked)
	}
}

// sums answers a query of an allreduce by exhaustive search: in each step a rank keeps its
// partial sum of a chunk, replaces it by another's, or adds partial sums of disjoint
// ranks.
type sums struct {
	top   *topologies.Topology
	ranks int
	unit  int64
	seen  map[string]bool
	work  int // choices left to try
}

func (b *sums) from(state []uint8, steps, rounds int) bool {
	done := true
	for _, has := range state {
		done = done && has == 1<<b.ranks-1
	}
	if done || steps == 0 {
		return done
	}
	key := fmt.Sprint(state, steps, rounds)
	if b.seen[key] {
		return false
	}
	b.seen[key] = true
	for r := rounds - steps + 1; r >= 1; r-- {
		if b.choose(state, slices.Clone(state), 0, map[int]int64{}, r, steps, rounds) {
			return true
		}
	}
	return false
}

// choose tries everything that a rank's chunk, number at, can become in this step.
func (b *sums) choose(before, after []uint8, at int, load map[int]int64, r, steps, rounds int) bool {
	if b.work--; b.work <= 0 {
		return false
	}
	if at == len(before) {
		return b.from(after, steps-1, rounds-r)
	}
	item, to := at/b.ranks, at%b.ranks
	// from: the set of ranks that send to it; put: what they send replaces what it had.
	for from := range 1 << b.ranks {
		for _, put := range []bool{false, true} {
			value, fits, used := before[at], true, []int(nil)
			if put {
				value = 0
			}
			for u := range b.ranks {
				if from>>u&1 == 0 || !fits {
					continue
				}
				path, ok := b.top.Path(u, to)
				other := before[item*b.ranks+u]
				if fits = ok && value&other == 0 && (!put || value == 0); !fits {
					break
				}
				value |= other
				for _, e := range path.Edges {
					load[e]++
					used = append(used, e)
					fits = fits && load[e] <= int64(b.top.Edges[e].Bandwidth)/b.unit*int64(r)
				}
			}
			if fits && (!put || from != 0) {
				after[at] = value
				if b.choose(before, after, at+1, load, r, steps, rounds) {
					return true
				}
				after[at] = before[at]
			}
			for _, e := range used {
				load[e]--
			}
		}
	}
	return false
}

// TestBruteForceSums is TestBruteForce for random small allreduces.
func TestBruteForceSums(t *testing.T) {
	solvers := both(t)
	found, none, solved := 0, 0, 0
	check := func(t *rapid.T) {
		ranks, switches, links := drawn(t)
		chunks, steps := rapid.IntRange(1, 2).Draw(t, "chunks"), rapid.IntRange(1, 3).Draw(t, "steps")
		c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks})
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Topology: system(ranks, switches, links), Collective: c, Steps: steps, Rounds: steps + rapid.IntRange(0, 2).Draw(t, "more"), Unit: gb}
		var state []uint8
		for range chunks {
			for r := range ranks {
				state = append(state, 1<<r)
			}
		}
		b := &sums{top: q.Topology, ranks: ranks, unit: gb, seen: map[string]bool{}, work: 1 << 15}
		want := unsat
		switch routed := b.from(state, steps, q.Rounds); {
		case routed:
			want = sat
			found++
		case b.work <= 0:
			return // too much to try
		default:
			none++
		}
		p, err := newProblem(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range solvers {
			a, err := Find(context.Background(), s, q)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := s.Solve(context.Background(), p.encode(nil, true).formula)
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != want || alone.Status != want {
				t.Fatalf("%d chunks on %v in %d steps of %d rounds: %v by %s (%s), %v by %s alone, want %v", chunks, links, steps, q.Rounds, a.Status, a.By, a.Detail, alone.Status, name, want)
			}
			if a.By != Bound {
				solved++
			}
		}
	}
	for range max(1, times()/10) {
		rapid.Check(t, check)
	}
	t.Logf("%d queries with a routing, %d without; %d times a solver was needed", found, none, solved)
	if asked := found + none; found < asked/20 || none < asked/20 {
		t.Errorf("%d with a routing, %d without: too few of one kind to mean much", found, none)
	}
}
