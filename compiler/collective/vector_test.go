package collective

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestVectorForms compares all outputs of every vector form with lists built naively.
func TestVectorForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(VectorForms()).Draw(t, "form")
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		s := Spec{Name: name, Ranks: ranks, Chunks: rapid.IntRange(1, 3).Draw(t, "chunks")}
		s.Counts = rapid.SliceOfN(rapid.IntRange(0, 3), CountsOf(name, ranks), CountsOf(name, ranks)).Draw(t, "counts")
		if s.Name == "gatherv" || s.Name == "scatterv" {
			s.Root = rapid.IntRange(0, ranks-1).Draw(t, "root")
		}
		total := 0
		for _, n := range s.Counts {
			total += n
		}
		c, err := New(s)
		if total == 0 {
			if err == nil {
				t.Fatal("counts of nothing were taken")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.LoopChunks() != total*s.Chunks {
			t.Errorf("%d loop chunks, want %d", c.LoopChunks(), total*s.Chunks)
		}
		// What from has for to, as a count and the units before it in from's input.
		var out [5][]Place
		for to := range ranks {
			for from := range ranks {
				n, before := s.Counts[from%len(s.Counts)], 0
				switch name {
				case "alltoallv":
					n = s.Counts[from*ranks+to]
					for t := range to {
						before += s.Counts[from*ranks+t]
					}
				case "gatherv":
					if to != s.Root {
						n = 0
					}
				case "scatterv":
					n = s.Counts[to]
					for t := range to {
						before += s.Counts[t]
					}
					if from != s.Root {
						n = 0
					}
				}
				for i := range n * s.Chunks {
					out[to] = append(out[to], Place{from, before*s.Chunks + i})
				}
			}
		}
		for r := range ranks {
			if c.OutChunks(r) != len(out[r]) {
				t.Fatalf("rank %d has %d chunks of output, want %d", r, c.OutChunks(r), len(out[r]))
			}
			for i, p := range out[r] {
				if w := c.Want(r, i); w.Kind != WantInput || w.Rank != p.Rank || w.Index != p.Index {
					t.Errorf("rank %d out[%d] wants %+v, want %+v", r, i, w, p)
				}
				if p.Index >= c.InChunks(p.Rank) {
					t.Errorf("rank %d out[%d] is beyond the %d chunks of rank %d", r, i, c.InChunks(p.Rank), p.Rank)
				}
			}
		}
	})
}

// TestVectorInPlace: the inner buffer lies where the output wants it, or where
// it is the input.
func TestVectorInPlace(t *testing.T) {
	for _, name := range []string{"allgatherv", "gatherv", "scatterv", "gather", "scatter", "allgather"} {
		s := Spec{Name: name, Ranks: 3, Chunks: 2, InPlace: true}
		if CountsOf(name, 3) > 0 {
			s.Counts = []int{2, 0, 3}
		}
		if name != "allgatherv" && name != "allgather" {
			s.Root = 2
		}
		c, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		for r := range s.Ranks {
			for i := range c.OutChunks(r) {
				w := c.Want(r, i)
				if w.Rank != r {
					continue
				}
				// What a rank has of its own output is in its place already.
				ib, ii := c.Place(r, In, w.Index)
				ob, oi := c.Place(r, Out, i)
				if ib != ob || ii != oi {
					t.Errorf("%s rank %d: in[%d] lies at %v[%d], out[%d] at %v[%d]", name, r, w.Index, ib, ii, i, ob, oi)
				}
				if ii >= c.BufferChunks(r, ib) {
					t.Errorf("%s rank %d: %v[%d] of %d", name, r, ib, ii, c.BufferChunks(r, ib))
				}
			}
		}
		if name != "allgather" && name != "allgatherv" {
			if b, i := c.Place(0, In, 0); c.InChunks(0) > 0 && (b != In || i != 0) {
				t.Errorf("%s: the input of who is not the root moved to %v[%d]", name, b, i)
			}
		}
	}
}

func TestCountsRefused(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "allgatherv", Ranks: 3, Chunks: 1, Counts: []int{1, 2}}, "2 counts for 3 ranks: want 3"},
		{Spec{Name: "alltoallv", Ranks: 3, Chunks: 1, Counts: []int{1, 2, 3}}, "3 counts for 3 ranks: want 9"},
		{Spec{Name: "scatterv", Ranks: 2, Chunks: 1, Counts: []int{1, -2}}, "count 1 is -2"},
		{Spec{Name: "gatherv", Ranks: 2, Chunks: 1, Counts: []int{0, 0}}, "all counts are 0"},
		{Spec{Name: "gatherv", Ranks: 2, Chunks: 1, Counts: []int{maxUnits, 1}}, "in all"},
		{Spec{Name: "allgather", Ranks: 2, Chunks: 1, Counts: []int{1, 1}}, "allgather has no counts: those that do are allgatherv, alltoallv, gatherv, scatterv"},
		{Spec{Name: "alltoallv", Ranks: 1 << 40, Chunks: 1, Counts: []int{1}}, "want at most"},
	} {
		if _, err := New(c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.spec, err, c.want)
		}
	}
	if got := dividedByGCD([]int{0, 12, 18}); !reflect.DeepEqual(got, []int{0, 2, 3}) {
		t.Errorf("reduced to %v", got)
	}
	if got := dividedByGCD([]int{0, 0}); !reflect.DeepEqual(got, []int{0, 0}) {
		t.Errorf("reduced to %v", got)
	}
}

