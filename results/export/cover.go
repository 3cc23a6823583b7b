package export

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// Place is one size in one placement, with the trials that could serve it.
type Place struct {
	Bytes     int64
	Placement string
	Offers    []Offer
}

// Offer is a trial that a runtime would repeat: at this size it would run the same
// program with the same knobs.
type Offer struct {
	*results.Trial
	TimeUS float64 // measured, or a lower bound
	Bound  bool    // TimeUS is such a bound
}

// Cover chooses which of a place's offers is exported: their indices, by place; -1 for
// none. The places are those of a placement by rising size, then those of the next.
//
// A runtime loads at most Files files. A file holds one form, serves neighbouring
// sizes, and no two files have a size in common. Sizes at which the runtime ignores the
// file may lie between. If the fastest offer of every place would take more
// files, the choice is the best there is: it serves the most places; of such choices
// it has the least geometric mean of slowdowns against the fastest offers; then the
// fewest files. Tie settles the rest, so that the choice depends on nothing but the
// times.
//
// If no chosen offer's time is a bound, measuring the others can't change the choice.
// autotune measures until that is so, and an export then makes the same choice.
func (r Runtime) Cover(places []Place) []int { return cover(r.reader, places) }

func cover(r reader, places []Place) []int {
	fastest := make([]int, len(places))
	for i := range places {
		fastest[i] = fastestOffer(r, places[i].Offers)
	}
	if filesOf(r, places, fastest) <= r.files() {
		return fastest
	}
	known := newCoverProblem(r, places, fastest, func(o *Offer, _ int64) bool { return !o.Bound }).solve()
	// Whatever is slower at one place than that is at all places together is in no
	// better choice.
	return newCoverProblem(r, places, fastest, func(_ *Offer, slower int64) bool {
		return known.cost.unserved > 0 || slower <= known.cost.slower
	}).solve().offers
}

// filesOf counts the files that a choice of offers takes.
func filesOf(r reader, places []Place, chosen []int) (files int) {
	forms := make([]fileKey, len(places))
	for i, n := range chosen {
		if n < 0 {
			continue
		}
		forms[i] = r.fileKey(places[i].Offers[n].Trial)
		if i == 0 || chosen[i-1] < 0 || forms[i] != forms[i-1] || places[i].Placement != places[i-1].Placement {
			files++
		}
	}
	return files
}

// fastestOffer is the index of the fastest offer; -1 for none.
func fastestOffer(r reader, offers []Offer) int {
	best := -1
	for i := range offers {
		if best < 0 || offers[i].TimeUS < offers[best].TimeUS || offers[i].TimeUS == offers[best].TimeUS && compareFiles(r, offers[i].Trial, offers[best].Trial) < 0 {
			best = i
		}
	}
	return best
}

// fileKey identifies the contents of a file, without its range of sizes. Offers of equal
// keys can share a file.
type fileKey struct {
	program, protocol string
	tile              int64 // 0: the file does not say
}

// compareFiles is Tie of forms: it takes no notice of a tile that no file says.
func compareFiles(r reader, a, b *results.Trial) int {
	x, y := *a, *b
	x.TileBytes, y.TileBytes = r.fileKey(a).tile, r.fileKey(b).tile
	return table.Tie(&x, &y)
}

// cost orders choices: more served, then faster. It is exact, so that equal choices
// are equal in whatever order they are added up.
type cost struct {
	unserved int   // places that have offers, and get none
	slower   int64 // sum of the logarithms of slowdowns, in units of logUnit
}

// logUnit makes logarithms whole numbers: times are told apart to 2 in 10^10.
const logUnit = 1 << 32

func logarithm(us float64) int64 { return int64(math.Log(us) * logUnit) }

func (p cost) plus(q cost) cost { return cost{p.unserved + q.unserved, p.slower + q.slower} }

func (p cost) compare(q cost) int {
	return cmp.Or(cmp.Compare(p.unserved, q.unserved), cmp.Compare(p.slower, q.slower))
}

// option is an offer among those of its place.
type option struct {
	form   int // its rank by formOrder
	offer  int
	slower int64
}

// coverProblem holds the offers to choose from.
type coverProblem struct {
	limit  int // files
	forms  int
	places []placeOptions
}

type placeOptions struct {
	list   []option
	wanted bool   // the place has offers, be they on the menu or not
	passed []bool // by form: the runtime passes its file by here
}

