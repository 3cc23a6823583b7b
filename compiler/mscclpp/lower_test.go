package mscclpp

import (
	"bytes"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
)

// failing is a test, or a draw of one.
type failing interface {
	Helper()
	Fatal(...any)
}

// tracer writes a program as the language would.
type tracer struct {
	*lang.Trace
	t failing
}

func trace(t failing, spec collective.Spec) tracer {
	t.Helper()
	c, err := collective.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return tracer{lang.NewTrace(spec.Name, c), t}
}

func (r tracer) chunk(rank int, b collective.Buffer, index, count int) *lang.Ref {
	c, err := r.Chunk(rank, b, index, count, 1)
	return r.must(c, err)
}

func (r tracer) must(c *lang.Ref, err error) *lang.Ref {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// compile returns the program as IR, verified.
func (r tracer) compile(o compiler.Options) *ir.Program {
	r.t.Helper()
	p, err := r.Finish()
	if err != nil {
		r.t.Fatal(err)
	}
	o.MaxChannels = 1 << 10
	c, err := compiler.Compile(p, o)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := verify.Check(c.Program, verify.Options{Slots: 2}).Err(); err != nil {
		r.t.Fatal(err)
	}
	return c.Program
}

// ring returns an allreduce round a ring, in place.
func ring(t failing, ranks int) *ir.Program {
	r := trace(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks, InPlace: true})
	for at := range ranks {
		c := r.chunk(at, collective.In, at, 1)
		for step := 1; step < 2*ranks-1; step++ {
			to := (at + step) % ranks
			if step < ranks {
				c = r.must(r.chunk(to, collective.In, at, 1).Reduce(c, -1))
			} else {
				c = r.must(c.Copy(to, collective.In, at, -1))
			}
		}
	}
	return r.compile(compiler.Options{})
}

// allPairs returns an allreduce in two steps, in place: each rank gathers a
// chunk in scratch, sums it up, and gives it to all.
func allPairs(t failing, ranks int) *ir.Program {
	r := trace(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: ranks, InPlace: true})
	for at := range ranks {
		for d := 1; d < ranks; d++ {
			r.must(r.chunk((at+d)%ranks, collective.In, at, 1).Copy(at, collective.Scratch, d-1, -1))
		}
	}
	for at := range ranks {
		sum := r.chunk(at, collective.In, at, 1)
		for d := 1; d < ranks; d++ {
			sum = r.must(sum.Reduce(r.chunk(at, collective.Scratch, d-1, 1), -1))
		}
		for d := 1; d < ranks; d++ {
			r.must(sum.Copy((at+d)%ranks, collective.In, at, -1))
		}
	}
	return r.compile(compiler.Options{})
}

// drawn returns an allreduce of which every run of chunks goes by a way of its
// own: to some rank by a random tree, being summed up, and from there to all by
// another, now and then by way of somebody's scratch.
func drawn(t *rapid.T) *ir.Program {
	ranks := rapid.IntRange(2, 5).Draw(t, "ranks")
	chunks := rapid.IntRange(1, 5).Draw(t, "chunks")
	r := trace(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks, InPlace: true})
	channel := func() int { return rapid.IntRange(0, 2).Draw(t, "channel") }
	held := make([]int, ranks)
	for first := 0; first < chunks; {
		count := rapid.IntRange(1, chunks-first).Draw(t, "count")
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}[:ranks]).Draw(t, "order")
		// Towards the root, order[0]: each to one before it.
		for i := ranks - 1; i > 0; i-- {
			to := order[rapid.IntRange(0, i-1).Draw(t, "parent")]
			from := r.chunk(order[i], collective.In, first, count)
			if rapid.IntRange(0, 3).Draw(t, "detour") == 0 {
				at := rapid.IntRange(0, held[to]).Draw(t, "scratch") // over what was there, often
				from = r.must(from.Copy(to, collective.Scratch, at, channel()))
				held[to] = max(held[to], at+count)
			}
			ch := -1
			if int(from.Span().Rank) != to {
				ch = channel()
			}
			r.must(r.chunk(to, collective.In, first, count).Reduce(from, ch))
		}
		for i := 1; i < ranks; i++ {
			from := order[rapid.IntRange(0, i-1).Draw(t, "source")]
			r.must(r.chunk(from, collective.In, first, count).Copy(order[i], collective.In, first, channel()))
		}
		first += count
	}
	return r.compile(compiler.Options{Instances: rapid.IntRange(1, 2).Draw(t, "instances")})
}

