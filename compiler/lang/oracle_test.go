package lang

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

// bags is the plainest model of a chunk program: every place holds a sorted
// list of the input chunks summed in it.
type bags map[string][]string

func key(rank int, b collective.Buffer, index int) string {
	return fmt.Sprintf("%d %v %d", rank, b, index)
}

func spanKey(s Span) string { return key(int(s.Rank), s.Buf, int(s.Index)) }

// initial returns the precondition.
func initial(c collective.Collective) bags {
	m := bags{}
	for r := range c.Ranks {
		for i := range c.InChunks(r) {
			b, at := c.Place(r, collective.In, i)
			m[key(r, b, at)] = []string{key(r, collective.In, i)}
		}
	}
	return m
}

// right reports whether the postcondition holds.
func (m bags) right(c collective.Collective) bool {
	for r := range c.Ranks {
		for i := range c.OutChunks(r) {
			b, at := c.Place(r, collective.Out, i)
			var want []string
			switch w := c.Want(r, i); w.Kind {
			case collective.WantNothing:
				continue
			case collective.WantInput:
				want = []string{key(w.Rank, collective.In, w.Index)}
			case collective.WantReduction:
				for q := range c.Ranks {
					want = append(want, key(q, collective.In, w.Index))
				}
			}
			slices.Sort(want)
			if !slices.Equal(m[key(r, b, at)], want) {
				return false
			}
		}
	}
	return true
}

// TestRandomProgramsAgreeWithBags writes random programs, most of them wrong
// and some of them right (a right ending is forced on half of them), and
// compares every reference that is refused and the final verdict with a model
// that shares nothing with the trace.
func TestRandomProgramsAgreeWithBags(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		spec := collective.Spec{
			Name:   rapid.SampledFrom([]string{"allreduce", "reduce", "reducescatter", "allgather", "broadcast", "alltoall"}).Draw(t, "collective"),
			Ranks:  rapid.IntRange(1, 4).Draw(t, "ranks"),
			Chunks: rapid.IntRange(1, 3).Draw(t, "chunks"),
		}
		spec.InPlace = spec.Name != "alltoall" && rapid.Bool().Draw(t, "in place")
		c, err := collective.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		tr, model := NewTrace("test", c), initial(c)
		step := func(src, dst [3]int, reduce bool) {
			from, err1 := tr.Chunk(src[0], collective.Buffer(src[1]), src[2], 1, 1)
			if err1 != nil {
				return
			}
			at := spanKey(from.Span())
			if model[at] == nil {
				t.Fatalf("%s is empty, and was referred to", at)
			}
			if reduce {
				onto, err := tr.Chunk(dst[0], collective.Buffer(dst[1]), dst[2], 1, 1)
				if err != nil {
					return
				}
				if onto, err = onto.Reduce(from, -1); err != nil {
					return
				}
				to := spanKey(onto.Span())
				model[to] = append(slices.Clone(model[to]), model[at]...)
				slices.Sort(model[to])
				return
			}
			onto, err := from.Copy(dst[0], collective.Buffer(dst[1]), dst[2], -1)
			if err != nil {
				return
			}
			model[spanKey(onto.Span())] = model[at]
		}
		place := func(name string) [3]int {
			return [3]int{
				rapid.IntRange(0, spec.Ranks-1).Draw(t, name+" rank"),
				rapid.IntRange(0, 2).Draw(t, name+" buffer"),
				rapid.IntRange(0, c.LoopChunks()-1).Draw(t, name+" index"),
			}
		}
		if rapid.Bool().Draw(t, "right") {
			rightly(c, step)
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			step(place("from"), place("to"), rapid.Bool().Draw(t, "reduce"))
		}
		_, err = tr.Finish()
		if (err == nil) != model.right(c) {
			t.Fatalf("%+v: finished with %v, the model says %v", spec, err, model.right(c))
		}
		if err != nil && !strings.Contains(err.Error(), "wrong result") {
			t.Fatalf("finished with %v", err)
		}
		verdicts[err == nil]++
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("verdicts %v: want both", verdicts)
	}
}

// rightly writes a right program: what every output chunk wants is brought
// together in scratch, output after output, and then put in place.
func rightly(c collective.Collective, step func(src, dst [3]int, reduce bool)) {
	const in, out, sc = int(collective.In), int(collective.Out), int(collective.Scratch)
	slot := func(i int) int { return i }
	for _, final := range []bool{false, true} {
		for r := range c.Ranks {
			for i := range c.OutChunks(r) {
				w := c.Want(r, i)
				switch {
				case final && w.Kind != collective.WantNothing:
					step([3]int{r, sc, slot(i)}, [3]int{r, out, i}, false)
				case w.Kind == collective.WantInput:
					step([3]int{w.Rank, in, w.Index}, [3]int{r, sc, slot(i)}, false)
				case w.Kind == collective.WantReduction:
					for q := range c.Ranks {
						step([3]int{q, in, w.Index}, [3]int{r, sc, slot(i)}, q > 0)
					}
				}
			}
		}
	}
}

// TestSumsDoNotDependOnOrder adds the same inputs in random orders and
// bracketings; leaving one out, or adding one again, must show.
func TestSumsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "inputs")
		vs := values{inputs: []int32{0}}
		for r := range n {
			vs.inputs = append(vs.inputs, int32(r+1))
		}
		total := func(list []value) fingerprint {
			for len(list) > 1 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "i")
				a := list[i]
				list = slices.Delete(slices.Clone(list), i, i+1)
				j := rapid.IntRange(0, len(list)-1).Draw(t, "j")
				v, ok := vs.sum(list[j], a)
				if !ok {
					t.Fatal("too many sums")
				}
				list[j] = v
			}
			return vs.fingerprint(list[0])
		}
		all := make([]value, n)
		for i := range all {
			all[i] = input(int32(i))
		}
		whole := total(all)
		if again := total(all); again != whole {
			t.Fatalf("two orders: %v and %v", whole, again)
		}
		odd := rapid.IntRange(0, n-1).Draw(t, "odd")
		if total(slices.Delete(slices.Clone(all), odd, odd+1)) == whole {
			t.Fatal("one left out does not show")
		}
		if total(append(slices.Clone(all), all[odd])) == whole {
			t.Fatal("one twice does not show")
		}
	})
}
