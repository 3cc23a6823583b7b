package route

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/simplex"
)

// Let every link take a toll of each chunk that passes it, in each step another.
// If a round of any step brings at most so much, and no chunk gets through for
// less than so much, that is a bound on R/C, however many the chunks:
//
//	rounds × what a round brings at most  ≥  chunks × what a chunk pays at least
//
// For the best tolls it is what any mix of single chunks' courses can reach at
// all: a linear program with a column for each course. Courses are looked for as
// they are needed, first by leaving out of courses what is dear, and in the end
// by a solver, which is asked about one chunk alone: that none pays less is its
// word. The tolls come out of floats and are rounded; any prove a bound.

// floor is the least R/C in so many steps, for any number of chunks.
type floor struct {
	ratio   *big.Rat // nil: there is no routing at all
	by      string   // the solver that found no cheaper course
	why     string
	seconds float64
}

const (
	// manyCourses is how many courses the best tolls are looked for among.
	manyCourses = 3000
	// manyTries is how many courses are thinned out before a solver is asked.
	manyTries = 200
	// fewFound is how many of them are enough to look for new tolls.
	fewFound = 5
	// manyAsked is how often a solver may name a cheaper course.
	manyAsked = 40
	// manySums is how many numbers are added up in search of tolls: some seconds'.
	manySums = 4_000_000_000
	// finest is the largest whole toll.
	finest = 5000
)

// tolled is the bound by tolls on sums in so many steps, nil where there is none
// that says more than what is known already. The error is the context's, or says
// that all solvers failed.
func (p *problem) tolled(s *constraints.Solvers, ask asker, steps int, known *big.Rat) (*floor, error) {
	h := p.hears(steps)
	if h == nil || len(h.width) == 0 {
		return nil, nil
	}
	start := time.Now()
	all := h.everything()
	if !h.enough(all) {
		return nil, nil // distances say so
	}
	k := newTollkeeper(h)
	least, _ := known.Float64()
	for asked := 0; len(k.courses) < manyCourses && k.sums < manySums; {
		if err := ask.ctx.Err(); err != nil || ask.left() <= 0 {
			return nil, err
		}
		if k.search() && k.raise() {
			if k.value <= least*(1+1e-9) {
				return nil, nil
			}
			continue
		}
		tolls, room := k.whole()
		if asked++; room == 0 || asked > manyAsked {
			return nil, nil
		}
		pass := int64(math.Ceil(k.value*float64(room) - 1e-6))
		f, takes := h.state(tolls, pass)
		a, err := ask.put(s, stated{formula: f, suits: "pb"})
		switch {
		case err != nil:
			return nil, err
		case a.Status == constraints.Unsat:
			return &floor{big.NewRat(pass, room), a.By, k.tell(pass, room), time.Since(start).Seconds()}, nil
		case a.Status == constraints.Timeout:
			return nil, nil
		}
		c := make(course, len(takes))
		for i, l := range takes {
			c[i] = a.Model[l-1]
		}
		h.thin(c, k.lanes(), 0)
		if !k.take(c) || !k.raise() {
			return nil, nil
		}
	}
	return nil, nil
}

// tollkeeper looks for the best tolls.
type tollkeeper struct {
	*hearing
	courses []course
	load    [][]int64 // of courses
	seen    map[string]bool
	toll    []float64 // by kind × steps + step
	share   []float64 // of courses, in the best mix of those known when it was looked for
	ideal   []float64 // how a round is best split among the steps, then
	sums    int       // done so far, about: so that a slower machine finds as much
	value   float64   // what the cheapest course known pays, where a round brings 1
}

// newTollkeeper knows of no course yet, and takes the same of all links.
func newTollkeeper(h *hearing) *tollkeeper {
	k := &tollkeeper{hearing: h, toll: make([]float64, len(h.width)*h.steps), seen: map[string]bool{}, value: math.Inf(1)}
	for i := range k.toll {
		k.toll[i] = 1
	}
	return k
}

