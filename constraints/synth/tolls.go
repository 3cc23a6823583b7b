package synth

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/simplex"
	"github.com/colltune/colltune/constraints/solver"
)

// Dual prices, called tolls here: let every link charge a toll for each chunk that passes
// it, a different one in each step. If a round of any step collects at most some amount, and
// no chunk gets through for less than some other amount, that is a bound on R/C for any
// number of chunks:
//
//	rounds × what a round brings at most  ≥  chunks × what a chunk pays at least
//
// With the best tolls it is exactly what mixes of single chunks' courses can
// achieve: a linear program with a column for each course. Courses are found as
// they are needed, first by dropping expensive lanes from random courses, and
// finally by a solver, which is asked about a single chunk only, and which has to
// prove that none pays less. The tolls are rounded to whole numbers; any tolls
// prove a bound.

// ratioBound is a lower bound on R/C in a number of steps, for any number of chunks.
type ratioBound struct {
	ratio   *big.Rat // nil means that there is no routing at all
	by      string   // the solver that proved that no course is cheaper
	why     string
	seconds float64
}

const (
	// manyCourses limits the courses among which the best tolls are determined.
	manyCourses = 3000
	// manyTries is how many courses are thinned out before a solver is asked.
	manyTries = 200
	// fewFound is how many new courses are enough to set the tolls again.
	fewFound = 5
	// manyAsked limits how often a solver may find a cheaper course.
	manyAsked = 40
	// manySums limits the additions in search of tolls, to some seconds.
	manySums = 4_000_000_000
	// finest is the largest toll in whole numbers.
	finest = 5000
)

// tolled is the bound by tolls on sums in so many steps, or nil if it is not above
// the bound already known. The error is the context's, or says that all solvers
// failed.
func (p *problem) tolled(s *solver.Pool, ask solveBudget, steps int, known *big.Rat) (*ratioBound, error) {
	h := p.hears(steps)
	if h == nil || len(h.width) == 0 {
		return nil, nil
	}
	start := time.Now()
	all := h.everything()
	if !h.enough(all) {
		return nil, nil // the bound by distances covers this
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
		a, err := ask.ask(s, encoding{formula: f, preferred: "pb"})
		switch {
		case err != nil:
			return nil, err
		case a.Status == solver.Unsat:
			return &ratioBound{big.NewRat(pass, room), a.By, k.tell(pass, room), time.Since(start).Seconds()}, nil
		case a.Status == solver.Timeout:
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
	load    [][]int64 // by course
	seen    map[string]bool
	toll    []float64 // by kind × steps + step
	share   []float64 // by course: its share in the best mix when tolls were last set
	ideal   []float64 // the best split of a round among the steps, at that time
	sums    int       // additions so far, roughly; limiting these makes slow machines find as much
	value   float64   // what the cheapest known course pays if a round collects 1
}

// newTollkeeper begins without courses, and with equal tolls on all links.
func newTollkeeper(h *hearing) *tollkeeper {
	k := &tollkeeper{hearing: h, toll: make([]float64, len(h.width)*h.steps), seen: map[string]bool{}, value: math.Inf(1)}
	for i := range k.toll {
		k.toll[i] = 1
	}
	return k
}

// search looks for courses that pay less than all known ones, and reports whether
// there are any.
func (k *tollkeeper) search() bool {
	lanes, found := k.lanes(), 0
	for try := 0; try < manyTries && found < fewFound; try++ {
		c := k.everything()
		if n := len(k.courses); n > 0 && try%2 == 1 { // the union of two known courses
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

// take adds a course, unless one with the same loads is known.
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

// lanes is the toll of each lane in each step, by lane × steps + step.
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

// raise finds the tolls at which the cheapest of the known courses pays most. It
// solves the dual: how many chunks a round carries, if it is split among the
// steps, and courses are mixed, in the best way. What more room on a link would
// gain is its toll.
func (k *tollkeeper) raise() bool {
	rows := len(k.toll)
	lp := simplex.New(rows+1, len(k.courses)+k.steps)
	for j, load := range k.load {
		lp.Maximize(j)
		for i, n := range load {
			lp.SetCoefficient(i, j, float64(n))
		}
	}
	for i := range rows {
		lp.SetCoefficient(i, len(k.courses)+i%k.steps, -float64(k.width[i/k.steps]))
	}
	for t := range k.steps {
		lp.SetCoefficient(rows, len(k.courses)+t, 1)
	}
	lp.SetBound(rows, 1)
	solved := lp.Solve(math.Inf(1))
	if k.sums += lp.Operations(); !solved || lp.Objective() <= 0 {
		return false
	}
	k.value = 1 / lp.Objective()
	k.share, k.ideal = k.share[:0], k.ideal[:0]
	for j := range k.courses {
		k.share = append(k.share, lp.Primal(j))
	}
	for t := range k.steps {
		k.ideal = append(k.ideal, lp.Primal(len(k.courses)+t))
	}
	for i := range k.toll {
		k.toll[i] = lp.Dual(i) * k.value
	}
	return true
}

// whole returns the tolls in whole numbers, and what a round of the most expensive
// step then collects.
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

// tell puts the bound into words.
func (k *tollkeeper) tell(pass, room int64) string {
	return fmt.Sprintf("with the best tolls on links no chunk gets through %s for less than %d, and a round brings %d at most", plural(k.steps, "step"), pass, room)
}

// belowPriceBound refutes a query with fewer rounds for each chunk than its steps allow.
func (p *problem) belowPriceBound(s *solver.Pool, ask solveBudget) (*ratioBound, error) {
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
