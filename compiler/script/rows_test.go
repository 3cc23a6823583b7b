package script

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// free is a collective of 16 input chunks and 12 output chunks, one of them a sum, so
// that programs may reduce; any value is right in the others.
const free = `
collective(name = "x", input = 16, output = 12, want = lambda topo, rank, i: [(0, 0), (1, 0)] if i == 11 and rank == 1 else None)
family(name = "x", collectives = ["x"])

def program(topo, p):
    chunk(0, "in", 0).copy(1, "want", 0).reduce(chunk(1, "in", 0)).copy(1, "out", 11)
%s%s`

// sameProgram fails the test unless two bodies of a program trace the same operations.
func sameProgram(t interface {
	Helper()
	Fatalf(string, ...any)
}, m Machine, prepare, first, second string) {
	t.Helper()
	texts := [2]string{}
	for i, body := range [2]string{first, second} {
		src := fmt.Sprintf(free, prepare, body)
		p, err := loadAndRun("x.star", src, m)
		if err != nil {
			t.Fatalf("%v in\n%s", err, src)
		}
		var b strings.Builder
		for _, op := range p.Ops {
			fmt.Fprintln(&b, op.Kind, op.Src, op.Dst, op.Channel)
		}
		texts[i] = b.String()
	}
	if texts[0] != texts[1] || texts[0] == "" {
		t.Fatalf("%s%s\ntraces\n%s\nand%s\n%s", prepare, first, texts[0], second, texts[1])
	}
}

