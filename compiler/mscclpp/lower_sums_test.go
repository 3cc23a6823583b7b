package mscclpp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// scatter returns a reducescatter in one step: each rank gathers a chunk of all
// others and sums it up.
func scatter(t failing, ranks int) *ir.Program {
	r := trace(t, collective.Spec{Name: "reducescatter", Ranks: ranks, Chunks: 1})
	for at := range ranks {
		sum := r.must(r.chunk(at, collective.In, at, 1).Copy(at, collective.Out, 0, -1))
		for d := 1; d < ranks; d++ {
			part := r.must(r.chunk((at+d)%ranks, collective.In, at, 1).Copy(at, collective.Scratch, d-1, -1))
			sum = r.must(sum.Reduce(part, -1))
		}
	}
	return r.compile(compiler.Options{})
}

// The messages of a sum are added in one operation, which under LL also sends the sum to
// all peers, without signals between threadblocks where one operation suffices.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             *ir.Program
		o             LowerOptions
		sums, sources int
		destinations  int // under LL
		words         bool
	}{
		{"all-pairs", allPairs(t, 4), ways[0], 1, 4, 0, true},
		{"all-pairs", allPairs(t, 4), ways[1], 1, 4, 4, false},
		{"all-pairs of 8", allPairs(t, 8), ways[1], 1, 8, 8, false},
		{"all-pairs of 12", allPairs(t, 12), ways[1], 2, 10, 9, true},
		{"scatter", scatter(t, 4), ways[0], 1, 4, 0, false},
		{"scatter", scatter(t, 4), ways[1], 1, 4, 1, false},
		{"scatter of 20", scatter(t, 20), ways[0], 3, 10, 0, true},
	} {
		plan := lowered(t, c.p, c.o)
		right(t, plan)
		sums, sources, destinations := 0, 0, 0
		for tb := range plan.GPUs[0].Threadblocks {
			plan.GPUs[0].Threadblocks[tb].each(func(_ int, o *Op) {
				if slices.Contains([]string{"re", "res", "repkt", "respkt"}, o.Kind.Name) {
					sums, sources, destinations = sums+1, max(sources, len(o.Src)), max(destinations, len(o.Dst))
				}
			})
		}
		if c.destinations == 0 {
			destinations = 0 // as many as the threadblock sends to next
		}
		words := len(plan.GPUs[0].Semaphores) > 0
		if sums != c.sums || sources != c.sources || destinations != c.destinations || words != c.words {
			t.Errorf("%s, %s: %d sums of up to %d sources to %d places, semaphores: %t; want %d, %d, %d, %t", c.name, c.o.Protocol,
				sums, sources, destinations, words, c.sums, c.sources, c.destinations, c.words)
		}
	}
}

// Without one source or destination of a sum, or with its neighbour instead, the
// verifier finds every plan wrong.
func TestEveryTermIsNeeded(t *testing.T) {
	for name, p := range map[string]*ir.Program{"all-pairs": allPairs(t, 4), "scatter": scatter(t, 4)} {
		for _, o := range ways {
			whole, n := lowered(t, p, o), 0
			try := func(fits func(*Op) bool, change func(*Op)) {
				for g := range whole.GPUs {
					for tb := range whole.GPUs[g].Threadblocks {
						at := -1
						whole.GPUs[g].Threadblocks[tb].each(func(i int, op *Op) {
							if at < 0 && op.Kind.effect == moves && len(op.Src) > 2 && fits(op) {
								at = i
							}
						})
						if at < 0 {
							continue
						}
						plan := lowered(t, p, o)
						plan.GPUs[g].Threadblocks[tb].each(func(i int, op *Op) {
							if i == at {
								change(op)
							}
						})
						n++
						if v := Verify(plan, verify.Options{}); v.Report.OK() {
							t.Errorf("%s, %+v: gpu %d threadblock %d is right without a source or destination", name, o, g, tb)
						}
					}
				}
			}
			for i := 1; i < MaxOpPlaces; i++ {
				try(func(op *Op) bool { return i < len(op.Src) }, func(op *Op) { op.Src = slices.Delete(op.Src, i, i+1) })
				try(func(op *Op) bool { return i < len(op.Dst) }, func(op *Op) { op.Dst = slices.Delete(op.Dst, i, i+1) })
				try(func(op *Op) bool { return i+1 < len(op.Src) }, func(op *Op) { op.Src[i] = op.Src[i+1] })
			}
			if n < 12 {
				t.Errorf("%s, %+v: only %d mutants", name, o, n)
			}
		}
	}
}

// drawnSums returns an allreduce whose chunks are gathered in the scratch of
// some rank, in places that are used over and over and now and then read by
// others too, and summed up there in any order, on top of what the rank has or
// of a copy of it.
func drawnSums(t *rapid.T) *ir.Program {
	ranks := rapid.IntRange(2, 6).Draw(t, "ranks")
	chunks := rapid.IntRange(1, 3).Draw(t, "chunks")
	r := trace(t, collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: chunks, InPlace: true})
	channel := func() int { return rapid.IntRange(0, 2).Draw(t, "channel") }
	often := func(what string) bool { return rapid.IntRange(0, 4).Draw(t, what) == 0 }
	for c := range chunks {
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		var parts []int
		at := map[int]int{}
		next := rapid.IntRange(0, 3).Draw(t, "first place")
		for from := range ranks {
			if from == root {
				continue
			}
			r.must(r.chunk(from, collective.In, c, 1).Copy(root, collective.Scratch, next, channel()))
			at[from] = next
			parts = append(parts, from)
			next++
		}
		sum := r.chunk(root, collective.In, c, 1)
		aside := often("aside")
		if aside {
			sum = r.must(sum.Copy(root, collective.Scratch, next, -1))
			next++
		}
		for _, i := range rapid.Permutation(parts).Draw(t, "order") {
			part := r.chunk(root, collective.Scratch, at[i], 1)
			if often("read twice") {
				r.must(part.Copy(root, collective.Scratch, next, -1))
				next++
				part = r.chunk(root, collective.Scratch, at[i], 1)
			}
			sum = r.must(sum.Reduce(part, -1))
		}
		if aside {
			sum = r.must(sum.Copy(root, collective.In, c, -1))
		}
		for _, to := range rapid.Permutation(parts).Draw(t, "to") {
			r.must(sum.Copy(to, collective.In, c, channel()))
		}
	}
	return r.compile(compiler.Options{Instances: rapid.IntRange(1, 2).Draw(t, "instances")})
}

// Random programs with many sums become correct plans.
func TestRandomSums(t *testing.T) {
	rightHoweverWritten(t, drawnSums)
}

// The second half of scratch begins at a multiple of 16 bytes for any size of chunk: 29
// chunks of 52 bytes end 8 bytes after one.
func TestSecondHalfIsAligned(t *testing.T) {
	for ranks := 2; ranks < 9; ranks++ {
		plan := lowered(t, ring(t, ranks), ways[1])
		if n := plan.GPUs[0].Scratch; n%8 != 0 {
			t.Errorf("%d ranks: %d chunks of scratch", ranks, n)
		}
	}
}
