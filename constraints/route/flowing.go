package route

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/constraints/simplex"
)

// Every flow that a collective needs must pass all cuts of the unrolled network,
// and how much can pass a cut depends on how the rounds are split:
//
//	3 chunks must come to rank 6   ≤   2 × rounds of step 1 + 4 × rounds of step 2
//
// Any such rows, each multiplied by a weight and added up, bound R/C for a number
// of steps and any number of chunks: the total that must pass, divided by the most
// that a round of any step lets through. The best weights are found by a linear
// program, to which cuts are added that its own best split of the rounds does not
// meet, until there are none. It computes in floating point; the weights are then
// rounded to whole numbers, which can weaken the bound slightly but never makes it
// wrong.

// crossing is a row: an amount of chunks that must pass a cut, and what a round of
// each step lets through.
type crossing struct {
	need int64
	room []int64 // by step
}

// ratio is the least R/C that satisfies the row, or nil if it implies nothing.
func (c crossing) ratio() *big.Rat {
	if room := slices.Max(c.room); room > 0 && c.need > 0 {
		return big.NewRat(c.need, room)
	}
	return nil
}

const (
	// manyCrossings limits how many rows are looked for.
	manyCrossings = 200
	// fineRounds is the number of parts into which a round is divided for integral
	// flows.
	fineRounds = 1 << 20
)

// flowing is the bound by flows for a number of steps, for a problem of one chunk.
// It is nil if it is not above the bound already known, or not found in time.
func (p *problem) flowing(ask asker, known *big.Rat) (*floor, error) {
	start := time.Now()
	one := p
	demands := []demand(nil)
	switch {
	case p.everySum():
		demands = p.crossings()
	case p.reduces:
		one = p.dual()
		demands = one.demands()
	default:
		demands = p.demands()
	}
	u := one.net.unroll(p.Steps)
	var rows []crossing
	split := make([]float64, p.Steps) // by step: rounds for each chunk
	for i := range split {
		split[i], _ = known.Float64()
		split[i] /= float64(p.Steps)
	}
	var taken []float64
	work := 0
	for len(rows) < manyCrossings {
		found := false
		for i := range demands {
			if err := ask.ctx.Err(); err != nil || ask.left() <= 0 || work > maxWork {
				return nil, err
			}
			work += u.steps * (len(u.net.links) + u.net.ranks)
			if row, ok := u.held(&demands[i], split); ok {
				rows, found = append(rows, row), true
			}
		}
		if !found {
			break
		}
		var ok bool
		if split, taken, ok = mixed(rows, p.Steps); !ok {
			return nil, nil
		}
	}
	ratio := whole(rows, taken, p.Steps)
	if ratio != nil {
		ratio.Quo(ratio, big.NewRat(int64(p.perChunk()), 1))
	}
	if ratio == nil || ratio.Cmp(known) <= 0 {
		return nil, nil
	}
	return &floor{ratio: ratio, by: Bound, seconds: time.Since(start).Seconds(),
		why: fmt.Sprintf("what must pass %s of the network unrolled in steps takes no less, however rounds are split among them", many(len(rows), "cut"))}, nil
}

// held finds a cut that keeps a demand from being met in a split of the rounds.
func (u *unrolled) held(d *demand, split []float64) (crossing, bool) {
	for s, arcs := range u.links {
		for i, a := range arcs {
			u.g.SetCapacity(a, int64(math.Round(split[s]*fineRounds))*int64(u.net.links[i].capacity))
		}
	}
	for r := range u.net.ranks {
		u.g.SetCapacity(u.feed[r], d.from[r]*fineRounds)
		u.g.SetCapacity(u.drain[r], d.into[r]*fineRounds)
	}
	// A shortage that rounding alone explains does not count.
	if float64(u.g.MaxFlow(u.source, u.sink, maxflow.Unlimited)) >= float64(d.need)*fineRounds*(1-1e-4) {
		return crossing{}, false
	}
	row := crossing{need: d.need, room: make([]int64, u.steps)}
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
				row.room[s] += int64(l.capacity)
			}
		}
	}
	return row, row.need > 0 && slices.Max(row.room) > 0
}

// mixed returns the best weights of the rows, and the split with the fewest rounds
// that satisfies all of them.
func mixed(rows []crossing, steps int) (split, taken []float64, ok bool) {
	lp := simplex.New(steps, len(rows))
	for i, row := range rows {
		lp.Maximize(i)
		for t, room := range row.room {
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

// whole is the bound that rows prove with whole weights near the given ones, or
// nil.
func whole(rows []crossing, taken []float64, steps int) *big.Rat {
	most := 0.0
	for _, x := range taken {
		most = max(most, x)
	}
	if most == 0 {
		return nil
	}
	times := make([]int64, len(taken))
	for scale := 1.0; scale <= finest; scale++ {
		fits := true
		for i, x := range taken {
			x *= scale / most
			times[i] = int64(math.Round(x))
			fits = fits && math.Abs(x-math.Round(x)) < 1e-6*scale
		}
		if fits {
			break
		}
	}
	need, room := int64(0), int64(0)
	for t := range steps {
		passes := int64(0)
		for i, row := range rows {
			passes += times[i] * row.room[t]
		}
		room = max(room, passes)
	}
	for i, row := range rows {
		need += times[i] * row.need
	}
	return big.NewRat(need, room)
}