func TestCustom(t *testing.T) {
	table := &Table{In: []int{1, 2}, Out: []int{3, 1}, Same: true, Want: [][]Want{
		{input(1, 1), {}, {Kind: WantSum, Of: []Place{{0, 0}, {1, 1}}}},
		{reduction(0)},
	}}
	s := Spec{Name: "mine", Ranks: 2, Chunks: 4, InPlace: true, Custom: table}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"custom":{"in":[1,2],"out":[3,1],"want":[[[1,1],null,[[0,0],[1,1]]],[[0]]],"same":true}`
	if !strings.Contains(string(text), want) {
		t.Errorf("JSON %s, want %s in it", text, want)
	}
	var back Spec
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("read back: %+v, %v", back, err)
	}
	c, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	if c.LoopChunks() != 12 || c.InChunks(1) != 8 || c.OutChunks(0) != 12 || c.BufferChunks(0, In) != 12 || c.BufferChunks(1, In) != 8 || !c.Reduces() || c.BusFactor() != 1 {
		t.Errorf("%d chunks a loop, %d in, %d out", c.LoopChunks(), c.InChunks(1), c.OutChunks(0))
	}
	if w := c.Want(0, 2); w.Kind != WantInput || w.Rank != 1 || w.Index != 6 {
		t.Errorf("out[2] wants %+v", w)
	}
	if w := c.Want(0, 9); !reflect.DeepEqual(w.Of, []Place{{0, 1}, {1, 5}}) {
		t.Errorf("out[9] wants %+v", w)
	}
	if w := c.Times(2).Want(1, 7); w.Kind != WantReduction || w.Index != 7 {
		t.Errorf("out[7] wants %+v", w)
	}
}

func TestCustomRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Spec)
		want string
	}{
		{"name", func(s *Spec) { s.Name = "No" }, "want a name of lower-case letters"},
		{"name of another", func(s *Spec) { s.Name = "allreduce" }, "can't have the name of another"},
		{"root", func(s *Spec) { s.Root = 1 }, "no root"},
		{"counts", func(s *Spec) { s.Counts = []int{1, 1} }, "no counts"},
		{"in place", func(s *Spec) { s.InPlace = true }, "no in-place form"},
		{"too few", func(s *Spec) { s.Custom.In = s.Custom.In[:1] }, "table of 1 inputs"},
		{"rank", func(s *Spec) { s.Custom.Want[0][0].Rank = 2 }, "output 0 of rank 0: rank 2: want 0 to 1"},
		{"index", func(s *Spec) { s.Custom.Want[0][0].Index = 1 }, "input 1 of rank 1, which has 1"},
		{"reduction", func(s *Spec) { s.Custom.Want[1][0].Index = 1 }, "input 1 of every rank, one of which has 1"},
		{"short", func(s *Spec) { s.Custom.Out[0] = 2 }, "rank 0 has 2 units of output and wants of 1"},
		{"huge", func(s *Spec) { s.Custom.In[0] = 1 << 62 }, "want 0 to"},
		{"sum of one", func(s *Spec) { s.Custom.Want[0][0] = Want{Kind: WantSum, Of: []Place{{0, 0}}} }, "a reduction of 1"},
	} {
		s := Spec{Name: "mine", Ranks: 2, Chunks: 1, Custom: &Table{In: []int{1, 1}, Out: []int{1, 1}, Want: [][]Want{{input(1, 0)}, {reduction(0)}}}}
		if _, err := New(s); err != nil {
			t.Fatal(err)
		}
		c.edit(&s)
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func FuzzWant(f *testing.F) {
	for _, s := range []string{"null", "[1,2]", "[3]", "[[1,2],[3,4]]", "[[1]]", "[]", "7", `"x"`, "[[1,2],3]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var w Want
		if json.Unmarshal([]byte(text), &w) != nil {
			return
		}
		again, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var back Want
		if err := json.Unmarshal(again, &back); err != nil || !reflect.DeepEqual(w, back) {
			t.Errorf("%s became %s", text, again)
		}
	})
}
