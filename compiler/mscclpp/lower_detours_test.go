package mscclpp

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// held is what a place of scratch holds: of a chunk, what some ranks gave, a
// bit each.
type held struct{ chunk, of int }

// detours is an allreduce in place under way that does much it need not do:
// chunks and sums of some of them lie about in scratch, are sent on, added up
// and overwritten.
type detours struct {
	r       tracer
	t       *rapid.T
	ranks   int
	held    [][]held // by rank, by place
	settled []bool   // by chunk
}

func (d *detours) pick(n int, label string) int { return rapid.IntRange(0, n-1).Draw(d.t, label) }

// wander copies what some place holds, or an input, somewhere in scratch, or
// adds it up there.
func (d *detours) wander() {
	rank, chunks := d.pick(d.ranks, "from"), len(d.settled)
	i := d.pick(chunks+len(d.held[rank]), "place from")
	from := cellOf{rank, collective.Scratch, i - chunks}
	if i < chunks || d.held[rank][i-chunks].of == 0 {
		from = cellOf{rank, collective.In, i % chunks}
	}
	what := d.in(from)
	to := cellOf{d.pick(d.ranks, "to"), collective.Scratch, 0}
	to.index = d.pick(len(d.held[to.rank]), "place to")
	there, channel := &d.held[to.rank][to.index], d.pick(3, "channel")-1
	switch {
	case from == to:
	case there.of != 0 && there.chunk == what.chunk && there.of&what.of == 0 && d.pick(4, "overwrite") > 0:
		d.r.must(d.ref(to).Reduce(d.ref(from), channel))
		there.of |= what.of
	default:
		d.r.must(d.ref(from).Copy(to.rank, to.buffer, to.index, channel))
		*there = what
	}
}

// cellOf is a chunk of a rank's buffer.
type cellOf struct {
	rank   int
	buffer collective.Buffer
	index  int
}

func (d *detours) ref(p cellOf) *lang.Ref { return d.r.chunk(p.rank, p.buffer, p.index, 1) }

// in returns what lies in a place.
func (d *detours) in(p cellOf) held {
	switch {
	case p.buffer == collective.Scratch:
		return d.held[p.rank][p.index]
	case d.settled[p.index]:
		return held{p.index, 1<<d.ranks - 1}
	}
	return held{p.index, 1 << p.rank}
}

// settle adds up a chunk at some rank from what lies about, and the inputs of
// those who gave nothing to that, and gives it to all.
func (d *detours) settle(chunk int) {
	root := d.pick(d.ranks, "root")
	sum, at := 0, len(d.held[root])
	d.held[root] = append(d.held[root], held{})
	var total *lang.Ref
	add := func(p cellOf) {
		channel := d.pick(3, "channel") - 1
		sum |= d.in(p).of
		if total == nil {
			total = d.r.must(d.ref(p).Copy(root, collective.Scratch, at, channel))
		} else {
			total = d.r.must(total.Reduce(d.ref(p), channel))
		}
	}
	order := rapid.Permutation(upTo(d.ranks)).Draw(d.t, "order")
	for _, rank := range order {
		for i, h := range d.held[rank] {
			if h.chunk == chunk && h.of != 0 && h.of&sum == 0 && d.pick(3, "use") > 0 {
				add(cellOf{rank, collective.Scratch, i})
			}
		}
	}
	for _, rank := range order {
		if sum&(1<<rank) == 0 {
			add(cellOf{rank, collective.In, chunk})
		}
	}
	for rank := range d.ranks {
		d.r.must(total.Copy(rank, collective.In, chunk, d.pick(3, "channel")-1))
	}
	d.held[root][at], d.settled[chunk] = held{chunk, sum}, true
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// drawnDetours returns an allreduce full of detours, compiled by some of the
// passes.
func drawnDetours(t *rapid.T) *ir.Program {
	d := &detours{t: t}
	d.ranks = 2 + d.pick(3, "ranks")
	chunks := 1 + d.pick(3, "chunks")
	d.r = trace(t, collective.Spec{Name: "allreduce", Ranks: d.ranks, Chunks: chunks, InPlace: true})
	for range d.ranks {
		d.held = append(d.held, make([]held, 1+d.pick(3, "places")))
	}
	d.settled = make([]bool, chunks)
	for chunk := range chunks {
		for range d.pick(12, "detours") {
			d.wander()
		}
		d.settle(chunk)
	}
	o := compiler.Options{Instances: 1 + d.pick(2, "instances"), CallPerChunk: d.pick(2, "a call a chunk") == 0}
	for _, pass := range compiler.Passes() {
		if !pass.Required && d.pick(4, "without "+pass.Name) == 0 {
			o.Disable = append(o.Disable, pass.Name)
		}
	}
	return d.r.compile(o)
}

// Random programs with many detours become correct plans.
func TestDetours(t *testing.T) {
	rightHoweverWritten(t, drawnDetours)
}

// TestSumsWaitForTheirReceiver: on GPU 1, the threadblock that first sends one
// chunk to GPU 2 is given the sum of the others for GPU 0 as well. That GPU
// must have begun too, or it may still copy from its scratch in the launch
// before.
func TestSumsWaitForTheirReceiver(t *testing.T) {
	r := trace(t, collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 5, InPlace: true})
	four := func(rank int) *lang.Ref { return r.chunk(rank, collective.In, 0, 4) }
	one := func(rank int) *lang.Ref { return r.chunk(rank, collective.In, 4, 1) }
	r.must(four(1).Reduce(r.must(four(3).Copy(1, collective.Scratch, 0, 0)), -1))
	r.must(four(0).Reduce(four(1), 1))
	r.must(four(2).Reduce(four(0), 0))
	for _, to := range []int{0, 1, 3} {
		r.must(four(2).Copy(to, collective.In, 0, 0))
	}
	r.must(one(2).Reduce(one(0), 0))
	r.must(one(2).Reduce(r.must(one(1).Copy(2, collective.Scratch, 0, 0)), -1))
	r.must(one(2).Reduce(one(3), 0))
	r.must(one(2).Copy(3, collective.In, 4, 1))
	r.must(one(3).Copy(1, collective.In, 4, 0))
	r.must(one(2).Copy(0, collective.In, 4, 1))
	p := r.compile(compiler.Options{})
	for _, o := range ways {
		right(t, lowered(t, p, o))
	}
}
