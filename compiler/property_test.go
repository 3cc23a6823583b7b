package compiler

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// routing draws a right program nobody would write: every run of chunks finds
// its own way, the ways are interleaved at random, scratch is used again as soon
// as it is free, and directives and scopes are strewn over it.
type routing struct {
	*rapid.T
	*builder
	free   [][]spot // by rank: scratch slots nobody holds
	slots  []int    // by rank: scratch slots there are
	width  int      // chunks a slot has room for
	routes [][]func()
}

func (r *routing) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(r.T, label) }

func (r *routing) hold(rank int) spot {
	if free := r.free[rank]; len(free) > 0 {
		i := r.pick(len(free), "free slot")
		s := free[i]
		r.free[rank] = slices.Delete(free, i, i+1)
		return s
	}
	r.slots[rank]++
	return sc(rank, (r.slots[rank]-1)*r.width)
}

func (r *routing) drop(s spot) { r.free[s.rank] = append(r.free[s.rank], s) }

// move copies or reduces a run, sometimes by way of scratch.
func (r *routing) move(reduce bool, from, to spot, count int) {
	via := r.pick(4, "via")
	if via < 2 && (via == 0 || reduce) {
		rank := to.rank
		if via == 1 {
			rank = r.pick(r.p.Collective.Ranks, "via rank")
		}
		s := r.hold(rank)
		r.copy(from, s, count)
		from = s
		defer r.drop(s)
	}
	if reduce {
		r.reduce(to, from, count)
	} else {
		r.copy(from, to, count)
	}
}

// runs cuts n chunks into contiguous runs of at most r.width.
func (r *routing) runs(n int) [][2]int {
	var all [][2]int
	for at := 0; at < n; {
		c := min(n-at, 1+r.pick(r.width, "count"))
		all = append(all, [2]int{at, c})
		at += c
	}
	return all
}

// order draws a permutation of the ranks with first in front.
func (r *routing) order(first int) []int {
	rest := []int{}
	for i := range r.p.Collective.Ranks {
		if i != first {
			rest = append(rest, i)
		}
	}
	return append([]int{first}, rapid.Permutation(rest).Draw(r.T, "order")...)
}

// spread adds a route from root to every rank along a random tree.
func (r *routing) spread(at func(rank int) spot, root, count int) (steps []func()) {
	order := r.order(root)
	for i, rank := range order[1:] {
		parent := order[r.pick(i+1, "parent")]
		steps = append(steps, func() { r.move(false, at(parent), at(rank), count) })
	}
	return steps
}

func (r *routing) allgather(chunks int) {
	for rank := range r.p.Collective.Ranks {
		for _, run := range r.runs(chunks) {
			at := func(x int) spot { return out(x, rank*chunks+run[0]) }
			var steps []func()
			if !r.p.Collective.InPlace {
				steps = append(steps, func() { r.copy(in(rank, run[0]), at(rank), run[1]) })
			}
			r.routes = append(r.routes, append(steps, r.spread(at, rank, run[1])...))
		}
	}
}

func (r *routing) allreduce(chunks int) {
	for _, run := range r.runs(chunks) {
		at := func(x int) spot { return in(x, run[0]) }
		var steps []func()
		order := r.order(r.pick(r.p.Collective.Ranks, "root"))
		for i := len(order) - 1; i > 0; i-- {
			parent := order[r.pick(i, "parent")]
			steps = append(steps, func() { r.move(true, at(order[i]), at(parent), run[1]) })
		}
		steps = append(steps, r.spread(at, order[0], run[1])...)
		r.routes = append(r.routes, steps)
	}
}

func (r *routing) alltoall(chunks int) {
	n := r.p.Collective.Ranks
	for from := range n {
		for to := range n {
			for _, run := range r.runs(chunks) {
				r.routes = append(r.routes, []func(){func() {
					r.move(false, in(from, to*chunks+run[0]), out(to, from*chunks+run[0]), run[1])
				}})
			}
		}
	}
}