// lowered returns a program as a plan, written and read again.
func lowered(t failing, p *ir.Program, o LowerOptions) *Plan {
	t.Helper()
	plan, err := Lower(p, o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := Write(&text, plan, []string{"made by a test"}); err != nil {
		t.Fatal(err)
	}
	read, err := Read(bytes.NewReader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, read, []string{"made by a test"}); err != nil || again.String() != text.String() {
		t.Fatal("what is read is not what was written: ", text.String(), again.String())
	}
	return read
}

// right fails where a plan is wrong, not quite right, or not for the runtime.
func right(t failing, p *Plan) {
	t.Helper()
	if v := Verify(p, verify.Options{}); !v.Accepts || len(v.Report.Findings) > 0 {
		var text bytes.Buffer
		_ = Write(&text, p, nil)
		t.Fatal(v.Report.Err(), v.Why, v.Report.Findings, text.String())
	}
}

// pairs are nodes of two ranks.
func pairsOf(rank int) int { return rank / 2 }

// ways are what a program is written for.
var ways = []LowerOptions{
	{Name: "plan", Protocol: "Simple"},
	{Name: "plan", Protocol: "LL"},
	{Name: "plan", Protocol: "Simple", TileBytes: 4096},
	{Name: "plan", Protocol: "Simple", Node: pairsOf},
	{Name: "plan", Protocol: "LL", Node: pairsOf},
	{Name: "plan", Protocol: "Simple", Node: pairsOf, TileBytes: 4096},
}

// Random programs, on one node and on several, become plans in which the verifier finds
// nothing and threads in any order compute the right result.
func TestLoweredPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawn(t)
		o := ways[rapid.IntRange(0, len(ways)-1).Draw(t, "way")]
		plan := lowered(t, p, o)
		right(t, plan)
		if o.Node != nil {
			return // the oracle has no ports
		}
		rightInAnyOrder(t, p, o)
	})
}

// rightHoweverWritten writes drawn programs in every way: the verifier finds
// nothing, and threads in any order come to the right result.
func rightHoweverWritten(t *testing.T, draw func(*rapid.T) *ir.Program) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t)
		o := ways[rapid.IntRange(0, len(ways)-1).Draw(t, "way")]
		right(t, lowered(t, p, o))
		if o.Node != nil {
			return // the oracle has no ports
		}
		rightInAnyOrder(t, p, o)
	})
}

// rightInAnyOrder has the oracle run a plan a few times, its threads in drawn
// orders.
func rightInAnyOrder(t *rapid.T, p *ir.Program, o LowerOptions) {
	rng := rand.New(rand.NewSource(rapid.Int64().Draw(t, "threads")))
	for range 3 {
		if why := newOracle(lowered(t, p, o), rng).run(rng); why != "" {
			t.Fatal("in some order: ", why)
		}
	}
}

// Without any one of the operations that order others, the verifier finds a written plan
// wrong.
func TestEveryOrderingOperationIsNeeded(t *testing.T) {
	for _, c := range []struct {
		name string
		p    *ir.Program
		told bool
	}{{"ring", ring(t, 3), true}, {"all-pairs", allPairs(t, 3), true}, {"scatter", scatter(t, 3), false}} {
		for _, o := range ways[:4] {
			whole := lowered(t, c.p, o)
			right(t, whole)
			n := 0
			for g := range whole.GPUs {
				for tb := range whole.GPUs[g].Threadblocks {
					without := func(list func(*Threadblock) *[]Op) {
						ops := *list(&whole.GPUs[g].Threadblocks[tb])
						for i := range ops {
							if k := ops[i].Kind; k.moving() || k.effect == pipelines || c.told && i > 0 && ops[i-1].Kind.Name == "rlxwait" {
								continue // the last: for scratch, which who ends an allreduce knows to be free
							}
							p := lowered(t, c.p, o)
							left := list(&p.GPUs[g].Threadblocks[tb])
							*left = slices.Delete(*left, i, i+1)
							n++
							if v := Verify(p, verify.Options{}); v.Report.OK() && len(v.Report.Findings) == 0 {
								t.Errorf("%s, %s, tile %d: gpu %d threadblock %d is right without its operation %d, %s", c.name, o.Protocol, o.TileBytes, g, tb, i, ops[i].Kind.Name)
							}
						}
					}
					without(func(tb *Threadblock) *[]Op { return &tb.Ops })
					for i := range whole.GPUs[g].Threadblocks[tb].Ops {
						without(func(tb *Threadblock) *[]Op { return &tb.Ops[i].Ops })
					}
				}
			}
			t.Logf("%s, %s, tile %d, ports %t: %d operations", c.name, o.Protocol, o.TileBytes, o.Node != nil, n)
		}
	}
}

