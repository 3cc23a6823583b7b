package dispatcher

import (
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

// recipe is what a program is made from and runs with, on any number of nodes.
type recipe struct {
	family    string // or construction, or a library's algorithm
	routing   string // family and parameters
	instances int
	protocol  string
	tile      int64
}

func recipeOf(t *results.Trial) recipe {
	family := t.Algorithm
	if t.IsNative() {
		family = "library's " + family // a family may have the same name
	}
	return recipe{family, search.Routing(family, t.Parameters), t.Instances, t.Protocol, t.TileBytes}
}

// times are the times of recipes in µs, by size and placement; of the ways to fill what is
// found for a topology, the fastest counts.
type times map[table.Cell]map[recipe]float64

func (t times) add(at table.Cell, r recipe, us float64) {
	if t[at] == nil {
		t[at] = map[recipe]float64{}
	}
	if before, there := t[at][r]; !there || us < before {
		t[at][r] = us
	}
}

func measuredTimes(c *results.Campaign) times {
	all := times{}
	for at, ms := range table.Measurements(c.Trials()) {
		for i := range ms {
			if m := &ms[i]; m.Competes() && !m.IsSetting() {
				all.add(at, recipeOf(m.Trial), m.TimeUS)
			}
		}
	}
	return all
}

func estimatedTimes(estimates []search.Estimate) times {
	all := times{}
	for _, e := range estimates {
		routing := search.Routing(e.Algorithm, e.Parameters)
		for _, t := range e.Times {
			all.add(table.Cell{Placement: e.Placement, Bytes: t.Bytes}, recipe{e.Algorithm, routing, e.Instances, t.Protocol, t.TileBytes}, t.US)
		}
	}
	return all
}