// TestRowsAreLoops: one call for many chunks traces what a loop over them does.
func TestRowsAreLoops(t *testing.T) {
	for _, c := range []struct{ name, row, loop string }{
		{"along ranks, copied", `
    c = chunk(0, "in", 2, 3).copy_along([1, (1, 0), 3], "sc", 4, ch = 1, stride = 2)
    c.copy(0, "out", 0)`, `
    c = chunk(0, "in", 2, 3)
    for r in [1, 2, 3]:
        c = c.copy(r, "sc", 4, ch = 1, stride = 2)
    c.copy(0, "out", 0)`},
		{"a row, reduced", `
    c = chunk(0, "in", 2, 3).copy(1, "sc", 0)
    c.reduce(chunk([0, 3, 0], "in", [4, 6, 8], 3), ch = 1).copy(0, "out", 0)`, `
    c = chunk(0, "in", 2, 3).copy(1, "sc", 0)
    for r, i in [(0, 4), (3, 6), (0, 8)]:
        c = c.reduce(chunk(r, "in", i, 3), ch = 1)
    c.copy(0, "out", 0)`},
		{"along ranks, reduced", `
    chunk(3, "sc", 1, 2).reduce_along([1, 0, 2], "sc", 5, stride = 3).copy(3, "out", 0)`, `
    c = chunk(3, "sc", 1, 2)
    for r in [1, 0, 2]:
        c = chunk(r, "sc", 5, 2, stride = 3).reduce(c)
    c.copy(3, "out", 0)`},
		{"along nobody", `
    chunk(0, "in", 0).copy_along([], "sc", 0).reduce_along([], "sc", 0).copy(1, "out", 0)`, `
    chunk(0, "in", 0).copy(1, "out", 0)`},
		{"onto itself on the way", `
    chunk(1, "sc", 2).copy_along([1, 2], "sc", 2)`, `
    chunk(1, "sc", 2).copy(2, "sc", 2)`},
		{"from several ranks, side by side", `
    chunk(topo.node(1), "in", 3, 2).copy(0, "out", 1)`, `
    for i, r in enumerate(topo.node(1)):
        chunk(r, "in", 3, 2).copy(0, "out", 1 + 2 * i)`},
		{"to several ranks", `
    chunk(0, "in", [4, 1, 2]).copy([1, 2, 3], "out", 7, ch = 0)`, `
    for i, k in enumerate([4, 1, 2]):
        chunk(0, "in", k).copy(i + 1, "out", 7, ch = 0)`},
		{"side by side, of several lengths", `
    chunk(0, "in", 1, [2, 1, 4]).copy(0, "out", [8, 7, 2])`, `
    chunk(0, "in", 1, 2).copy(0, "out", 8)
    chunk(0, "in", 3, 1).copy(0, "out", 7)
    chunk(0, "in", 4, 4).copy(0, "out", 2)`},
		{"strides", `
    chunk(0, "sc", 0, [2, 3], 2).copy(1, "out", 1, stride = 2)`, `
    chunk(0, "sc", 0, 2, 2).copy(1, "out", 1, stride = 2)
    chunk(0, "sc", 4, 3, 2).copy(1, "out", 5, stride = 2)`},
		{"a range, and a list turned round", `
    chunk(2, "in", range(12)).copy(2, "out", list(reversed(range(12))))`, `
    for i in range(12):
        chunk(2, "in", i).copy(2, "out", 11 - i)`},
		{"several reduced into several, and one of those taken", `
    w = chunk([0, 1, 2], "sc", [1, 2, 3], 2).reduce(chunk([3, 3, 0], "sc", [0, 4, 8], 2), ch = 2)
    for c in w:
        c.copy(3, "out", 2 * c.rank)
    w[len(w) - 1].copy(1, "out", 0)`, `
    for r, k, q, l in [(0, 1, 3, 0), (1, 2, 3, 4), (2, 3, 0, 8)]:
        chunk(r, "sc", k, 2).reduce(chunk(q, "sc", l, 2), ch = 2)
    for r in range(3):
        chunk(r, "sc", r + 1, 2).copy(3, "out", 2 * r)
    chunk(2, "sc", 3, 2).copy(1, "out", 0)`},
		{"what a copy gives", `
    chunk(0, "in", [0, 5]).copy([1, 2], "sc", 0).copy(3, "out", 0)`, `
    chunk(0, "in", 0).copy(1, "sc", 0)
    chunk(0, "in", 5).copy(2, "sc", 0)
    chunk(1, "sc", 0).copy(3, "out", 0)
    chunk(2, "sc", 0).copy(3, "out", 1)`},
		{"nothing", `
    chunk([], "in", 0).copy(0, "out", 0)
    chunk(0, "in", 0).copy(0, "out", 0)`, `
    chunk(0, "in", 0).copy(0, "out", 0)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			sameProgram(t, Even(2, 2), `
    for r in range(topo.ranks):
        chunk(r, "in", 0, 12).copy(r, "sc", 0)`, c.row, c.loop)
		})
	}
}

// TestRowsAreLoopsAtRandom does the same with random references whose sources and
// targets do not overlap.
func TestRowsAreLoopsAtRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "n")
		some := func(name string, least, most int) []int {
			return rapid.SliceOfN(rapid.IntRange(least, most), n, n).Draw(t, name)
		}
		one := func(name string) bool { return rapid.Bool().Draw(t, "one "+name) }
		ranks, counts, targets := some("ranks", 0, 3), some("counts", 1, 3), some("targets", 0, 3)
		indices, places := some("indices", 0, 9), some("places", 0, 20)
		text := func(list []int) string { return strings.ReplaceAll(fmt.Sprint(list), " ", ", ") }
		rank, index, count, target, place := text(ranks), text(indices), text(counts), text(targets), text(places)
		if one("count") {
			counts = slices.Repeat(counts[:1], n)
			count = fmt.Sprint(counts[0])
		}
		oneRank := one("rank")
		if oneRank {
			ranks = slices.Repeat(ranks[:1], n)
			rank = fmt.Sprint(ranks[0])
		}
		if one("index") {
			index = fmt.Sprint(indices[0] % 3)
			for i, next := 0, indices[0]%3; i < n; i++ {
				indices[i] = next
				if oneRank {
					next += counts[i]
				}
			}
		}
		oneTarget := one("target")
		if oneTarget {
			targets = slices.Repeat(targets[:1], n)
			target = fmt.Sprint(targets[0])
		}
		if one("place") {
			place = fmt.Sprint(places[0])
			for i, next := 0, places[0]; i < n; i++ {
				places[i] = next
				if oneTarget {
					next += counts[i]
				}
			}
		}
		if !strings.Contains(rank+index+count, "[") {
			rank = text(ranks) // one of them is a list
			for i := range indices {
				indices[i] = indices[0]
			}
		}
		row := fmt.Sprintf("\n    chunk(%s, \"in\", %s, %s).copy(%s, \"sc\", %s)", rank, index, count, target, place)
		loop := ""
		for i := range n {
			loop += fmt.Sprintf("\n    chunk(%d, \"in\", %d, %d).copy(%d, \"sc\", %d)", ranks[i], indices[i], counts[i], targets[i], places[i])
		}
		m := Even(1, 4)
		sameProgram(t, m, "    chunk(0, \"in\", 0).copy(1, \"out\", 0)", row, loop)
	})
}

// TestOneCallStops: a single call that makes or refers to too many operations or chunks
// is stopped before it ends.
func TestOneCallStops(t *testing.T) {
	for call, want := range map[string]string{
		`chunk(0, "in", 0, 1 << 16).copy_along([1, 2] * 15000, "sc", 0)`: "x.star:8:42: too many steps: ",
		`chunk(0, "in", [0] * 100000, 1 << 16)`:                          "x.star:8:10: too many steps: ",
	} {
		src := `
family(name = "x", collectives = ["allreduce"])

def chunks(topo, p):
    return 1 << 16

def program(topo, p):
    ` + call + `
`
		tpl, err := LoadApart("x.star", []byte(src), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Trace(Even(1, 8), Request{Collective: "allreduce", InPlace: true}, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want that there were too many steps, and where", call, err)
		}
	}

	// The watchman has stopped it, for whatever reason.
	pair, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{limits: usual, machine: Even(1, 2), trace: lang.NewTrace("x", pair)}
	why := "too long"
	s.stopped.Store(&why)
	o := &operations{s: s, th: &starlark.Thread{}, most: 1 << 20}
	for range checkInterval - 1 {
		if err := o.next(collective.In, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.next(collective.In, 0, 1); err == nil || err.Error() != why {
		t.Errorf("%v: want %s", err, why)
	}

	// Its steps are used up.
	o = &operations{s: &session{limits: usual, machine: Even(1, 2), trace: s.trace}, th: &starlark.Thread{Steps: 1 << 60}}
	if err := o.check(); err == nil || !strings.Contains(err.Error(), "too many steps") {
		t.Errorf("%v: want too many steps", err)
	}
}