// drawRouting returns a random program for a random collective.
func drawRouting(t *rapid.T) *lang.Program {
	spec := collective.Spec{
		Ranks:  rapid.IntRange(2, 5).Draw(t, "ranks"),
		Chunks: rapid.IntRange(1, 4).Draw(t, "chunks"),
	}
	kind := rapid.IntRange(0, 2).Draw(t, "kind")
	spec.Name = []string{"allgather", "allreduce", "alltoall"}[kind]
	spec.InPlace = kind == 1 || kind == 0 && rapid.Bool().Draw(t, "in place")
	r := &routing{
		T: t, builder: begin(spec), width: rapid.IntRange(1, 3).Draw(t, "width"),
		free: make([][]spot, spec.Ranks), slots: make([]int, spec.Ranks),
	}
	[]func(int){r.allgather, r.allreduce, r.alltoall}[kind](spec.Chunks)
	scopes := rapid.Bool().Draw(t, "scopes")
	directives := rapid.Bool().Draw(t, "directives")
	for len(r.routes) > 0 {
		i := r.pick(len(r.routes), "route")
		if directives {
			r.channel = r.pick(4, "channel") - 1
		}
		step := r.routes[i][0]
		if scopes && r.pick(3, "scope") == 0 {
			r.parallel(1+r.pick(3, "factor"), step)
		} else {
			step()
		}
		if r.routes[i] = r.routes[i][1:]; len(r.routes[i]) == 0 {
			r.routes = slices.Delete(r.routes, i, i+1)
		}
	}
	return &r.p
}

// optional returns every choice of passes to leave out: none, or one.
func optional() [][]string {
	all := [][]string{nil}
	for _, p := range Passes() {
		if !p.Required {
			all = append(all, []string{p.Name})
		}
	}
	return all
}

// judge has a program executed at random: as it was compiled for, and with every
// step cut in as many calls as it has chunks, which a runtime may do where it
// has the slots.
func judge(p *ir.Program, o Options, seeds int64) error {
	slots := o.Slots
	if slots == 0 {
		slots = DefaultSlots
	}
	for seed := range seeds {
		if err := execute(p, slots, o.CallPerChunk, seed); err != nil {
			return err
		}
	}
	return execute(p, 1<<20, true, seeds)
}