// search looks for courses that pay less than all that are known, and tells
// whether there are any.
func (k *tollkeeper) search() bool {
	lanes, found := k.lanes(), 0
	for try := 0; try < manyTries && found < fewFound; try++ {
		c := k.everything()
		if n := len(k.courses); n > 0 && try%2 == 1 { // both of two that are known
			a, b := k.courses[k.chance.IntN(n)], k.courses[k.chance.IntN(n)]
			for i := range c {
				c[i] = a[i] || b[i]
			}
		}
		k.thin(c, lanes, []float64{0, 0.1, 0.3, 0.6, 1}[try%5])
		k.sums += len(c) * len(c)
		pays := 0.0
		for i, n := range k.loads(c) {
			pays += float64(n) * k.toll[i]
		}
		if pays < k.value*(1-1e-7) && k.take(c) {
			found++
		}
	}
	return found > 0
}

// take adds a course, unless there is one that passes as much.
func (k *tollkeeper) take(c course) bool {
	load := k.loads(c)
	name := fmt.Sprint(load)
	if k.seen[name] {
		return false
	}
	k.seen[name] = true
	k.courses, k.load = append(k.courses, slices.Clone(c)), append(k.load, load)
	return true
}

// lanes are the tolls of lanes: by lane × steps + step.
func (k *tollkeeper) lanes() []float64 {
	tolls := make([]float64, len(k.p.net.lanes)*k.steps)
	for i := range tolls {
		for _, e := range k.p.net.lanes[i/k.steps].links {
			if at := k.kinds[e]; at >= 0 {
				tolls[i] += k.toll[at*k.steps+i%k.steps]
			}
		}
	}
	return tolls
}

// raise finds the tolls by which the cheapest of the courses pays most. The
// program is the other side: how many chunks a round carries, split over steps and
// mixed of courses as is best; what a unit more of a link would gain is its toll.
func (k *tollkeeper) raise() bool {
	rows := len(k.toll)
	lp := simplex.New(rows+1, len(k.courses)+k.steps)
	for j, load := range k.load {
		lp.Gain(j)
		for i, n := range load {
			lp.Set(i, j, float64(n))
		}
	}
	for i := range rows {
		lp.Set(i, len(k.courses)+i%k.steps, -float64(k.width[i/k.steps]))
	}
	for t := range k.steps {
		lp.Set(rows, len(k.courses)+t, 1)
	}
	lp.Limit(rows, 1)
	solved := lp.Solve(math.Inf(1))
	if k.sums += lp.Sums(); !solved || lp.Value() <= 0 {
		return false
	}
	k.value = 1 / lp.Value()
	k.share, k.ideal = k.share[:0], k.ideal[:0]
	for j := range k.courses {
		k.share = append(k.share, lp.Amount(j))
	}
	for t := range k.steps {
		k.ideal = append(k.ideal, lp.Amount(len(k.courses)+t))
	}
	for i := range k.toll {
		k.toll[i] = lp.Price(i) * k.value
	}
	return true
}

// whole are the tolls in whole numbers, and what a round of the dearest step then
// brings.
func (k *tollkeeper) whole() (tolls []int64, room int64) {
	most := slices.Max(k.toll)
	if most <= 0 {
		return nil, 0
	}
	tolls = make([]int64, len(k.toll))
	for scale := 1.0; scale <= finest; scale++ {
		fits := true
		for i, x := range k.toll {
			x *= scale / most
			tolls[i] = int64(math.Round(x))
			fits = fits && math.Abs(x-math.Round(x)) < 1e-6*scale
		}
		if fits {
			break
		}
	}
	for t := range k.steps {
		brings := int64(0)
		for kind, width := range k.width {
			brings += width * tolls[kind*k.steps+t]
		}
		room = max(room, brings)
	}
	return tolls, room
}

// tell puts the bound in words.
func (k *tollkeeper) tell(pass, room int64) string {
	return fmt.Sprintf("with the best tolls on links no chunk gets through %s for less than %d, and a round brings %d at most", many(k.steps, "step"), pass, room)
}

// tooCheap is that a query has fewer rounds a chunk than its steps leave.
func (p *problem) tooCheap(s *constraints.Solvers, ask asker) (*floor, error) {
	if ask.atLeast {
		return nil, nil
	}
	asked := big.NewRat(int64(p.Rounds), int64(len(p.items)))
	f, err := p.tolled(s, ask, p.Steps, asked)
	if err != nil || f == nil || f.ratio.Cmp(asked) <= 0 {
		return nil, err
	}
	return f, nil
}
