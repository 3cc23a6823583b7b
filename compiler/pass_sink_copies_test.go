package compiler

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// longestChain returns the number of instructions, fused ones as one, wait for
// one another at most, before any is handed to a threadblock. Scratch is as the
// program has it: a value that goes elsewhere leaves its place to others, which
// wait for different ones then.
func longestChain(t interface{ Fatal(...any) }, p *lang.Program, o Options) int32 {
	skip, err := o.complete()
	if err != nil {
		t.Fatal(err)
	}
	prog := newProgram(p, o)
	for _, pass := range passes[:passIndex("channels")] {
		if pass.Name == "scratch" || skip[pass.Name] {
			continue
		}
		if err := pass.run(prog); err != nil {
			t.Fatal(err)
		}
	}
	depth, longest := make([]int32, len(prog.ins)), int32(0)
	prog.computeDepths(depth)
	for i := range depth {
		if prog.live(int32(i)) {
			longest = max(longest, 1+depth[i])
		}
	}
	return longest
}

// drawDeliveries returns a random program: most values arrive in scratch, in pieces, are
// added to and sent on there, and are copied once to their final place.
func drawDeliveries(t *rapid.T) *lang.Program {
	pick := func(n int, label string) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	const room = 6 // in scratch for what arrives, and as much for what stays there
	b := begin(collective.Spec{Name: "allgather", Ranks: 2 + pick(2, "ranks"), Chunks: 4})
	ranks := b.p.Collective.Ranks
	for r := range ranks {
		b.p.Scratch[r] = 2 * room
	}
	next := make([][2]int, ranks) // the first chunk of out, and of scratch, that nothing was copied to
	for range 1 + pick(20, "operations") {
		count, rank := 1+pick(3, "count"), pick(ranks, "rank")
		place := func(rank int, buf collective.Buffer, size int) (spot, int) {
			stride := 1
			if 2*count <= size && pick(4, "strided") == 0 {
				stride = 2
			}
			return spot{rank, buf, pick(size-(count-1)*stride, "index")}, stride
		}
		from, fromStride := place(rank, collective.Scratch, room)
		switch pick(5, "kind") {
		case 0, 1: // it arrives
			src, stride := place(pick(ranks, "from"), collective.In, 4)
			b.op(lang.Kind(pick(2, "reduce")), src, from, count, stride, fromStride)
		case 2, 3: // it is copied to where it stays
			to, end, at := out(rank, next[rank][0]), 4*ranks, &next[rank][0]
			if pick(4, "scratch") == 0 {
				to, end, at = sc(rank, room+next[rank][1]), 2*room, &next[rank][1]
			}
			if to.index+count > end {
				continue
			}
			b.op(lang.Copy, from, to, count, fromStride, 1)
			if pick(8, "again") > 0 {
				*at += count
			}
		default: // it is sent on, from there or from where it was copied to
			if pick(2, "later") == 0 {
				from, fromStride = place(rank, collective.Scratch, 2*room)
			}
			to, stride := place(pick(ranks, "to"), collective.Scratch, room)
			b.op(lang.Kind(pick(2, "reduce")), from, to, count, fromStride, stride)
		}
	}
	return &b.p
}

// TestSinkCopiesChangesNoResult compares the results of the IR, with the pass and without,
// with those of the operations executed one by one. With the pass no rank copies more or
// has more instructions, and the longest path is no longer.
func TestSinkCopiesChangesNoResult(t *testing.T) {
	fewer, shorter := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom([]func(*rapid.T) *lang.Program{drawDeliveries, drawDeliveries, drawCopies, drawExchanges}).Draw(t, "program")(t)
		o := Options{
			Instances: rapid.IntRange(1, 2).Draw(t, "instances"), MaxChannels: 1000, CheckEachPass: true,
			Slots: rapid.SampledFrom([]int{1, 2, 8}).Draw(t, "slots"), CallPerChunk: rapid.Bool().Draw(t, "call per chunk"),
			Disable: []string{"coarsen", "sink copies"}, // the comparison needs whole parts of chunks
		}
		if rapid.Bool().Draw(t, "propagate copies") {
			o.Disable = []string{"propagate copies", "coarsen", "sink copies"}
		}
		was, is, length, now := compareWithout(t, p, o)
		fewer += was.copies - is.copies
		if now < length {
			shorter++
		}
	})
	if fewer == 0 || shorter == 0 {
		t.Errorf("%d copies left out, %d programs shorter: the programs do not try it", fewer, shorter)
	}
}

// TestSinkCopiesKeepsCopiesApart: the first copied chunk may go to in[1] directly, and the
// second may be read at in[2] instead. Both together would be one copy of in[0] and in[2]
// to in[1] and in[2], which overwrites its own source.
func TestSinkCopiesKeepsCopiesApart(t *testing.T) {
	b := begin(collective.Spec{Name: "allgather", Ranks: 2, Chunks: 4})
	b.p.Scratch[0] = 4
	b.op(lang.Copy, in(0, 0), sc(0, 1), 2, 2, 2)
	b.op(lang.Copy, sc(0, 1), in(0, 1), 1, 1, 1)
	o := Options{Instances: 1, Disable: []string{"propagate copies", "coarsen"}, CheckEachPass: true}
	r, err := Compile(&b.p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := executeAs(r.Program, &b.p, 1, false, 1); err != nil {
		t.Error(err)
	}
}
