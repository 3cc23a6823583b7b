package score

import (
	"math"
	"slices"
	"strconv"

	"github.com/colltune/colltune/cmd/lab/strategies"
)

// Ratio is a time divided by the best one. It is infinite while some size has no
// winner.
type Ratio float64

// String writes a ratio; - if it is infinite.
func (r Ratio) String() string {
	if math.IsInf(float64(r), 0) {
		return "-"
	}
	return strconv.FormatFloat(float64(r), 'f', 3, 64)
}

// Regret is how far the winners of all sizes are from the best: the ratios' largest and
// their geometric mean.
type Regret struct{ Largest, Mean Ratio }

// regret returns the regret of a strategy's winners.
func (g *game) regret(all []strategies.Outlook) Regret {
	winners := make([]int, len(g.best))
	for i := range winners {
		winners[i] = -1
	}
	for _, o := range all {
		winners[o.Size] = o.Incumbent
	}
	largest, logs := 1.0, 0.0
	for size, w := range winners {
		ratio := math.Inf(1)
		if w >= 0 && g.truth[w][size] > 0 {
			ratio = g.truth[w][size] / g.best[size]
		}
		largest = max(largest, ratio)
		logs += math.Log(ratio)
	}
	return Regret{Ratio(largest), Ratio(math.Exp(logs / float64(len(winners))))}
}

// Spread is the median of the seeds, and the value that nine tenths of them do not exceed.
type Spread struct {
	Median Ratio
	P90    Ratio
}

// Point is the regret after some trials a size, over the seeds.
type Point struct {
	Trials  int // a size, in the mean over sizes
	Largest Spread
	Mean    Spread
}

// Curve is a strategy's regret against trials.
type Curve struct {
	Strategy string
	Points   []Point // after 1, 2, … trials a size
	// Trials is how many a size the strategy made, in the mean over sizes and seeds, until
	// it was done or had made the most.
	Trials float64
}

// End returns the regret after the last trial.
func (c *Curve) End() Point { return c.Points[len(c.Points)-1] }

// curveOf puts the plays of a strategy together.
func curveOf(name string, plays []play, most, sizes int) Curve {
	c := Curve{Strategy: name}
	for k := range most {
		var largest, mean []Ratio
		for _, p := range plays {
			largest, mean = append(largest, p.regret[k].Largest), append(mean, p.regret[k].Mean)
		}
		c.Points = append(c.Points, Point{k + 1, spread(largest), spread(mean)})
	}
	for _, p := range plays {
		c.Trials += float64(p.trials) / float64(sizes*len(plays))
	}
	return c
}

// spread returns the median and the nearest rank of nine tenths. It sorts the ratios.
func spread(all []Ratio) Spread {
	slices.Sort(all)
	n := len(all)
	return Spread{(all[(n-1)/2] + all[n/2]) / 2, all[(9*n+9)/10-1]}
}
