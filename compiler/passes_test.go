package compiler

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it anew); got\n%s", file, got)
	}
}

// dumps is the program after each pass.
func dumps(t *testing.T, p *lang.Program, o Options) map[string]string {
	t.Helper()
	all := map[string]string{}
	o.DumpAfter, o.CheckEachPass = "all", true
	o.Dump = func(pass, text string) { all[pass] = text }
	if _, err := Compile(p, o); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPassesOnARing shows a three-rank ring AllReduce after every pass.
func TestPassesOnARing(t *testing.T) {
	texts := dumps(t, ringAllReduce(3, 1), Options{})
	var b strings.Builder
	for _, p := range Passes() {
		fmt.Fprintf(&b, "== %s\n%s", p.Name, texts[p.Name])
	}
	golden(t, "ring3.txt", b.String())
}

// after compiles a program and gives the lines of one pass's dump, without those
// above the first operation, instruction or threadblock.
func after(t *testing.T, pass string, p *lang.Program, o Options) []string {
	t.Helper()
	text := strings.TrimSuffix(dumps(t, p, o)[pass], "\n")
	lines := strings.Split(text, "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return l[0] >= '0' && l[0] <= '9' || strings.HasPrefix(l, "rank ") })
	return lines[first:]
}

// scratchpad is a program that needs no meaning: in scratch, on four ranks, where
// no chunk is part of a result.
func scratchpad() *builder {
	return begin(collective.Spec{Name: "alltonext", Ranks: 4, Chunks: 1})
}

// TestEachPass is before and after, for what each pass does and for what it must
// not do.
func TestEachPass(t *testing.T) {
	strided := func(src, dst int) func(*builder) {
		return func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 3)
			o := &b.p.Ops[0]
			o.Src, o.Dst = b.span(sc(0, 0), 3, src), b.span(sc(1, 0), 3, dst)
		}
	}
	over := func(from, to, fromStride, toStride, n int) func(*builder) {
		return func(b *builder) {
			b.copy(sc(0, from), sc(0, to), n)
			o := &b.p.Ops[0]
			o.Src, o.Dst = b.span(sc(0, from), n, fromStride), b.span(sc(0, to), n, toStride)
		}
	}
	for _, c := range []struct {
		pass, name string
		write      func(*builder)
		opt        Options
		want       []string
	}{
		{"expand", "contiguous", strided(1, 1), Options{}, []string{
			"0 copy rank 0 sc[0:3] → rank 1 sc[0:3]"}},
		{"expand", "strided source", strided(2, 1), Options{}, []string{
			"0 copy rank 0 sc[0:5:2] → rank 1 sc[0:3]"}},
		{"expand", "strided destination", strided(1, 3), Options{}, []string{
			"0 copy rank 0 sc[0:3] → rank 1 sc[0:7:3]"}},
		{"expand", "between one another, sharing none", over(0, 1, 2, 2, 2), Options{}, []string{
			"0 copy rank 0 sc[0:3:2] → rank 0 sc[1:4:2]"}},
		{"expand", "overlapping upwards, last first", over(0, 1, 1, 1, 3), Options{}, []string{
			"0 copy rank 0 sc[2] → rank 0 sc[3]",
			"1 copy rank 0 sc[1] → rank 0 sc[2]",
			"2 copy rank 0 sc[0] → rank 0 sc[1]"}},
		{"expand", "overlapping downwards, first first", over(1, 0, 1, 1, 2), Options{}, []string{
			"0 copy rank 0 sc[1] → rank 0 sc[0]",
			"1 copy rank 0 sc[2] → rank 0 sc[1]"}},
		{"expand", "overlapping both ways", over(1, 0, 1, 2, 4), Options{}, []string{
			"0 copy rank 0 sc[4] → rank 0 sc[6]",
			"1 copy rank 0 sc[3] → rank 0 sc[4]",
			"2 copy rank 0 sc[1] → rank 0 sc[0]"}},
		{"expand", "onto itself", func(b *builder) {
			b.copy(sc(0, 0), sc(0, 0), 2)
			b.copy(sc(0, 0), sc(1, 0), 1)
		}, Options{}, []string{
			"0 copy rank 0 sc[0] → rank 1 sc[0]"}},

		{"parallelize", "a scope and what is outside it", func(b *builder) {
			b.channel = 1
			b.parallel(2, func() { b.copy(sc(0, 1), sc(1, 1), 1) })
			b.copy(sc(1, 0), sc(2, 0), 2)
		}, Options{}, []string{
			"0 copy rank 0 sc[2] → rank 1 sc[2] ch 1",
			"1 copy rank 0 sc[3] → rank 1 sc[3] ch 1 instance 1",
			"2 copy rank 1 sc[0:4] → rank 2 sc[0:4] ch 1"}},
		{"parallelize", "scopes in scopes, and of unlike factors", func(b *builder) {
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
		{"instances", "blocked: a strided reference where it stays even", func(b *builder) {
			b.p.Collective = begin(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 2}).p.Collective
			b.shuffle(out(0, 1), sc(1, 0), 3, 2, 1) // a chunk of each unit
			b.shuffle(out(0, 0), sc(2, 0), 3, 3, 1) // 0 of the first, 1 of the second, 0 of the fourth
		}, Options{Instances: 2, Blocked: true}, []string{
			"0 copy rank 0 out[1:10:4] → rank 1 sc[0:3]",
			"1 copy rank 0 out[3:12:4] → rank 1 sc[3:6] instance 1",
			"2 copy rank 0 out[0:6:5] → rank 2 sc[0:2]",
			"3 copy rank 0 out[12] → rank 2 sc[2]",
			"4 copy rank 0 out[2:8:5] → rank 2 sc[3:5] instance 1",
			"5 copy rank 0 out[14] → rank 2 sc[5] instance 1"}},
		{"instances", "short and long references", func(b *builder) {
			b.copy(sc(0, 1), sc(1, 1), 1)
			b.copy(sc(1, 0), sc(2, 0), 2)
		}, Options{Instances: 2}, []string{
			"0 copy rank 0 sc[2] → rank 1 sc[2]",
			"1 copy rank 0 sc[3] → rank 1 sc[3] instance 1",
			"2 copy rank 1 sc[0:2] → rank 2 sc[0:2]",
			"3 copy rank 1 sc[2:4] → rank 2 sc[2:4] instance 1"}},

		{"instances", "blocked: short and long references alike", func(b *builder) {
			b.copy(sc(0, 1), sc(1, 1), 1)
			b.copy(sc(1, 0), sc(2, 0), 2)
		}, Options{Instances: 2, Blocked: true}, []string{
			"0 copy rank 0 sc[1] → rank 1 sc[1]",
			"1 copy rank 0 sc[3] → rank 1 sc[3] instance 1",
			"2 copy rank 1 sc[0:2] → rank 2 sc[0:2]",
			"3 copy rank 1 sc[2:4] → rank 2 sc[2:4] instance 1"}},
		{"instances", "blocked: cut between units", func(b *builder) {
			b.p.Collective = begin(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 2}).p.Collective
			b.copy(out(0, 1), sc(1, 0), 4)
		}, Options{Instances: 2, Blocked: true}, []string{
			"0 copy rank 0 out[1] → rank 1 sc[0]",
			"1 copy rank 0 out[4:6] → rank 1 sc[1:3]",
			"2 copy rank 0 out[8] → rank 1 sc[3]",
			"3 copy rank 0 out[3] → rank 1 sc[4] instance 1",
			"4 copy rank 0 out[6:8] → rank 1 sc[5:7] instance 1",
			"5 copy rank 0 out[10] → rank 1 sc[7] instance 1"}},

		{"coarsen", "a shared factor", func(b *builder) {
			b.p.Collective = b.p.Collective.Times(4)
			b.copy(sc(0, 6), sc(1, 0), 4)
			b.copy(sc(0, 2), sc(1, 4), 2)
		}, Options{}, []string{
			"0 copy rank 0 sc[3:5] → rank 1 sc[0:2]",
			"1 copy rank 0 sc[1] → rank 1 sc[2]"}},
		{"coarsen", "not where chunks lie between others", func(b *builder) {
			b.p.Collective = b.p.Collective.Times(4)
			b.shuffle(sc(0, 0), sc(1, 0), 4, 2, 2)
		}, Options{}, []string{
			"0 copy rank 0 sc[0:7:2] → rank 1 sc[0:7:2]"}},
		{"coarsen", "none", func(b *builder) {
			b.p.Collective = b.p.Collective.Times(4)
			b.copy(sc(0, 6), sc(1, 0), 4)
			b.copy(sc(0, 3), sc(1, 4), 2)
		}, Options{}, []string{
			"0 copy rank 0 sc[6:10] → rank 1 sc[0:4]",
			"1 copy rank 0 sc[3:5] → rank 1 sc[4:6]"}},

		{"forward", "what arrives is added to what was copied", func(b *builder) {
			b.copy(in(1, 0), sc(1, 0), 1)
			b.reduce(sc(1, 0), in(0, 0), 1)
			b.copy(sc(1, 0), out(2, 0), 1)
		}, Options{}, []string{
			"0 reduce rank 0 in[0] → rank 1 sc[0] with in[0]",
			"1 copy rank 1 sc[0] → rank 2 out[0]"}},
		{"forward", "sent, copied again and added from where it was copied", func(b *builder) {
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
		{"forward", "not what is overwritten after, nor out of scratch", func(b *builder) {
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
		{"forward", "what waits for a sum may overwrite what it adds to", func(b *builder) {
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
		{"forward", "what does not wait for a sum may not", func(b *builder) {
			b.copy(in(1, 0), sc(1, 0), 1)
			b.reduce(sc(1, 0), in(0, 0), 1)
			b.copy(in(2, 0), in(1, 0), 1)
			b.copy(sc(1, 0), out(2, 0), 1)
		}, Options{}, []string{
			"0 copy rank 1 in[0] → rank 1 sc[0]",
			"1 reduce rank 0 in[0] → rank 1 sc[0]",
			"2 copy rank 2 in[0] → rank 1 in[0]",
			"3 copy rank 1 sc[0] → rank 2 out[0]"}},
		{"forward", "a sum takes the place of a copy of scratch that stays as it is", func(b *builder) {
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
		{"forward", "a copy that was overwritten is one no more", func(b *builder) {
			b.copy(in(1, 0), sc(1, 0), 1)
			b.copy(in(0, 0), sc(1, 0), 1)
			b.reduce(sc(1, 0), in(2, 0), 1)
			b.copy(sc(1, 0), out(3, 0), 1)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 reduce rank 2 in[0] → rank 1 sc[0]",
			"2 copy rank 1 sc[0] → rank 3 out[0]"}},
		{"forward", "what is left of a longer copy", func(b *builder) {
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
		{"forward", "side by side stays so, apart may come together", func(b *builder) {
			b.p.Collective = begin(collective.Spec{Name: "allgather", Ranks: 4, Chunks: 4}).p.Collective
			b.shuffle(in(0, 0), sc(0, 0), 2, 2, 1)
			b.copy(sc(0, 0), out(1, 0), 2)
			b.shuffle(in(2, 0), sc(2, 0), 2, 1, 2)
			b.shuffle(sc(2, 0), out(1, 2), 2, 2, 1)
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 copy rank 0 in[0:3:2] → rank 0 sc[0:2]",
			"1 copy rank 0 sc[0:2] → rank 1 out[0:2]",
			"2 copy rank 2 in[0:2] → rank 1 out[2:4]"}},
		{"forward", "results and the caller's input are looked at", func(b *builder) {
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

		{"deliver", "what arrives and what is summed up goes where it is wanted", func(b *builder) {
			b.copy(in(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), out(1, 0), 1)
			b.copy(in(1, 0), sc(2, 0), 1)
			b.reduce(sc(2, 0), in(0, 0), 1)
			b.copy(sc(2, 0), out(2, 0), 1)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 out[0]",
			"1 copy rank 1 in[0] → rank 2 sc[0]",
			"2 reduce rank 0 in[0] → rank 2 out[0] with sc[0]"}},
		{"deliver", "who reads it finds it there", func(b *builder) {
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
		{"deliver", "not where anything was, nor is to be", func(b *builder) {
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
		{"deliver", "not a result, nor a sum within the rank", func(b *builder) {
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
		{"deliver", "in pieces, and several in one piece", func(b *builder) {
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
		{"deliver", "what remains of a longer copy", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 2)
			b.copy(sc(1, 0), sc(1, 4), 4)
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 copy rank 0 sc[0:2] → rank 1 sc[4:6]",
			"1 copy rank 1 sc[2:4] → rank 1 sc[6:8]"}},
		{"deliver", "side by side stays so, apart may come together", func(b *builder) {
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
		{"deliver", "copied over and over", func(b *builder) {
			b.copy(in(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(1, 1), 1)
			b.copy(sc(1, 1), sc(1, 2), 1)
			b.copy(sc(1, 2), out(1, 0), 1)
		}, Options{Disable: []string{"forward"}}, []string{
			"0 copy rank 0 in[0] → rank 1 out[0]"}},
		{"scratch", "what is added to has a place of its own", func(b *builder) {
			b.copy(in(0, 0), sc(1, 2), 1)
			b.reduce(sc(1, 2), in(0, 0), 1)
			b.copy(sc(1, 2), sc(1, 4), 1)
			b.copy(sc(1, 4), sc(2, 0), 1)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 reduce rank 0 in[0] → rank 1 sc[1] with sc[0] after | 0",
			"2 copy rank 1 sc[1] → rank 2 sc[0] after 1 |"}},
		{"chunk dag", "what is added to elsewhere", func(b *builder) {
			b.copy(in(3, 0), out(1, 0), 1)
			b.copy(out(1, 0), sc(1, 0), 1)
			b.reduce(sc(1, 0), in(2, 0), 1)
			b.copy(sc(1, 0), out(2, 0), 1)
		}, Options{}, []string{
			"0 copy rank 3 in[0] → rank 1 out[0] result",
			"1 reduce rank 2 in[0] → rank 1 sc[0] with out[0] after | 0",
			"2 copy rank 1 sc[0] → rank 2 out[0] after 1 | result"}},
		{"chunk dag", "true and false dependencies", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 2)
			b.copy(sc(1, 1), sc(2, 0), 1)   // reads what 0 wrote
			b.copy(sc(0, 2), sc(1, 1), 1)   // overwrites what 1 read
			b.reduce(sc(1, 0), sc(1, 1), 1) // reads and writes 0's, reads 2's
			b.copy(sc(0, 0), sc(1, 0), 2)   // overwrites all that
		}, Options{}, []string{
			"0 copy rank 0 sc[0:2] → rank 1 sc[0:2]",
			"1 copy rank 1 sc[1] → rank 2 sc[0] after 0 |",
			"2 copy rank 0 sc[2] → rank 1 sc[1] after | 1",
			"3 reduce rank 1 sc[1] → rank 1 sc[0] after 2 | 0",
			"4 copy rank 0 sc[0:2] → rank 1 sc[0:2] after | 3"}},

		{"chunk dag", "of the chunks that are touched, and no others", func(b *builder) {
			b.shuffle(sc(0, 0), sc(1, 0), 2, 1, 2) // writes 0 and 2
			b.shuffle(sc(0, 2), sc(1, 1), 2, 1, 2) // writes 1 and 3
			b.copy(sc(1, 1), sc(2, 0), 1)
			b.copy(sc(1, 2), sc(3, 0), 2)
			b.shuffle(sc(0, 4), sc(1, 0), 2, 1, 3) // overwrites 0, and 3 that 3 read
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 copy rank 0 sc[0:2] → rank 1 sc[0:3:2]",
			"1 copy rank 0 sc[2:4] → rank 1 sc[1:4:2]",
			"2 copy rank 1 sc[1] → rank 2 sc[0] after 1 |",
			"3 copy rank 1 sc[2:4] → rank 3 sc[0:2] after 0 1 |",
			"4 copy rank 0 sc[4:6] → rank 1 sc[0:4:3] after | 0 3"}},

		{"scratch", "used again when all is done", func(b *builder) {
			b.copy(in(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(0, 0), 1)
			b.copy(sc(0, 0), sc(1, 1), 1) // after the answer: sc[0] is free
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 copy rank 1 sc[0] → rank 0 sc[0] after 0 |",
			"2 copy rank 0 sc[0] → rank 1 sc[0] after 1 | 1"}},
		{"scratch", "not where nothing says that it is done", func(b *builder) {
			b.copy(in(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), out(2, 0), 1)
			b.copy(in(0, 0), sc(1, 1), 1)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 copy rank 1 sc[0] → rank 2 out[0] after 0 | result",
			"2 copy rank 0 in[0] → rank 1 sc[1]"}},
		{"scratch", "side by side, and down over what nobody touches", func(b *builder) {
			b.copy(in(0, 0), sc(1, 4), 1)
			b.copy(in(2, 0), sc(1, 5), 1)
			b.copy(sc(1, 4), sc(0, 0), 2)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 copy rank 2 in[0] → rank 1 sc[1]",
			"2 copy rank 1 sc[0:2] → rank 0 sc[0:2] after 0 1 |"}},
		{"scratch", "what is read before it is written stays", func(b *builder) {
			b.copy(sc(1, 2), out(0, 0), 1)
			b.copy(sc(0, 0), sc(1, 5), 3)
		}, Options{}, []string{
			"0 copy rank 1 sc[2] → rank 0 out[0]",
			"1 copy rank 0 sc[0:3] → rank 1 sc[3:6]"}},
		{"scratch", "reductions need what is there", func(b *builder) {
			b.copy(in(0, 0), sc(1, 0), 1)
			b.reduce(sc(1, 0), in(0, 0), 1)
			b.copy(sc(1, 0), sc(0, 0), 1)
			b.copy(sc(0, 0), sc(1, 1), 1)
			b.reduce(sc(1, 1), in(2, 0), 1)
		}, Options{}, []string{
			"0 copy rank 0 in[0] → rank 1 sc[0]",
			"1 reduce rank 0 in[0] → rank 1 sc[0] after | 0",
			"2 copy rank 1 sc[0] → rank 0 sc[0] after 1 |",
			"3 copy rank 0 sc[0] → rank 1 sc[0] after 2 | 2",
			"4 reduce rank 2 in[0] → rank 1 sc[0] after | 3"}},

		{"instructions", "places are local (defect B)", func(b *builder) {
			b.reduce(sc(1, 3), sc(0, 0), 1)
			b.reduce(sc(1, 0), sc(1, 3), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1 rrc  rank 1 sc[3] ← 0",
			"2 re   rank 1 sc[3] ⇒ sc[0] after 1"}},

		{"fuse rcs", "the send with the longest way to go", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(2, 0), 1)
			b.copy(sc(1, 0), sc(3, 0), 1)
			b.copy(sc(3, 0), sc(3, 1), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1+4 rcs  rank 1 sc[0] ← 0 → 3",
			"2 s    rank 1 sc[0] → 2 after 1",
			"3 r    rank 2 sc[0] ← 1",
			"5 r    rank 3 sc[0] ← 1",
			"6 cpy  rank 3 sc[0] ⇒ sc[1] after 5"}},
		{"fuse rcs", "the same chunks only (defect D)", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 2)
			b.copy(sc(0, 0), sc(1, 2), 1)
			b.copy(sc(1, 1), sc(2, 0), 2)
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 s    rank 0 sc[0:2] → 1",
			"1 r    rank 1 sc[0:2] ← 0",
			"2 s    rank 0 sc[0] → 1",
			"3 r    rank 1 sc[2] ← 0",
			"4 s    rank 1 sc[1:3] → 2 after 1 3",
			"5 r    rank 2 sc[0:2] ← 1"}},
		{"fuse rcs", "strided, as it was stored", func(b *builder) {
			b.shuffle(sc(0, 0), sc(1, 0), 2, 1, 2)
			b.shuffle(sc(1, 0), sc(2, 0), 2, 2, 1)
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 s    rank 0 sc[0:2] → 1",
			"1+2 rcs  rank 1 sc[0:3:2] ← 0 → 2",
			"3 r    rank 2 sc[0:2] ← 1"}},
		{"fuse rcs", "not at another stride", func(b *builder) {
			b.shuffle(sc(0, 0), sc(1, 0), 3, 1, 1)
			b.shuffle(sc(1, 0), sc(2, 0), 2, 2, 1)
		}, Options{Disable: []string{"coarsen"}}, []string{
			"0 s    rank 0 sc[0:3] → 1",
			"1 r    rank 1 sc[0:3] ← 0",
			"2 s    rank 1 sc[0:3:2] → 2 after 1",
			"3 r    rank 2 sc[0:2] ← 1"}},
		{"fuse rcs", "not part of them", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 2)
			b.copy(sc(1, 0), sc(2, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0:2] → 1",
			"1 r    rank 1 sc[0:2] ← 0",
			"2 s    rank 1 sc[0] → 2 after 1",
			"3 r    rank 2 sc[0] ← 1"}},
		{"fuse rcs", "not when written over in between", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 1), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(2, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1 r    rank 1 sc[0] ← 0",
			"2 cpy  rank 1 sc[1] ⇒ sc[0] after 1",
			"3 s    rank 1 sc[0] → 2 after 2",
			"4 r    rank 2 sc[0] ← 1"}},
		{"fuse rcs", "whatever the remote place is called (defect A)", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 5), 1)
			b.copy(sc(1, 5), sc(2, 2), 1)
		}, Options{Disable: []string{"scratch"}}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1+2 rcs  rank 1 sc[5] ← 0 → 2",
			"3 r    rank 2 sc[2] ← 1"}},
		{"fuse rcs", "not across different directives, even far apart", func(b *builder) {
			b.channel = 0
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.channel = none
			b.copy(sc(1, 0), sc(2, 0), 1)
			b.channel = 1
			b.copy(sc(2, 0), sc(3, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1 ch 0",
			"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0|-",
			"3 r    rank 2 sc[0] ← 1",
			"4 s    rank 2 sc[0] → 3 ch 1 after 3",
			"5 r    rank 3 sc[0] ← 2 ch 1"}},
		{"fuse rcs", "not across instances", func(b *builder) {
			b.parallel(2, func() { b.copy(sc(0, 0), sc(1, 0), 1) })
			b.copy(sc(1, 0), sc(2, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1 r    rank 1 sc[0] ← 0",
			"2 s    rank 0 sc[1] → 1 instance 1",
			"3 r    rank 1 sc[1] ← 0 instance 1",
			"4 s    rank 1 sc[0:2] → 2 after 1 3",
			"5 r    rank 2 sc[0:2] ← 1"}},

		{"fuse rrs", "stored for nobody", func(b *builder) {
			b.reduce(sc(1, 0), sc(0, 0), 1)
			b.copy(sc(1, 0), sc(2, 0), 1)
			b.copy(sc(0, 0), sc(1, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1+2 rrs  rank 1 sc[0] ← 0 → 2",
			"3 r    rank 2 sc[0] ← 1",
			"4 s    rank 0 sc[0] → 1",
			"5 r    rank 1 sc[0] ← 0 after 2"}},
		{"fuse rrs", "read again", func(b *builder) {
			b.reduce(sc(1, 0), sc(0, 0), 1)
			b.copy(sc(1, 0), sc(2, 0), 1)
			b.copy(sc(1, 0), sc(1, 1), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1+2 rrcs rank 1 sc[0] ← 0 → 2",
			"3 r    rank 2 sc[0] ← 1",
			"4 cpy  rank 1 sc[0] ⇒ sc[1] after 1"}},
		{"fuse rrs", "half of it overwritten (defect C)", func(b *builder) {
			b.reduce(sc(1, 0), sc(0, 0), 2)
			b.copy(sc(1, 0), sc(2, 0), 2)
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(3, 0), 2)
		}, Options{}, []string{
			"0 s    rank 0 sc[0:2] → 1",
			"1+2 rrcs rank 1 sc[0:2] ← 0 → 2",
			"3 r    rank 2 sc[0:2] ← 1",
			"4 s    rank 0 sc[0] → 1",
			"5 r    rank 1 sc[0] ← 0 after 2",
			"6 s    rank 1 sc[0:2] → 3 after 5 1",
			"7 r    rank 3 sc[0:2] ← 1"}},
		{"fuse rrs", "part of the result", func(b *builder) {
			b.reduce(out(1, 0), sc(0, 0), 1)
			b.copy(out(1, 0), sc(2, 0), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1",
			"1+2 rrcs rank 1 out[0] ← 0 → 2 result",
			"3 r    rank 2 sc[0] ← 1"}},
		{"fuse rrs", "of the result, but the collective wants none there", func(b *builder) {
			b.reduce(out(0, 0), sc(1, 0), 1) // rank 0 of AllToNext
			b.copy(out(0, 0), sc(2, 0), 1)
		}, Options{}, []string{
			"0 s    rank 1 sc[0] → 0",
			"1+2 rrs  rank 0 out[0] ← 1 → 2",
			"3 r    rank 2 sc[0] ← 0"}},

		{"channels", "a pair of connections is taken", func(b *builder) {
			for to := range 2 {
				b.copy(sc(0, to), sc(1, to), 1)
				b.copy(sc(1, to), sc(2+to, 0), 1)
			}
			b.copy(sc(0, 2), sc(1, 2), 1)
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1 ch 0",
			"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0",
			"3 r    rank 2 sc[0] ← 1 ch 0",
			"4 s    rank 0 sc[1] → 1 ch 1",
			"5+6 rcs  rank 1 sc[1] ← 0 → 3 ch 1",
			"7 r    rank 3 sc[0] ← 1 ch 1",
			"8 s    rank 0 sc[2] → 1 ch 0",
			"9 r    rank 1 sc[2] ← 0 ch 0"}},
		{"channels", "no channel left: one is taken apart", func(b *builder) {
			for to := range 2 {
				b.copy(sc(0, to), sc(1, to), 1)
				b.copy(sc(1, to), sc(2+to, 0), 1)
			}
		}, Options{MaxChannels: 1}, []string{
			"0 s    rank 0 sc[0] → 1 ch 0",
			"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0",
			"3 r    rank 2 sc[0] ← 1 ch 0",
			"4 s    rank 0 sc[1] → 1 ch 0",
			"5 r    rank 1 sc[1] ← 0 ch 0",
			"6 s    rank 1 sc[1] → 3 ch 0 after 5",
			"7 r    rank 3 sc[0] ← 1 ch 0"}},
		{"channels", "directives stand, and the fusion goes", func(b *builder) {
			b.channel = 3
			for to := range 2 {
				b.copy(sc(0, to), sc(1, to), 1)
				b.copy(sc(1, to), sc(2+to, 0), 1)
			}
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1 ch 3",
			"1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 3",
			"3 r    rank 2 sc[0] ← 1 ch 3",
			"4 s    rank 0 sc[1] → 1 ch 3",
			"5 r    rank 1 sc[1] ← 0 ch 3",
			"6 s    rank 1 sc[1] → 3 ch 3 after 5",
			"7 r    rank 3 sc[0] ← 1 ch 3"}},
		{"channels", "instances have their own, in the gaps", func(b *builder) {
			b.channel = 1
			b.parallel(2, func() { b.copy(sc(0, 0), sc(1, 0), 1) })
			b.channel = 3
			b.copy(sc(1, 0), sc(2, 0), 1)
		}, Options{Instances: 2}, []string{
			"0 s    rank 0 sc[0] → 1 ch 1",
			"1 r    rank 1 sc[0] ← 0 ch 1",
			"2 s    rank 0 sc[1] → 1 ch 2 instance 2",
			"3 r    rank 1 sc[1] ← 0 ch 2 instance 2",
			"4 s    rank 0 sc[2] → 1 ch 0 instance 1",
			"5 r    rank 1 sc[2] ← 0 ch 0 instance 1",
			"6 s    rank 0 sc[3] → 1 ch 3 instance 3",
			"7 r    rank 1 sc[3] ← 0 ch 3 instance 3",
			"8 s    rank 1 sc[0:2] → 2 ch 3 after 1 3",
			"9 r    rank 2 sc[0:2] ← 1 ch 3",
			"10 s    rank 1 sc[2:4] → 2 ch 0 instance 2 after 5 7",
			"11 r    rank 2 sc[2:4] ← 1 ch 0 instance 2"}},

		{"order", "no more sends ahead than there are slots (defect F)", func(b *builder) {
			for i := range 3 {
				b.copy(sc(0, i), sc(1, i), 1)
			}
		}, Options{}, []string{
			"0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 1",
			"2 s    rank 0 sc[1] → 1 ch 0 depth 0 of 1",
			"1 r    rank 1 sc[0] ← 0 ch 0 depth 1 of 1",
			"4 s    rank 0 sc[2] → 1 ch 0 depth 0 of 1",
			"3 r    rank 1 sc[1] ← 0 ch 0 depth 1 of 1",
			"5 r    rank 1 sc[2] ← 0 ch 0 depth 1 of 1"}},
		{"order", "more calls than slots go through at once", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 3)
			b.copy(sc(1, 3), sc(0, 3), 3)
		}, Options{CallPerChunk: true}, []string{
			"0 s    rank 0 sc[0:3] → 1 ch 0 depth 0 of 1",
			"1 r    rank 1 sc[0:3] ← 0 ch 0 depth 1 of 1",
			"2 s    rank 1 sc[3:6] → 0 ch 0 depth 0 of 1",
			"3 r    rank 0 sc[3:6] ← 1 ch 0 depth 1 of 1"}},

		{"synchronise", "what is implied is not waited for", func(b *builder) {
			b.copy(sc(1, 0), sc(0, 0), 1) // 0, 1: arrives in its threadblock
			b.copy(sc(0, 0), sc(2, 0), 1) // another sends it on: a wait
			b.copy(sc(0, 0), sc(2, 1), 1) // the same one, again: none
			b.copy(sc(3, 0), sc(0, 0), 1) // overwrites: waits for the sends, the later one
		}, Options{Disable: []string{"fuse rcs"}}, []string{
			"rank 0 tb 0 ← 1 ch 0",
			"  1 r    rank 0 sc[0] ← 1 ch 0 depth 1 of 3 at 1",
			"rank 0 tb 1 ← 3 ch 0",
			"  7 r    rank 0 sc[0] ← 3 ch 0 depth 3 of 3 after 4 2 waits 4 at 7",
			"rank 0 tb 2 → 2 ch 0",
			"  2 s    rank 0 sc[0] → 2 ch 0 depth 2 of 3 after 1 waits 1 at 2",
			"  4 s    rank 0 sc[0] → 2 ch 0 depth 2 of 3 after 1 at 3",
			"rank 1 tb 0 → 0 ch 0",
			"  0 s    rank 1 sc[0] → 0 ch 0 depth 0 of 3 at 0",
			"rank 2 tb 0 ← 0 ch 0",
			"  3 r    rank 2 sc[0] ← 0 ch 0 depth 3 of 3 at 5",
			"  5 r    rank 2 sc[1] ← 0 ch 0 depth 3 of 3 at 6",
			"rank 3 tb 0 → 0 ch 0",
			"  6 s    rank 3 sc[0] → 0 ch 0 depth 0 of 1 at 4"}},
		{"synchronise", "an answer implies the question", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(1, 1), 1)
			b.copy(sc(1, 1), sc(0, 0), 1)
		}, Options{}, []string{
			"rank 0 tb 0 ← 1 ch 0",
			"  4 r    rank 0 sc[0] ← 1 ch 0 depth 4 of 4 after 0 at 4",
			"rank 0 tb 1 → 1 ch 0",
			"  0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 4 at 0",
			"rank 1 tb 0 ← 0 ch 0",
			"  1 r    rank 1 sc[0] ← 0 ch 0 depth 1 of 4 at 1",
			"rank 1 tb 1 → 0 ch 0",
			"  2 cpy  rank 1 sc[0] ⇒ sc[1] depth 2 of 4 after 1 waits 1 at 2",
			"  3 s    rank 1 sc[1] → 0 ch 0 depth 3 of 4 after 2 at 3"}},
		{"threadblocks", "one-sided instructions share; local ones go to the idlest", func(b *builder) {
			b.copy(sc(0, 0), sc(1, 0), 1)
			b.copy(sc(1, 0), sc(2, 0), 1)
			b.copy(sc(0, 1), sc(1, 1), 1)
			b.copy(sc(1, 2), sc(3, 0), 1)
			b.copy(sc(1, 3), sc(1, 4), 1)
			b.copy(sc(3, 1), sc(3, 2), 1)
		}, Options{}, []string{
			"rank 0 tb 0 → 1 ch 0",
			"  0 s    rank 0 sc[0] → 1 ch 0 depth 0 of 2 at 0",
			"  4 s    rank 0 sc[1] → 1 ch 0 depth 0 of 1 at 1",
			"rank 1 tb 0 → 2 ← 0 ch 0",
			"  8 cpy  rank 1 sc[3] ⇒ sc[4] depth 0 of 0 at 3",
			"  1+2 rcs  rank 1 sc[0] ← 0 → 2 ch 0 depth 1 of 2 at 5",
			"  5 r    rank 1 sc[1] ← 0 ch 0 depth 1 of 1 at 6",
			"rank 1 tb 1 → 3 ch 0",
			"  6 s    rank 1 sc[2] → 3 ch 0 depth 0 of 1 at 2",
			"rank 2 tb 0 ← 1 ch 0",
			"  3 r    rank 2 sc[0] ← 1 ch 0 depth 2 of 2 at 8",
			"rank 3 tb 0 ← 1 ch 0",
			"  9 cpy  rank 3 sc[1] ⇒ sc[2] depth 0 of 0 at 4",
			"  7 r    rank 3 sc[0] ← 1 ch 0 depth 1 of 1 at 7"}},
	} {
		t.Run(c.pass+"/"+c.name, func(t *testing.T) {
			b := scratchpad()
			c.write(b)
			for _, p := range []string{"forward", "deliver"} {
				if c.pass != p && !strings.HasPrefix(c.name, "what is added to") {
					c.opt.Disable = append(c.opt.Disable, p) // most copies here are for nobody
				}
			}
			got := after(t, c.pass, &b.p, c.opt)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
