package autotune

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/autotune/strategy"
)

// Bounded is the strategy of exact times: by rising lower bound, it runs every trial that
// could win. The others are those of package strategy.
const Bounded = "bounded"

// MeasuredStrategy is the strategy where times are measured, unless another is asked for.
const MeasuredStrategy = Bounded

// blind are the strategies of package strategy that ask for no prior.
var blind = []string{"exhaustive", "random"}

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

// strategyName is the name of the run's strategy.
func (r *run) strategyName() string {
	switch {
	case r.options.Strategy != "":
		return r.options.Strategy
	case r.deterministic:
		return Bounded
	}
	return MeasuredStrategy
}
