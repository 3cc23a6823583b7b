package compiler

import (
	"github.com/colltune/colltune/compiler/collective"
)

// strided copies three chunks between ranks, and over several within one, with
// strides on both sides.
func strided(src, dst int) func(*builder) {
	return func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 3)
		o := &b.p.Ops[0]
		o.Src, o.Dst = b.span(sc(0, 0), 3, src), b.span(sc(1, 0), 3, dst)
	}
}

func over(from, to, fromStride, toStride, n int) func(*builder) {
	return func(b *builder) {
		b.copy(sc(0, from), sc(0, to), n)
		o := &b.p.Ops[0]
		o.Src, o.Dst = b.span(sc(0, from), n, fromStride), b.span(sc(0, to), n, toStride)
	}
}

// operationCases are the cases of the passes over a program's operations.
var operationCases = []passCase{
	{"expand", "contiguous", strided(1, 1), Options{}, []string{
		"0 copy rank 0 sc[0:3] → rank 1 sc[0:3]"}},
	{"expand", "strided source", strided(2, 1), Options{}, []string{
		"0 copy rank 0 sc[0:5:2] → rank 1 sc[0:3]"}},
	{"expand", "strided destination", strided(1, 3), Options{}, []string{
		"0 copy rank 0 sc[0:3] → rank 1 sc[0:7:3]"}},
	{"expand", "interleaved without overlap", over(0, 1, 2, 2, 2), Options{}, []string{
		"0 copy rank 0 sc[0:3:2] → rank 0 sc[1:4:2]"}},
	{"expand", "overlap upwards: last chunk first", over(0, 1, 1, 1, 3), Options{}, []string{
		"0 copy rank 0 sc[2] → rank 0 sc[3]",
		"1 copy rank 0 sc[1] → rank 0 sc[2]",
		"2 copy rank 0 sc[0] → rank 0 sc[1]"}},
	{"expand", "overlap downwards: first chunk first", over(1, 0, 1, 1, 2), Options{}, []string{
		"0 copy rank 0 sc[1] → rank 0 sc[0]",
		"1 copy rank 0 sc[2] → rank 0 sc[1]"}},
	{"expand", "overlap both ways", over(1, 0, 1, 2, 4), Options{}, []string{
		"0 copy rank 0 sc[4] → rank 0 sc[6]",
		"1 copy rank 0 sc[3] → rank 0 sc[4]",
		"2 copy rank 0 sc[1] → rank 0 sc[0]"}},
	{"expand", "onto itself", func(b *builder) {
		b.copy(sc(0, 0), sc(0, 0), 2)
		b.copy(sc(0, 0), sc(1, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 sc[0] → rank 1 sc[0]"}},

	{"parallelize", "operations inside and outside a scope", func(b *builder) {
		b.channel = 1
		b.parallel(2, func() { b.copy(sc(0, 1), sc(1, 1), 1) })
		b.copy(sc(1, 0), sc(2, 0), 2)
	}, Options{}, []string{
		"0 copy rank 0 sc[2] → rank 1 sc[2] ch 1",
		"1 copy rank 0 sc[3] → rank 1 sc[3] ch 1 instance 1",
		"2 copy rank 1 sc[0:4] → rank 2 sc[0:4] ch 1"}},
	{"parallelize", "nested scopes, and different factors", func(b *builder) {
		b.parallel(2, func() {
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.parallel(2, func() { b.copy(sc(1, 0), sc(2, 0), 1) })
		})
		b.parallel(3, func() { b.copy(sc(2, 0), sc(3, 0), 1) })
	}, Options{}, []string{
		"0 copy rank 0 sc[0:6] → rank 1 sc[0:6]",
		"1 copy rank 0 sc[6:12] → rank 1 sc[6:12] instance 1",
		"2 copy rank 1 sc[0:3] → rank 2 sc[0:3]",
		"3 copy rank 1 sc[3:6] → rank 2 sc[3:6] instance 1",
		"4 copy rank 1 sc[6:9] → rank 2 sc[6:9] instance 2",
		"5 copy rank 1 sc[9:12] → rank 2 sc[9:12] instance 3",
		"6 copy rank 2 sc[0:4] → rank 3 sc[0:4]",
		"7 copy rank 2 sc[4:8] → rank 3 sc[4:8] instance 1",
		"8 copy rank 2 sc[8:12] → rank 3 sc[8:12] instance 2"}},

	{"parallelize", "strided references: a part of every chunk, or of one", func(b *builder) {
		b.parallel(3, func() { b.shuffle(sc(0, 0), sc(1, 0), 2, 3, 1) })
		b.shuffle(sc(1, 0), sc(2, 0), 2, 1, 2)
		b.shuffle(sc(2, 0), sc(3, 0), 4, 1, 2)
	}, Options{}, []string{
		"0 copy rank 0 sc[0:10:9] → rank 1 sc[0:4:3]",
		"1 copy rank 0 sc[1:11:9] → rank 1 sc[1:5:3] instance 1",
		"2 copy rank 0 sc[2:12:9] → rank 1 sc[2:6:3] instance 2",
		"3 copy rank 1 sc[0:3] → rank 2 sc[0:3]", // 2 chunks whole, of 3 parts
		"4 copy rank 1 sc[3:6] → rank 2 sc[6:9]",
		"5 copy rank 2 sc[0:10:3] → rank 3 sc[0:19:6]", // 3 parts of 4 chunks
		"6 copy rank 2 sc[1:11:3] → rank 3 sc[1:20:6]",
		"7 copy rank 2 sc[2:12:3] → rank 3 sc[2:21:6]"}},

	{"instances", "strided references", func(b *builder) {
		b.shuffle(sc(0, 0), sc(1, 1), 3, 2, 1)
	}, Options{Instances: 2}, []string{
		"0 copy rank 0 sc[0:9:4] → rank 1 sc[2:7:2]",
		"1 copy rank 0 sc[1:10:4] → rank 1 sc[3:8:2] instance 1"}},
	{"instances", "short and long references", func(b *builder) {
		b.copy(sc(0, 1), sc(1, 1), 1)
		b.copy(sc(1, 0), sc(2, 0), 2)
	}, Options{Instances: 2}, []string{
		"0 copy rank 0 sc[2] → rank 1 sc[2]",
		"1 copy rank 0 sc[3] → rank 1 sc[3] instance 1",
		"2 copy rank 1 sc[0:2] → rank 2 sc[0:2]",
		"3 copy rank 1 sc[2:4] → rank 2 sc[2:4] instance 1"}},

	{"coarsen", "a shared factor", func(b *builder) {
		b.p.Collective = b.p.Collective.Times(4)
		b.copy(sc(0, 6), sc(1, 0), 4)
		b.copy(sc(0, 2), sc(1, 4), 2)
	}, Options{}, []string{
		"0 copy rank 0 sc[3:5] → rank 1 sc[0:2]",
		"1 copy rank 0 sc[1] → rank 1 sc[2]"}},
	{"coarsen", "not with strided references", func(b *builder) {
		b.p.Collective = b.p.Collective.Times(4)
		b.shuffle(sc(0, 0), sc(1, 0), 4, 2, 2)
	}, Options{}, []string{
		"0 copy rank 0 sc[0:7:2] → rank 1 sc[0:7:2]"}},
	{"coarsen", "no shared factor", func(b *builder) {
		b.p.Collective = b.p.Collective.Times(4)
		b.copy(sc(0, 6), sc(1, 0), 4)
		b.copy(sc(0, 3), sc(1, 4), 2)
	}, Options{}, []string{
		"0 copy rank 0 sc[6:10] → rank 1 sc[0:4]",
		"1 copy rank 0 sc[3:5] → rank 1 sc[4:6]"}},

	{"propagate copies", "a received sum adds to the original", func(b *builder) {
		b.copy(in(1, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(0, 0), 1)
		b.copy(sc(1, 0), out(2, 0), 1)
	}, Options{}, []string{
		"0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]",
		"1 copy rank 1 sc[0] → rank 2 out[0]"}},
	{"propagate copies", "sends, copies and operands read the original", func(b *builder) {
		b.copy(in(0, 0), sc(0, 0), 1)
		b.copy(sc(0, 0), sc(0, 1), 1)
		b.copy(sc(0, 1), out(1, 0), 1)
		b.reduce(out(1, 0), sc(0, 1), 1)
		b.copy(in(2, 0), out(2, 0), 1)
		b.reduce(out(2, 0), sc(2, 7), 1) // in place: the copy is needed
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 out[0]",
		"1 reduce rank 0 in[0] → rank 1 out[0]",
		"2 copy rank 2 in[0] → rank 2 out[0]",
		"3 reduce rank 2 sc[7] → rank 2 out[0]"}},
	{"propagate copies", "not if overwritten later, nor from scratch", func(b *builder) {
		b.copy(in(0, 0), sc(0, 0), 1)
		b.copy(sc(0, 0), out(1, 0), 1)
		b.copy(in(3, 0), in(0, 0), 1)
		b.copy(in(3, 0), sc(2, 0), 1)
		b.copy(sc(2, 0), sc(2, 1), 1)
		b.copy(sc(2, 1), out(2, 0), 1)
		b.copy(sc(2, 1), out(3, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 0 sc[0]",
		"1 copy rank 0 sc[0] → rank 1 out[0]",
		"2 copy rank 3 in[0] → rank 0 in[0]",
		"3 copy rank 3 in[0] → rank 2 sc[0]",
		"4 copy rank 2 sc[0] → rank 2 sc[1]",
		"5 copy rank 2 sc[1] → rank 2 out[0]",
		"6 copy rank 2 sc[1] → rank 3 out[0]"}},
	{"propagate copies", "a writer that waits for the sum may overwrite its operand", func(b *builder) {
		b.copy(in(1, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(0, 0), 1)
		b.copy(sc(1, 0), in(1, 0), 1)
		b.reduce(in(1, 0), in(2, 0), 1)
		b.copy(in(2, 0), sc(2, 0), 1)
		b.reduce(sc(2, 0), in(3, 0), 1)
		b.copy(sc(2, 0), out(3, 0), 1) // and back
		b.copy(out(3, 0), in(2, 0), 1)
	}, Options{}, []string{
		"0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]",
		"1 reduce rank 2 in[0] → rank 1 in[0] with sc[0]",
		"2 reduce rank 3 in[0] → rank 2 sc[0] with in[0]",
		"3 copy rank 2 sc[0] → rank 3 out[0]",
		"4 copy rank 3 out[0] → rank 2 in[0]"}},
	{"propagate copies", "any other writer may not", func(b *builder) {
		b.copy(in(1, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(0, 0), 1)
		b.copy(in(2, 0), in(1, 0), 1)
		b.copy(sc(1, 0), out(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 1 in[0] → rank 1 sc[0]",
		"1 reduce rank 0 in[0] → rank 1 sc[0]",
		"2 copy rank 2 in[0] → rank 1 in[0]",
		"3 copy rank 1 sc[0] → rank 2 out[0]"}},
	{"propagate copies", "a sum reads scratch that is not overwritten", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(1, 1), 1)
		b.reduce(sc(1, 1), in(0, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1)
		b.copy(sc(1, 1), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(1, 2), 1)
		b.reduce(sc(1, 2), in(0, 0), 1)
		b.copy(in(0, 0), sc(1, 0), 1) // so this is not added to, sc[1] is
		b.copy(sc(1, 2), out(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 copy rank 1 sc[0] → rank 1 sc[1]",
		"2 reduce rank 0 in[0] → rank 1 sc[1]",
		"3 copy rank 1 sc[0] → rank 2 sc[0]",
		"4 reduce rank 0 in[0] → rank 1 sc[2] with sc[1]",
		"5 copy rank 0 in[0] → rank 1 sc[0]",
		"6 copy rank 1 sc[2] → rank 2 out[0]"}},
	{"propagate copies", "an overwritten copy is no copy", func(b *builder) {
		b.copy(in(1, 0), sc(1, 0), 1)
		b.copy(in(0, 0), sc(1, 0), 1)
		b.reduce(sc(1, 0), in(2, 0), 1)
		b.copy(sc(1, 0), out(3, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 reduce rank 2 in[0] → rank 1 sc[0]",
		"2 copy rank 1 sc[0] → rank 3 out[0]"}},
	{"propagate copies", "the live part of a longer copy", func(b *builder) {
		b.p.Collective = begin(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 4}).p.Collective
		b.copy(in(0, 0), sc(0, 0), 4)
		b.copy(sc(0, 1), out(1, 0), 1)
		b.reduce(sc(0, 2), in(0, 2), 2) // within the rank
		b.copy(sc(0, 2), out(1, 1), 2)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 in[2:4] → rank 0 sc[2:4]",
		"1 copy rank 0 in[1] → rank 1 out[0]",
		"2 reduce rank 0 in[2:4] → rank 0 sc[2:4]",
		"3 copy rank 0 sc[2:4] → rank 1 out[1:3]"}},
	{"propagate copies", "contiguous references stay contiguous", func(b *builder) {
		b.p.Collective = begin(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 4}).p.Collective
		b.shuffle(in(0, 0), sc(0, 0), 2, 2, 1)
		b.copy(sc(0, 0), out(1, 0), 2)
		b.shuffle(in(2, 0), sc(2, 0), 2, 1, 2)
		b.shuffle(sc(2, 0), out(1, 2), 2, 2, 1)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 in[0:3:2] → rank 0 sc[0:2]",
		"1 copy rank 0 sc[0:2] → rank 1 out[0:2]",
		"2 copy rank 2 in[0:2] → rank 1 out[2:4]"}},
	{"propagate copies", "results and the caller's input are live", func(b *builder) {
		b.p.Collective = begin(collective.Spec{Name: "reducescatter", Ranks: 4, Chunks: 1, InPlace: true}).p.Collective
		b.copy(in(0, 1), sc(0, 0), 1)
		b.reduce(in(0, 1), in(1, 1), 1)
		b.copy(sc(0, 0), in(0, 1), 1) // as it was
		b.copy(in(2, 3), in(2, 2), 1)
		b.copy(in(2, 3), sc(2, 2), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[1] → rank 0 sc[0]",
		"1 reduce rank 1 in[1] → rank 0 in[1]",
		"2 copy rank 0 sc[0] → rank 0 in[1]",
		"3 copy rank 2 in[3] → rank 2 in[2]"}},

	{"sink copies", "received values and sums go to the copy's destination", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), out(1, 0), 1)
		b.copy(in(1, 0), sc(2, 0), 1)
		b.reduce(sc(2, 0), in(0, 0), 1)
		b.copy(sc(2, 0), out(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 out[0]",
		"1 copy rank 1 in[0] → rank 2 sc[0]",
		"2 reduce rank 0 in[0] → rank 2 out[0] with sc[0]"}},
	{"sink copies", "readers read the new place", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(2, 0), 1) // before
		b.copy(sc(1, 0), out(1, 0), 1)
		b.copy(sc(1, 0), sc(3, 0), 1) // after
		b.reduce(sc(1, 0), in(3, 0), 1)
		b.copy(sc(1, 0), sc(0, 0), 1) // not that any more
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 out[0]",
		"1 copy rank 1 out[0] → rank 2 sc[0]",
		"2 copy rank 1 out[0] → rank 3 sc[0]",
		"3 reduce rank 3 in[0] → rank 1 sc[0] with out[0]",
		"4 copy rank 1 sc[0] → rank 0 sc[0]"}},
	{"sink copies", "not to a destination with another reader or writer", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(in(0, 0), sc(1, 1), 1)
		b.copy(in(0, 0), sc(1, 2), 1)
		b.copy(sc(1, 5), sc(2, 0), 1) // read before
		b.copy(in(0, 0), sc(1, 6), 1) // written before
		b.copy(sc(1, 0), sc(1, 5), 1)
		b.copy(sc(1, 1), sc(1, 6), 1)
		b.copy(sc(1, 2), sc(1, 7), 1)
		b.copy(in(0, 0), sc(1, 7), 1) // written after
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 sc[0]",
		"1 copy rank 0 in[0] → rank 1 sc[1]",
		"2 copy rank 0 in[0] → rank 1 sc[2]",
		"3 copy rank 1 sc[5] → rank 2 sc[0]",
		"4 copy rank 0 in[0] → rank 1 sc[6]",
		"5 copy rank 1 sc[0] → rank 1 sc[5]",
		"6 copy rank 1 sc[1] → rank 1 sc[6]",
		"7 copy rank 1 sc[2] → rank 1 sc[7]",
		"8 copy rank 0 in[0] → rank 1 sc[7]"}},
	{"sink copies", "neither a result nor a local sum", func(b *builder) {
		b.copy(in(0, 0), out(1, 0), 1)
		b.copy(out(1, 0), sc(1, 0), 1)
		b.copy(in(0, 0), sc(2, 0), 1)
		b.reduce(sc(2, 0), in(2, 0), 1)
		b.copy(sc(2, 0), out(2, 0), 1)
	}, Options{}, []string{
		"0 copy rank 0 in[0] → rank 1 out[0]",
		"1 copy rank 1 out[0] → rank 1 sc[0]",
		"2 copy rank 0 in[0] → rank 2 sc[0]",
		"3 reduce rank 2 in[0] → rank 2 sc[0]",
		"4 copy rank 2 sc[0] → rank 2 out[0]"}},
	{"sink copies", "a message to several places, and several messages to one", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 4)
		b.copy(sc(1, 2), sc(1, 6), 2)
		b.copy(sc(1, 0), sc(1, 4), 2)
		b.copy(sc(0, 0), sc(2, 1), 1)
		b.copy(sc(0, 1), sc(2, 2), 2)
		b.copy(sc(2, 0), sc(2, 5), 4) // its first chunk is left
		b.copy(sc(0, 0), sc(3, 1), 1)
		b.copy(sc(3, 0), sc(3, 4), 3) // the one between is not enough
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 sc[0:4] → rank 1 sc[4:8]",
		"1 copy rank 0 sc[0] → rank 2 sc[6]",
		"2 copy rank 0 sc[1:3] → rank 2 sc[7:9]",
		"3 copy rank 2 sc[0] → rank 2 sc[5]",
		"4 copy rank 0 sc[0] → rank 3 sc[1]",
		"5 copy rank 3 sc[0:3] → rank 3 sc[4:7]"}},
	{"sink copies", "the rest of a longer copy", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 2)
		b.copy(sc(1, 0), sc(1, 4), 4)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 sc[0:2] → rank 1 sc[4:6]",
		"1 copy rank 1 sc[2:4] → rank 1 sc[6:8]"}},
	{"sink copies", "contiguous references stay contiguous", func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 2)
		b.shuffle(sc(1, 0), sc(1, 4), 2, 1, 2)
		b.shuffle(sc(0, 0), sc(2, 0), 2, 1, 2)
		b.shuffle(sc(2, 0), sc(2, 4), 2, 2, 1)
		b.copy(sc(0, 0), sc(3, 0), 2)
		b.copy(sc(3, 0), sc(0, 8), 2) // as one message
		b.copy(sc(3, 0), sc(3, 5), 1)
		b.copy(sc(3, 1), sc(3, 4), 1)
	}, Options{Disable: []string{"coarsen"}}, []string{
		"0 copy rank 0 sc[0:2] → rank 1 sc[0:2]",
		"1 copy rank 1 sc[0:2] → rank 1 sc[4:7:2]",
		"2 copy rank 0 sc[0:2] → rank 2 sc[4:6]",
		"3 copy rank 0 sc[0:2] → rank 3 sc[0:2]",
		"4 copy rank 3 sc[0:2] → rank 0 sc[8:10]",
		"5 copy rank 3 sc[0] → rank 3 sc[5]",
		"6 copy rank 3 sc[1] → rank 3 sc[4]"}},
	{"sink copies", "a chain of copies", func(b *builder) {
		b.copy(in(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(1, 1), 1)
		b.copy(sc(1, 1), sc(1, 2), 1)
		b.copy(sc(1, 2), out(1, 0), 1)
	}, Options{Disable: []string{"propagate copies"}}, []string{
		"0 copy rank 0 in[0] → rank 1 out[0]"}},
}
