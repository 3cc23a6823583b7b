package autotune

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/lists"
)

// The names of strategies.
const (
	Bounded = "bounded"
	// MeasuredStrategy is the strategy where times are measured, unless another is asked for. It
	// alone has expectations: Problem.Gain and Problem.Earlier concern no other.
	MeasuredStrategy = "model"
	Exhaustive       = "exhaustive"
)

// strategy is a way to choose trials.
type strategy struct {
	name   string
	doc    string
	start  func(*tuner) chooser
	proves bool // what it leaves out can win nowhere
}

var strategies = []strategy{
	{Bounded, "by rising lower bound, every trial that could win", startByBound, true},
	{Exhaustive, "every trial, size by size", startExhaustive, false},
	{MeasuredStrategy, "what a model expects to gain most for the time that a trial takes", startByModel, false},
}

// removed are strategies that campaigns were made with, and that there are no more.
var removed = []string{"random", "halving", "descent"}

// Strategies lists the names of all strategies.
func Strategies() []string { return lists.Map(strategies, func(s strategy) string { return s.name }) }

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