// newCoverProblem makes a menu of those offers that may be on it, which is asked for how much
// slower they are than the fastest.
func newCoverProblem(r reader, places []Place, fastest []int, may func(o *Offer, slower int64) bool) *coverProblem {
	type placed struct {
		placement string
		fileKey
	}
	m := &coverProblem{limit: min(r.files(), len(places)), places: make([]placeOptions, len(places))}
	ids := map[placed]int{}
	var first []*results.Trial // by id
	for i := range places {
		p := &places[i]
		m.places[i].wanted = len(p.Offers) > 0
		for j := range p.Offers {
			o := &p.Offers[j]
			slower := logarithm(o.TimeUS) - logarithm(p.Offers[fastest[i]].TimeUS)
			if !may(o, slower) {
				continue
			}
			k := placed{p.Placement, r.fileKey(o.Trial)}
			id, known := ids[k]
			if !known {
				id = len(first)
				ids[k] = id
				first = append(first, o.Trial)
			}
			m.places[i].list = append(m.places[i].list, option{id, j, slower})
		}
	}
	m.forms = len(first)
	byRank := make([]int, m.forms)
	for id := range byRank {
		byRank[id] = id
	}
	slices.SortFunc(byRank, func(a, b int) int {
		return cmp.Or(strings.Compare(first[a].Placement, first[b].Placement), compareFiles(r, first[a], first[b]))
	})
	rank := make([]int, m.forms)
	for n, id := range byRank {
		rank[id] = n
	}
	for i := range m.places {
		at := &m.places[i]
		at.passed = make([]bool, m.forms)
		for n, id := range byRank {
			at.passed[n] = first[id].Placement == places[i].Placement && r.passes(first[id], places[i].Bytes)
		}
		for j := range at.list {
			at.list[j].form = rank[at.list[j].form]
		}
	}
	return m
}

// solution is a choice for all places, as Cover returns it.
type solution struct {
	offers []int
	cost   cost
}

// state is the cheapest way to a state: the number of files used up to a place, and a form's
// file open there. Of ways of one price, the last place that they differ at decides.
type state struct {
	cost
	offer  int // taken at the place; -1 for none
	from   int // the state before it
	exists bool
}

// solve is dynamic programming over (place, files used, form of the open file).
func (m *coverProblem) solve() solution {
	width := m.forms + 1 // of a row of states with the same number of files; the last is without an open file
	none := m.forms
	layers := make([][]state, len(m.places)+1)
	layers[0] = make([]state, (m.limit+1)*width)
	layers[0][none] = state{offer: -1, exists: true}
	for i := range m.places {
		place := &m.places[i]
		before, now := layers[i], make([]state, (m.limit+1)*width)
		reach := func(at, from, offer int, more cost) {
			if !before[from].exists {
				return
			}
			s := state{before[from].cost.plus(more), offer, from, true}
			if old := &now[at]; !old.exists || cmp.Or(s.compare(old.cost), cmp.Compare(s.from%width, old.from%width)) < 0 {
				*old = s
			}
		}
		var left cost // where the place gets nothing
		if place.wanted {
			left.unserved = 1
		}
		for used := 0; used <= m.limit; used++ {
			row := used * width
			cheapest := row + none
			for f := range width {
				if s, c := &before[row+f], &before[cheapest]; s.exists && (!c.exists || cmp.Or(s.compare(c.cost), cmp.Compare(f, cheapest-row)) < 0) {
					cheapest = row + f
				}
			}
			reach(row+none, cheapest, -1, left)
			for f, passed := range place.passed {
				if passed {
					reach(row+f, row+f, -1, left)
				}
			}
			for _, c := range place.list {
				more := cost{slower: c.slower}
				reach(row+c.form, row+c.form, c.offer, more)
				if used < m.limit {
					reach(row+width+c.form, cheapest, c.offer, more)
				}
			}
		}
		layers[i+1] = now
	}
	last := layers[len(m.places)]
	at := -1
	for s := range last { // by rising number of files
		if last[s].exists && (at < 0 || cmp.Or(last[s].compare(last[at].cost), cmp.Compare(s/width, at/width), cmp.Compare(s%width, at%width)) < 0) {
			at = s
		}
	}
	best := solution{make([]int, len(m.places)), last[at].cost}
	for i := len(m.places); i > 0; i-- {
		s := layers[i][at]
		best.offers[i-1], at = s.offer, s.from
	}
	return best
}
