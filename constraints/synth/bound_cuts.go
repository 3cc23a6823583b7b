package synth

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/constraints/simplex"
)

// Every demand must cross all cuts of the unrolled network, and the capacity of a cut
// depends on how the rounds are split among the steps:
//
//	3 chunks must come to rank 6   ≤   2 × rounds of step 1 + 4 × rounds of step 2
//
// A weighted sum of such inequalities bounds R/C for a number of steps and any number of
// chunks: the total demand divided by the greatest capacity of a round in any step. The
// best weights are the solution of a linear program, to which violated cuts are added until
// there are none (a cutting-plane method). It computes in floating point; the weights are
// then rounded to whole numbers, which can weaken the bound slightly but not invalidate it.

// ratioBound is a lower bound on R/C in a number of steps, for any number of chunks.
type ratioBound struct {
	ratio   *big.Rat // nil means that there is no routing at all
	by      string   // Bound, or the solver that found it
	why     string
	seconds float64
}

// cutInequality is a number of chunks that must cross a cut, and the cut's capacity in a
// round of each step.
type cutInequality struct {
	need     int64
	capacity []int64 // by step
}

// ratio returns the least R/C that satisfies the inequality, or nil if it implies nothing.
func (c cutInequality) ratio() *big.Rat {
	if room := slices.Max(c.capacity); room > 0 && c.need > 0 {
		return big.NewRat(c.need, room)
	}
	return nil
}

const (
	// maxCuts limits the cuts.
	maxCuts = 200
	// finest is the largest weight of a cut.
	finest = 5000
	// fineRounds is the number of parts into which a round is divided for integer flows.
	fineRounds = 1 << 20
)

// cutBound returns the bound by cuts for a problem of one chunk. It is nil if it is not above
// the known bound, or not found in time.
func (p *problem) cutBound(ctx context.Context, budget solveBudget, known *big.Rat) (*ratioBound, error) {
	start := time.Now()
	one := p
	demands := []demand(nil)
	switch {
	case p.sumsEverywhere():
		demands = p.sumDemands()
	case p.reduces:
		one = p.reversedProblem()
		demands = one.demands()
	default:
		demands = p.demands()
	}
	u := one.net.unroll(p.Steps)
	var rows []cutInequality
	split := make([]float64, p.Steps) // by step: rounds for each chunk
	for i := range split {
		split[i], _ = known.Float64()
		split[i] /= float64(p.Steps)
	}
	var taken []float64
	work := 0
	for len(rows) < maxCuts {
		found := false
		for i := range demands {
			if err := ctx.Err(); err != nil || budget.left() <= 0 || work > maxFlowWork {
				return nil, err
			}
			work += u.steps * (len(u.net.links) + u.net.ranks)
			if row, ok := u.violatedCut(&demands[i], split); ok {
				rows, found = append(rows, row), true
			}
		}
		if !found {
			break
		}
		var ok bool
		if split, taken, ok = solveCutLP(rows, p.Steps); !ok {
			return nil, nil
		}
	}
	ratio := wholeBound(rows, taken, p.Steps)
	if ratio != nil {
		ratio.Quo(ratio, big.NewRat(int64(p.perChunk()), 1))
	}
	if ratio == nil || ratio.Cmp(known) <= 0 {
		return nil, nil
	}
	return &ratioBound{ratio: ratio, by: Bound, seconds: time.Since(start).Seconds(),
		why: fmt.Sprintf("what must pass %s of the network unrolled in steps takes no less, however rounds are split among them", plural(len(rows), "cut"))}, nil
}

// violatedCut finds a cut that a demand violates in a split of the rounds.
func (u *unrolled) violatedCut(d *demand, split []float64) (cutInequality, bool) {
	for s, arcs := range u.links {
		for i, a := range arcs {
			u.g.SetCapacity(a, int64(math.Round(split[s]*fineRounds))*int64(u.net.links[i].capacity))
		}
	}
	for r := range u.net.ranks {
		u.g.SetCapacity(u.feed[r], d.from[r]*fineRounds)
		u.g.SetCapacity(u.drain[r], d.into[r]*fineRounds)
	}
	// Ignore a shortage that can be due to rounding.
	if float64(u.g.MaxFlow(u.source, u.sink, maxflow.Unlimited)) >= float64(d.need)*fineRounds*(1-1e-4) {
		return cutInequality{}, false
	}
	row := cutInequality{need: d.need, capacity: make([]int64, u.steps)}
	for r := range u.net.ranks {
		if !u.g.OnSourceSide(u.rank(r, 0)) {
			row.need -= d.from[r]
		}
		if u.g.OnSourceSide(u.rank(r, u.steps)) {
			row.need -= d.into[r]
		}
	}
	for s := range u.steps {
		for _, l := range u.net.links {
			if u.g.OnSourceSide(u.vertex(l.from, s, s)) && !u.g.OnSourceSide(u.vertex(l.to, s, s+1)) {
				row.capacity[s] += int64(l.capacity)
			}
		}
	}
	return row, row.need > 0 && slices.Max(row.capacity) > 0
}

// solveCutLP returns the best weights of the inequalities, and the split with the fewest
// rounds that satisfies all of them.
func solveCutLP(rows []cutInequality, steps int) (split, taken []float64, ok bool) {
	lp := simplex.New(steps, len(rows))
	for i, row := range rows {
		lp.Maximize(i)
		for t, room := range row.capacity {
			lp.SetCoefficient(t, i, float64(room)/float64(row.need))
		}
	}
	for t := range steps {
		lp.SetBound(t, 1)
	}
	if !lp.Solve(math.Inf(1)) {
		return nil, nil, false
	}
	for t := range steps {
		split = append(split, lp.Dual(t))
	}
	for i, row := range rows {
		taken = append(taken, lp.Primal(i)/float64(row.need))
	}
	return split, taken, true
}

// wholeBound returns the bound that the inequalities prove with integer weights near the given
// ones, or nil.
func wholeBound(rows []cutInequality, taken []float64, steps int) *big.Rat {
	if len(taken) == 0 || slices.Max(taken) <= 0 {
		return nil
	}
	times := simplex.Integers(taken, finest, 1e-6)
	need, room := int64(0), int64(0)
	for t := range steps {
		passes := int64(0)
		for i, row := range rows {
			passes += times[i] * row.capacity[t]
		}
		room = max(room, passes)
	}
	for i, row := range rows {
		need += times[i] * row.need
	}
	return big.NewRat(need, room)
}

// excludes reports whether fewer than the given number of chunks get through the cut
// with this split of rounds.
func (c cutInequality) excludes(chunks int, split []int) bool {
	passes := int64(0)
	for t, n := range split {
		passes += c.capacity[t] * int64(n)
	}
	return passes < c.need*int64(chunks)
}

// exhausted reports whether, with the given rounds of the first steps, a cut can't
// be met however the remaining rounds are split.
func (c cutInequality) exhausted(chunks int, first []int, left int) bool {
	passes, most := int64(0), int64(0)
	for t, room := range c.capacity {
		if t < len(first) {
			passes += room * int64(first[t])
			continue
		}
		passes += room // every step has at least one
		left--
		most = max(most, room)
	}
	return passes+most*int64(left) < c.need*int64(chunks)
}
