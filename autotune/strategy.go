package autotune

import (
	"context"
	"fmt"
	"strings"
)

// strategy decides which trials of a cell to make.
type strategy struct {
	name string
	doc  string
	run  func(context.Context, *run, *cell) error
}

// strategies is the table of strategies; the first is the default.
var strategies = []strategy{
	{"bounded", "every trial in the order of its lower bound, until no bound is below the time of the best", bounded},
}

// strategyNames lists the names of the strategies, the default first.
func strategyNames() []string {
	names := make([]string, len(strategies))
	for i, s := range strategies {
		names[i] = s.name
	}
	return names
}

func strategyNamed(name string) (strategy, error) {
	if name == "" {
		return strategies[0], nil
	}
	for _, s := range strategies {
		if s.name == name {
			return s, nil
		}
	}
	return strategy{}, fmt.Errorf("unknown strategy %q: want one of %s", name, strings.Join(strategyNames(), ", "))
}
