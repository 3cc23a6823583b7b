package autotune

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/autotune/model"
)

// The strategies, by name.
const (
	// Bounded is the strategy of exact times: by rising lower bound, it runs every trial that
	// could win.
	Bounded = "bounded"
	// MeasuredStrategy is the strategy where times are measured, unless another is asked for. It
	// alone has expectations: Problem.Gain and Problem.Earlier concern no other.
	MeasuredStrategy = "model"
	// Exhaustive runs every trial.
	Exhaustive = "exhaustive"
)

// DefaultGain is the part of a size's time below which a strategy expects too little to go on.
const DefaultGain = 0.01

// Strategies lists the names of all strategies.
func Strategies() []string { return []string{Bounded, Exhaustive, MeasuredStrategy} }

// removed are strategies that campaigns were made with, and that there are no more.
var removed = []string{"random", "halving", "descent"}

// CheckStrategy returns an error that lists the strategies if there is none of that name.
// The empty name is the default.
func CheckStrategy(name string) error {
	switch all := Strategies(); {
	case name == "" || slices.Contains(all, name):
		return nil
	case slices.Contains(removed, name):
		return fmt.Errorf("strategy %q is there no more: results prints what the campaign has; to measure more, search with --strategy bounded, model or exhaustive into another --campaign", name)
	default:
		return fmt.Errorf("strategy %q: want one of %v", name, all)
	}
}

// StrategyOf is the strategy of a run: the one asked for or, if that is empty, the default,
// which depends on whether the executor's times are deterministic.
func StrategyOf(asked string, deterministic bool) string {
	switch {
	case asked != "":
		return asked
	case deterministic:
		return Bounded
	}
	return MeasuredStrategy
}

// strategyName is the name of the run's strategy.
func (r *run) strategyName() string { return StrategyOf(r.options.Strategy, r.deterministic) }

// chooser decides which points of a space to measure next.
type chooser interface {
	// Next returns at most n points, none if it is done. Points of the history may be among
	// them: they are measured again.
	Next(history []model.Observation, n int) []model.Point
	// Outlook returns what is to be expected, by size.
	Outlook(history []model.Observation) []model.Outlook
}

// exhaustive measures every point of a space, size by size.
type exhaustive struct{ *space }

func (e exhaustive) Next(history []model.Observation, n int) (next []model.Point) {
	seen := seenIn(history)
	for size := range e.Sizes {
		for config := range e.Configs {
			if p := (model.Point{Config: config, Size: size}); len(next) < n && !e.Never(p) && !seen[p] {
				next = append(next, p)
			}
		}
	}
	return next
}

// Outlook says that a size is done with the last of its points.
func (e exhaustive) Outlook(history []model.Observation) []model.Outlook {
	seen, all := seenIn(history), make([]model.Outlook, len(e.Sizes))
	for size := range all {
		all[size] = model.Outlook{Size: size, Incumbent: -1, Done: true}
		for config := range e.Configs {
			if p := (model.Point{Config: config, Size: size}); all[size].Done && !e.Never(p) && !seen[p] {
				all[size].Next, all[size].Done = p, false
			}
		}
	}
	return all
}

// seenIn are the points of a history.
func seenIn(history []model.Observation) map[model.Point]bool {
	seen := map[model.Point]bool{}
	for _, o := range history {
		seen[o.Point] = true
	}
	return seen
}
