package strategies

import (
	"fmt"

	"github.com/colltune/colltune/autotune/model"
)

// Table lists the strategies.
var Table = []Row{
	{"exhaustive", "every configuration at every size", newExhaustive},
	{"random", "the configurations of each size in random order", newRandom},
	{"halving", "every configuration at the ends of the sizes, half as many at each halving of the gaps", newHalving},
	{"descent", "at each size from the last one's winner, one trait at a time", newDescent},
	{"model", "a Gaussian process: the largest expected gain for the time that a trial takes", func(s *Space, o Options) Strategy { return model.New(s, o) }},
}

// What a strategy chooses from, and learns of it.
type (
	Space       = model.Space
	Point       = model.Point
	Observation = model.Observation
	Outlook     = model.Outlook
	Options     = model.Options
)

// Strategy decides on one space.
type Strategy interface {
	// Next returns at most n points to measure, none if the strategy is done. Points of
	// the history may be among them: they are measured again.
	Next(history []Observation, n int) []Point
	// Outlook returns what is to be expected, by size.
	Outlook(history []Observation) []Outlook
}

// Row is a strategy of the table.
type Row struct {
	Name string
	Doc  string
	New  func(*Space, Options) Strategy
}

// Named returns the strategy of a name.
func Named(name string) (Row, error) {
	var names []string
	for _, r := range Table {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Row{}, fmt.Errorf("strategy %q: want one of %v", name, names)
}
