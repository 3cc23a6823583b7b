package score

import (
	"errors"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// game is a recorded space as strategies see it, with what they do not see.
type game struct {
	space model.Space
	names []string    // of the configurations
	truth [][]float64 // recorded times in µs, by configuration and size; 0: none
	best  []float64   // the least of each size, in µs
}

// newGame makes a game of a recorded space. Sizes at which no configuration has a time are
// left out, and so is what was recorded of them. An error says that none is left.
func newGame(r *recorded.Space, prior bool) (*game, error) {
	g := &game{space: model.Space{Traits: r.Axes}}
	var sizes []int // indices in r
	for n := range r.Sizes {
		best := 0.0
		for c := range r.Configs {
			cell := r.At(c, n)
			if us := cell.TimeUS(); us > 0 && (best == 0 || us < best) {
				best = us
			}
		}
		if best > 0 {
			sizes, g.best = append(sizes, n), append(g.best, best)
			g.space.Sizes = append(g.space.Sizes, r.Sizes[n])
		}
	}
	if len(sizes) == 0 {
		return nil, errors.New("no size with a time")
	}
	missing := map[model.Point]bool{}
	for c := range r.Configs {
		of := &r.Configs[c]
		g.names = append(g.names, of.Name())
		g.space.Configs = append(g.space.Configs, model.Config{Name: of.Name(), Traits: of.Values})
		truth, priors := make([]float64, len(sizes)), make([]float64, len(sizes))
		for i, n := range sizes {
			cell := r.At(c, n)
			truth[i], priors[i] = cell.TimeUS(), cell.PriorUS
			if !cell.Recorded {
				missing[model.Point{Config: c, Size: i}] = true
			}
		}
		g.truth = append(g.truth, truth)
		if prior && r.HasPrior() {
			g.space.PriorUS = append(g.space.PriorUS, priors)
		}
	}
	g.space.Never = func(p model.Point) bool { return missing[p] }
	return g, nil
}