// TestWithoutClocks has synchronise fall back on its simpler rules.
func TestWithoutClocks(t *testing.T) {
	defer func(n int) { maxClocks = n }(maxClocks)
	maxClocks = 0
	for name, p := range families() {
		res, err := Compile(p, Options{Instances: 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(res.Program, Options{}, 10); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRandomRoutings compiles whatever comes, leaving every optional pass out in
// turn.
func TestRandomRoutings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRouting(t)
		o := Options{
			Instances:     rapid.IntRange(1, 3).Draw(t, "instances"),
			Slots:         rapid.SampledFrom([]int{0, 1, 2, 3, 8}).Draw(t, "slots"),
			CallPerChunk:  rapid.Bool().Draw(t, "call per chunk"),
			MaxChannels:   rapid.SampledFrom([]int{2, 8, 1000}).Draw(t, "channels"),
			CheckEachPass: true,
		}
		if rapid.Bool().Draw(t, "few threadblocks") {
			o.MaxThreadblocks = rapid.IntRange(1, 20).Draw(t, "threadblocks")
		}
		for _, o.Disable = range optional() {
			res, err := Compile(p, o)
			if err != nil {
				if strings.Contains(err.Error(), "the limit is") && o.MaxChannels < 1000 ||
					strings.Contains(err.Error(), "more than the limit of") && o.MaxThreadblocks > 0 {
					continue
				}
				t.Fatal(err)
			}
			if most := o.MaxThreadblocks; most > 0 && res.Program.MaxThreadblocks() > most {
				t.Fatalf("%d threadblocks, with a limit of %d", res.Program.MaxThreadblocks(), most)
			}
			if err := judge(res.Program, o, 3); err != nil {
				t.Fatalf("without %v: %v", o.Disable, err)
			}
			if err := judgeSlots(res, o); err != nil {
				t.Fatalf("without %v: %v", o.Disable, err)
			}
		}
	})
}

// drawOperations returns a program without a meaning: operations between any places
// there are, strided and overlapping ones among them, under any scopes.
func drawOperations(t *rapid.T) *lang.Program {
	pick := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	b := begin(collective.Spec{
		Name:  rapid.SampledFrom([]string{"sendrecv", "allreduce", "allgather", "alltoall"}).Draw(t, "collective"),
		Ranks: 2 + pick(3, "ranks"), Chunks: 1 + pick(4, "chunks"),
	})
	for r := range b.p.Scratch {
		b.p.Scratch[r] = 7
	}
	span := func(count int) lang.Span {
		for {
			s := lang.Span{Rank: int32(pick(b.p.Collective.Ranks, "rank")), Buf: collective.Buffer(pick(3, "buffer")), Count: int32(count), Stride: int32(1 + pick(3, "stride"))}
			size := 7
			if s.Buf != collective.Scratch {
				size = b.p.Collective.BufferChunks(int(s.Rank), s.Buf)
			}
			if room := size - (count-1)*int(s.Stride); room > 0 {
				s.Index = int32(pick(room, "index"))
				return s
			}
		}
	}
	for range 1 + pick(4, "scopes") {
		b.p.Scopes = append(b.p.Scopes, lang.Scope{
			Parent: int32(pick(len(b.p.Scopes), "parent")), Factor: 1 + pick(3, "factor"),
		})
	}
	for range 1 + pick(24, "operations") {
		count := 1 + pick(3, "count")
		b.p.Ops = append(b.p.Ops, lang.Op{
			Kind: lang.Kind(pick(2, "kind")), Src: span(count), Dst: span(count),
			Channel: int32(max(none, pick(6, "channel")-4)), Scope: int32(max(0, pick(2*len(b.p.Scopes), "scope")-len(b.p.Scopes))),
		})
	}
	return &b.p
}

// counted is a place with the number of chunks there.
type counted struct {
	loc   ir.Loc
	count int32
}

// placesOf lists what all steps name.
func placesOf(p *ir.Program) (all []counted) {
	for g := range p.GPUs {
		for _, tb := range p.GPUs[g].Threadblocks {
			for _, s := range tb.Steps {
				all = append(all, counted{s.Src, s.Count}, counted{s.Dst, s.Count})
			}
		}
	}
	return all
}

// TestRandomOperations compares what the IR leaves with what the operations
// leave, done one by one.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawOperations(t)
		o := Options{
			Instances: rapid.IntRange(1, 3).Draw(t, "instances"), MaxChannels: 1000,
			Slots:        rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "slots"),
			CallPerChunk: rapid.Bool().Draw(t, "call per chunk"), CheckEachPass: true,
			// The comparison needs whole parts of chunks.
			Disable: []string{"coarsen"},
		}
		for _, leave := range optional() {
			o.Disable = append(o.Disable[:1], leave...)
			res, err := Compile(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range int64(2) {
				if err := executeAs(res.Program, p, o.Slots, o.CallPerChunk, seed); err != nil {
					t.Fatalf("without %v: %v", o.Disable, err)
				}
			}
			if len(leave) > 0 && !slices.Contains(leave, "slots") {
				continue
			}
			apart, err := ir.Contiguous(res.Program)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range placesOf(apart) {
				if at.loc.Stride != 0 {
					t.Fatalf("%s is not taken apart", at.loc.Place(at.count))
				}
			}
			slots := o.Slots
			if slices.Contains(o.Disable, "slots") {
				slots = 1 << 20 // nobody saw to it that two calls of a message do not meet
			}
			if err := executeAs(apart, p, slots, true, 1); err != nil {
				t.Fatalf("contiguous, without %v: %v", o.Disable, err)
			}
		}
	})
}
