package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/colltune/colltune/results"
	"pgregory.net/rapid"
)

// testRuntime is a runtime that loads some files, and passes by those of a program whose
// granularity does not divide the size.
type testRuntime struct {
	reader
	limit int
}

func (s testRuntime) files() int                                { return s.limit }
func (s testRuntime) fileKey(t *results.Trial) fileKey          { return fileKey{t.Program, t.Protocol, 0} }
func (s testRuntime) passes(t *results.Trial, bytes int64) bool { return bytes%t.Granularity != 0 }

// numbered is a trial of a program by number.
func numbered(id int, bytes int64, placement string, granularity int64) *results.Trial {
	return &results.Trial{Bytes: bytes, Placement: placement, Algorithm: string(rune('a' + id)), Program: fmt.Sprintf("%s%d", placement, id),
		Protocol: "LL", TileBytes: bytes, Granularity: granularity}
}

func TestCover(t *testing.T) {
	c := func(times ...float64) (all []float64) { return times } // by program; 0: not offered
	for _, test := range []struct {
		name    string
		sizes   [][]float64
		divides int64 // the granularity of program 0; sizes are 1, 2, 3, …
		limit   int
		want    []int // programs
	}{
		{"nothing", [][]float64{nil, nil}, 1, 4, []int{-1, -1}},
		{"the fastest", [][]float64{c(1, 2), c(2, 1), c(2, 1)}, 1, 2, []int{0, 1, 1}},
		{"of equals the first", [][]float64{c(1, 1)}, 1, 1, []int{0}},
		{"of equals what saves a file", [][]float64{c(1, 2), c(2, 1), c(1, 1), c(2, 1), c(1, 2), c(2, 1)}, 1, 4, []int{0, 1, 1, 1, 0, 1}},
		{"one file for three sizes", [][]float64{c(1, 2), c(2, 1), c(2, 1)}, 1, 1, []int{1, 1, 1}},
		{"one file, the cheaper", [][]float64{c(1, 9), c(2, 1), c(2, 1)}, 1, 1, []int{0, 0, 0}},
		{"a gap takes a file more", [][]float64{c(1), nil, c(1)}, 1, 1, []int{-1, -1, 0}},
		{"a gap, two files", [][]float64{c(1), nil, c(1)}, 1, 2, []int{0, -1, 0}},
		{"a size that the runtime passes the file by at is no gap", [][]float64{nil, c(1), nil, c(1)}, 2, 1, []int{-1, 0, -1, 0}},
		{"nor is one that another program could serve", [][]float64{nil, c(1), c(0, 1), c(1)}, 2, 1, []int{-1, 0, -1, 0}},
		{"to serve comes before to serve fast", [][]float64{c(0, 1), c(1, 100), c(1, 100)}, 1, 1, []int{1, 1, 1}},
	} {
		places := make([]Place, len(test.sizes))
		var ids [][]int
		for i, times := range test.sizes {
			places[i] = Place{Bytes: int64(i + 1), Placement: "in"}
			ids = append(ids, nil)
			for id, us := range times {
				granularity := int64(1)
				if id == 0 {
					granularity = test.divides
				}
				if us > 0 {
					places[i].Offers = append(places[i].Offers, Offer{Trial: numbered(id, int64(i+1), "in", granularity), TimeUS: us})
					ids[i] = append(ids[i], id)
				}
			}
		}
		var got []int
		for i, n := range cover(testRuntime{limit: test.limit}, places) {
			if n < 0 {
				got = append(got, -1)
			} else {
				got = append(got, ids[i][n])
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// instance is places with offers of a few programs, drawn at random. bounds are no more
// than the times.
type instance struct {
	limit  int
	places []Place
	bounds [][]float64
}

// drawInstance draws sizes in one placement, then in the other. A program has times only
// where its granularity divides the size, and not everywhere there.
func drawInstance(t *rapid.T, most int) instance {
	m := instance{limit: rapid.IntRange(1, 4).Draw(t, "limit")}
	n := rapid.IntRange(1, most).Draw(t, "sizes")
	inPlace := rapid.IntRange(0, n).Draw(t, "in place")
	granularity := rapid.SliceOfN(rapid.SampledFrom([]int64{1, 1, 2, 3}), 3, 3).Draw(t, "granularity")
	for i := range n {
		p := Place{Bytes: int64(i + 1), Placement: "in"}
		if i >= inPlace {
			p = Place{Bytes: int64(i + 1 - inPlace), Placement: "out"}
		}
		var bounds []float64
		for id, g := range granularity {
			if us := rapid.IntRange(0, 6).Draw(t, "time"); us > 0 && p.Bytes%g == 0 {
				p.Offers = append(p.Offers, Offer{Trial: numbered(id, p.Bytes, p.Placement, g), TimeUS: float64(us)})
				bounds = append(bounds, float64(us)*rapid.SampledFrom([]float64{0.4, 0.8, 1}).Draw(t, "bound"))
			}
		}
		m.places, m.bounds = append(m.places, p), append(m.bounds, bounds)
	}
	return m
}

// filesOf counts the files of a choice, written without cover's help.
func (m instance) filesOf(chosen []int) int {
	n := 0
	var open *results.Trial
	for i, o := range chosen {
		p := &m.places[i]
		switch {
		case open != nil && open.Placement != p.Placement:
			open = nil
		}
		if o < 0 {
			if open != nil && p.Bytes%open.Granularity == 0 {
				open = nil // the file would serve the size
			}
			continue
		}
		if t := p.Offers[o].Trial; open == nil || open.Program != t.Program {
			open = t
			n++
		}
	}
	return n
}

// cost is what the choice is to be least in: sizes without a file, then the product of
// slowdowns.
func (m instance) cost(chosen []int) (unserved int, slower float64) {
	slower = 1
	for i, o := range chosen {
		offers := m.places[i].Offers
		switch {
		case len(offers) == 0:
		case o < 0:
			unserved++
		default:
			fastest := slices.MinFunc(offers, func(a, b Offer) int { return cmp.Compare(a.TimeUS, b.TimeUS) })
			slower *= offers[o].TimeUS / fastest.TimeUS
		}
	}
	return unserved, slower
}

// every calls do with every choice within the limit.
func (m instance) every(do func(chosen []int)) {
	chosen := make([]int, len(m.places))
	var at func(i int)
	at = func(i int) {
		if i == len(chosen) {
			if m.filesOf(chosen) <= m.limit {
				do(chosen)
			}
			return
		}
		for o := -1; o < len(m.places[i].Offers); o++ {
			chosen[i] = o
			at(i + 1)
		}
	}
	at(0)
}

// No other choice within the limit serves more sizes, or as many in less time.
func TestCoverIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawInstance(t, 7)
		got := cover(testRuntime{limit: m.limit}, m.places)
		if n := m.filesOf(got); n > m.limit {
			t.Fatalf("%v takes %d files: at most %d", got, n, m.limit)
		}
		unserved, slower := m.cost(got)
		m.every(func(chosen []int) {
			if u, s := m.cost(chosen); u < unserved || u == unserved && s < slower*(1-1e-9) {
				t.Fatalf("%v leaves %d and is %v times slower; %v leaves %d and is %v times", got, unserved, slower, chosen, u, s)
			}
		})
	})
}

// Whatever is measured to begin with, in whichever order, if it includes the fastest of
// every place: measuring what is chosen until no bound is chosen ends with the choice
// among all times.
func TestCoverDependsOnTimesAlone(t *testing.T) {
	measured, left := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		m := drawInstance(t, 12)
		want := cover(testRuntime{limit: m.limit}, m.places)
		known := make([]Place, len(m.places))
		at := make([][]int, len(m.places)) // an offer's index in m, by its index in known
		for i, p := range m.places {
			known[i] = p
			known[i].Offers = nil
			fastest := math.Inf(1)
			for _, o := range p.Offers {
				fastest = min(fastest, o.TimeUS)
			}
			for _, j := range rapid.Permutation(indices(len(p.Offers))).Draw(t, "order") {
				o := p.Offers[j]
				if m.bounds[i][j] > fastest && rapid.Bool().Draw(t, "unknown") {
					o.TimeUS, o.Bound = m.bounds[i][j], true
				}
				known[i].Offers, at[i] = append(known[i].Offers, o), append(at[i], j)
			}
		}
		for open := true; open; {
			open = false
			for i, n := range cover(testRuntime{limit: m.limit}, known) {
				if n >= 0 && known[i].Offers[n].Bound {
					known[i].Offers[n] = m.places[i].Offers[at[i][n]]
					open = true
					measured++
				}
			}
		}
		final := cover(testRuntime{limit: m.limit}, known)
		var without []Place // as an export has it: what was not measured is not there
		for i, p := range known {
			p.Offers = slices.DeleteFunc(slices.Clone(p.Offers), func(o Offer) bool { left += count(o.Bound); return o.Bound })
			without = append(without, p)
			if final[i] >= 0 {
				final[i] = at[i][final[i]]
			}
		}
		if !slices.Equal(final, want) {
			t.Fatalf("%v, want %v", final, want)
		}
		for i, n := range cover(testRuntime{limit: m.limit}, without) {
			if (n < 0) != (want[i] < 0) || n >= 0 && without[i].Offers[n].Trial != m.places[i].Offers[want[i]].Trial {
				t.Fatalf("at place %d the export chooses %d of %v, want %v", i, n, without[i].Offers, want)
			}
		}
	})
	if measured == 0 || left == 0 {
		t.Errorf("%d offers were measured, %d never: want some of both", measured, left)
	}
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// A runtime that loads a thousand files and is to serve more sizes than that.
func TestCoverOfManyFiles(t *testing.T) {
	var places []Place
	for i := range 1100 {
		p := Place{Bytes: int64(i + 1), Placement: "in"}
		for id := range 3 {
			us := 1.0
			if id != i%3 {
				us += float64(i) / 1e4
			}
			p.Offers = append(p.Offers, Offer{Trial: numbered(id, p.Bytes, "in", 1), TimeUS: us})
		}
		places = append(places, p)
	}
	total := 0.0
	m := instance{limit: 1024, places: places}
	got := cover(testRuntime{limit: 1024}, places)
	for i, n := range got {
		total += math.Log(places[i].Offers[n].TimeUS)
	}
	if n := m.filesOf(got); n != 1024 || total > 0.4 {
		t.Errorf("%d files, slower by %v in all", n, total)
	}
}
