package autotune

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/autotune/strategy"
)

// Bounded is the strategy of exact times: by rising lower bound, it runs every trial that
// could win. The others are those of package strategy.
const Bounded = "bounded"

// MeasuredStrategy is the strategy where times are measured, unless another is asked for. It
// alone has expectations: Problem.Gain and Problem.Earlier concern no other.
const MeasuredStrategy = "model"

// listed are the strategies of package strategy that measure everything, and so need no
// prior.
var listed = []string{"exhaustive", "random"}

// DefaultGain is the part of a size's time below which a strategy expects too little to go on.
const DefaultGain = 0.01

// Strategies lists the names of all strategies.
func Strategies() []string {
	names := []string{Bounded}
	for _, row := range strategy.Table {
		names = append(names, row.Name)
	}
	return names
}

// CheckStrategy returns an error that lists the strategies if there is none of that name.
// The empty name is the default.
func CheckStrategy(name string) error {
	if all := Strategies(); name != "" && !slices.Contains(all, name) {
		return fmt.Errorf("strategy %q: want one of %v", name, all)
	}
	return nil
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
