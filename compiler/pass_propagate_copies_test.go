package compiler

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
)

// local counts a program's local operations.
type local struct {
	copies, copied int // steps, and chunks of them
	apart          int // reductions that store elsewhere than where they add
	scratch        int
	instructions   int // a fused step is two
}

func localWork(p *ir.Program) (w local) {
	for g := range p.GPUs {
		w.scratch = max(w.scratch, p.GPUs[g].Scratch)
		for _, tb := range p.GPUs[g].Threadblocks {
			for _, s := range tb.Steps {
				w.instructions++
				if s.Op.Receives() && s.Op.Sends() {
					w.instructions++
				}
				switch s.Op {
				case ir.Copy:
					w.copies++
					w.copied += int(s.Count)
				case ir.RecvReduceCopy, ir.RecvReduceCopySend:
					if s.Src != s.Dst {
						w.apart++
					}
				}
			}
		}
	}
	return w
}

// TestRingsReadTheInput: out of place, a ring's first step sends from the input, the
// following ones add received data to it, and nothing is copied or staged.
func TestRingsReadTheInput(t *testing.T) {
	const ranks = 6
	for _, c := range []struct {
		name  string
		p     *lang.Program
		apart int
	}{
		{"allreduce", ringOutOfPlace(ranks), ranks},
		{"reducescatter", ringReduceScatter(ranks), ranks},
	} {
		for instances := 1; instances <= 3; instances++ {
			res, err := Compile(c.p, Options{Instances: instances, CheckEachPass: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := localWork(res.Program); got.copies != 0 || got.scratch != 0 || got.apart != instances*c.apart {
				t.Errorf("%s, %d instances: %d copies, %d chunks of scratch, %d sums stored elsewhere: want 0, 0 and %d", c.name, instances, got.copies, got.scratch, got.apart, instances*c.apart)
			}
			if err := verify.Check(res.Program, verify.Options{}).Err(); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := judge(res.Program, Options{}, 10); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestPropagateCopiesInPlace: the pass changes nothing if originals are overwritten later,
// as in programs that reduce in place.
func TestPropagateCopiesInPlace(t *testing.T) {
	for name, p := range families() {
		if !p.Collective.InPlace || p.Collective.Name != "allreduce" {
			continue
		}
		with, err := Compile(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		without, err := Compile(p, Options{Disable: []string{"propagate copies"}})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(with.Program, without.Program) {
			t.Errorf("%s comes out another program", name)
		}
	}
}

// drawCopies returns a random program in which most moved values were copied within their
// rank before: whole, in part, repeatedly, and overwritten.
func drawCopies(t *rapid.T) *lang.Program {
	pick := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	b := begin(collective.Spec{Name: "reducescatter", Ranks: 1 + pick(3, "ranks"), Chunks: 3, InPlace: pick(4, "in place") == 0})
	ranks, inputs := b.p.Collective.Ranks, 3*b.p.Collective.Ranks
	for r := range ranks {
		b.p.Scratch[r] = 6
	}
	sizes := map[collective.Buffer]int{collective.In: inputs, collective.Out: 3, collective.Scratch: 6}
	place := func(rank, count int, buf collective.Buffer) (s spot, stride int, ok bool) {
		stride = 1
		if pick(4, "strided") == 0 {
			stride = 2
		}
		room := sizes[buf] - (count-1)*stride
		if room < 1 {
			return s, 0, false
		}
		return spot{rank, buf, pick(room, "index")}, stride, true
	}
	for range 1 + pick(20, "operations") {
		count := 1 + pick(3, "count")
		from, to := pick(ranks, "from"), pick(ranks, "to")
		source := []collective.Buffer{collective.In, collective.Out, collective.Scratch}[pick(3, "source")]
		target := []collective.Buffer{collective.Out, collective.Scratch, collective.Out, collective.Scratch, collective.In}[pick(5, "target")]
		kind := lang.Kind(pick(2, "kind"))
		if pick(2, "first copy") == 0 {
			kind, to, source = lang.Copy, from, collective.In
		}
		src, srcStride, ok := place(from, count, source)
		dst, dstStride, ok2 := place(to, count, target)
		if !ok || !ok2 {
			continue
		}
		b.op(kind, src, dst, count, srcStride, dstStride)
	}
	return &b.p
}

// drawExchanges returns a random program whose ranks copy values, add received ones to the
// copies, and continue with the sums; some operations overwrite the originals.
func drawExchanges(t *rapid.T) *lang.Program {
	pick := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	b := begin(collective.Spec{Name: "allreduce", Ranks: 2 + pick(2, "ranks"), Chunks: 4, InPlace: pick(2, "in place") == 0})
	ranks := b.p.Collective.Ranks
	own := make([]spot, ranks)
	for r := range ranks {
		b.p.Scratch[r], own[r] = 4, in(r, 0)
	}
	count := 1 + pick(2, "count")
	for range 1 + pick(10, "exchanges") {
		r, other := pick(ranks, "rank"), pick(ranks, "other")
		to := spot{r, []collective.Buffer{collective.Scratch, collective.In, collective.Out}[pick(3, "buffer")], pick(5-count, "index")}
		if pick(6, "overwrites") == 0 {
			b.op(lang.Copy, own[other], to, count, 1, 1)
			continue
		}
		b.op(lang.Copy, own[r], to, count, 1, 1)
		b.op(lang.Reduce, own[other], to, count, 1, 1)
		own[r] = to
	}
	return &b.p
}

// TestPropagateCopiesChangesNoResult compares the results of the IR, with the pass and
// without, with those of the operations executed one by one. With the pass no rank copies
// more or has more instructions, and the longest path is no longer.
func TestPropagateCopiesChangesNoResult(t *testing.T) {
	fewer, apart := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]func(*rapid.T) *lang.Program{drawCopies, drawExchanges}).Draw(t, "program")(t)
		o := Options{
			Instances: rapid.IntRange(1, 3).Draw(t, "instances"), MaxChannels: 1000, CheckEachPass: true,
			Slots: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "slots"), CallPerChunk: rapid.Bool().Draw(t, "call per chunk"),
			Disable: []string{"coarsen", "sink copies", "propagate copies"}, // the comparison needs whole parts of chunks
		}
		was, is, _, _ := compareWithout(t, p, o)
		fewer += was.copies - is.copies
		apart += is.apart
	})
	if fewer == 0 || apart == 0 {
		t.Errorf("%d copies left out, %d sums stored elsewhere: the programs do not try it", fewer, apart)
	}
}
