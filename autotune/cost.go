package autotune

import (
	"math"
	"slices"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/results"
)

// leastSeconds is the least that a trial is taken to cost.
const leastSeconds = 1e-3

// costs is what trials cost, as the history shows it: by what the executor tells or, where
// it tells of none, by this machine's clock. A trial may ride on a launch that was
// made for another size of its configuration (executor nccl with sweep): then it costs next
// to nothing. So its cost is that of the trials of its kind:
//
//	launches   of a configuration's first trial, or of one more repetition of it than of any size
//	rides      of all others
type costs struct {
	seconds  [2][]float64 // by whether a trial rides, and size; NaN: none was made
	trials   map[model.Point]int
	launches map[int]int // by configuration: the most trials of a size
}

func costsOf(sizes int, history []model.Observation) *costs {
	if !slices.ContainsFunc(history, func(o model.Observation) bool { return o.Cost > 0 }) {
		return clocked(sizes, history)
	}
	return costsBy(sizes, history, func(o *model.Observation) (float64, bool) { return o.Cost, o.Cost > 0 })
}

// clocked are the costs by the clock alone: what a search will take.
func clocked(sizes int, history []model.Observation) *costs {
	return costsBy(sizes, history, func(o *model.Observation) (float64, bool) { return o.Seconds, true })
}

// costsBy reads them from a history, where the cost of each trial is known or not.
func costsBy(sizes int, history []model.Observation, cost func(*model.Observation) (float64, bool)) *costs {
	c := &costs{trials: map[model.Point]int{}, launches: map[int]int{}}
	all := [2][][]float64{make([][]float64, sizes), make([][]float64, sizes)}
	for _, o := range history {
		if seconds, known := cost(&o); known {
			kind := c.kind(o.Point)
			all[kind][o.Size] = append(all[kind][o.Size], max(seconds, leastSeconds))
		}
		c.trials[o.Point]++
		c.launches[o.Config] = max(c.launches[o.Config], c.trials[o.Point])
	}
	for kind := range all {
		for _, seconds := range all[kind] {
			median := math.NaN()
			if len(seconds) > 0 {
				median = results.Median(seconds)
			}
			c.seconds[kind] = append(c.seconds[kind], median)
		}
	}
	return c
}

// kind is 1 for a trial of a point that rides on a launch, else 0.
func (c *costs) kind(p model.Point) int {
	if c.trials[p] < c.launches[p.Config] {
		return 1
	}
	return 0
}

// of returns what the next trial of a point is expected to cost, in seconds: as those of its
// kind at its size or, where there were none, at the nearest one.
func (c *costs) of(p model.Point) float64 {
	for _, kind := range []int{c.kind(p), 0, 1} {
		for d := range c.seconds[kind] {
			for _, size := range []int{p.Size + d, p.Size - d} {
				if size >= 0 && size < len(c.seconds[kind]) && !math.IsNaN(c.seconds[kind][size]) {
					return c.seconds[kind][size]
				}
			}
		}
	}
	return 1
}