// TestLongThreadblocks: a ring of many ranks has threadblocks of more operations
// than the runtime has room for, and its plan has none.
func TestLongThreadblocks(t *testing.T) {
	p := ring(t, 20)
	for _, o := range ways {
		plan := lowered(t, p, o)
		right(t, plan)
		if n := len(plan.GPUs[0].Threadblocks); o.Protocol == "Simple" && n < 3 {
			t.Errorf("%+v: %d threadblocks", o, n)
		}
	}
}

// A rank computes the second half of another's scratch from its own, so all have equal
// scratch, also if only some make packets for a port.
func TestScratchOfOneSize(t *testing.T) {
	p := ring(t, 4)
	plan := lowered(t, p, LowerOptions{Name: "plan", Protocol: "LL", Node: pairsOf})
	for g := range plan.GPUs {
		if got, want := plan.GPUs[g].Scratch, plan.GPUs[0].Scratch; got != want {
			t.Errorf("gpu %d has %d chunks of scratch, gpu 0 %d", g, got, want)
		}
	}
	plan.GPUs[1].Scratch++
	if v := Verify(plan, verify.Options{}); v.Accepts || !v.Report.Has(verify.Malformed) {
		t.Errorf("found right with one chunk more on gpu 1: %v", v.Report.Findings)
	}
}

// A message goes directly to its destination if that is free.
func TestDirect(t *testing.T) {
	for _, c := range []struct {
		name    string
		p       *ir.Program
		scratch int
		copies  int
	}{
		{"ring", ring(t, 4), 3, 0}, // what is summed up comes through scratch
		{"all-pairs", allPairs(t, 4), 3, 0},
	} {
		plan := lowered(t, c.p, ways[0])
		copies := 0
		plan.each(func(o *Op) {
			if o.Kind.Name == "copy" {
				copies++
			}
		})
		if plan.GPUs[0].Scratch != c.scratch || copies != c.copies {
			t.Errorf("%s: %d chunks of scratch and %d copies; want %d and %d", c.name, plan.GPUs[0].Scratch, copies, c.scratch, c.copies)
		}
	}
}

// A program with too many threadblocks is refused before the order of its steps is
// analysed.
func TestTooMany(t *testing.T) {
	p := ring(t, 2)
	for range maxClocks {
		p.GPUs[0].Threadblocks = append(p.GPUs[0].Threadblocks, ir.Threadblock{Send: -1, Recv: -1})
	}
	const want = "16386 threadblocks over all GPUs: a plan is made and verified of at most 16384"
	if _, err := Lower(p, ways[0]); err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
	if why := Lacks(p, "", "LL"); len(why) != 1 || why[0] != want {
		t.Errorf("%v; want %s", why, want)
	}
}

// Programs that no plan is made of, and the reasons.
func TestNotLowered(t *testing.T) {
	for _, c := range []struct {
		spec collective.Spec
		o    LowerOptions
		want string
	}{
		{collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true}, LowerOptions{Protocol: "LL128"}, "protocol LL128: plans have Simple and LL"},
		{collective.Spec{Name: "broadcast", Ranks: 2, Chunks: 2}, LowerOptions{Protocol: "LL"}, "broadcast: plans are written for allgather, allreduce, alltoall and reducescatter"},
		{collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true}, LowerOptions{Protocol: "LL", MinBytes: 1 << 40}, "1099511627776 bytes are more than the runtime can count in all its buffers: at most"},
	} {
		p := ring(t, 2)
		p.Collective = c.spec
		if _, err := Lower(p, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}
