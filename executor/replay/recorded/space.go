package recorded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Call is what was timed. A field of the zero value is one that the table does not name.
type Call struct {
	Collective string // as colltune names it
	DType, Op  string
	Nodes      int
	Ranks      int
	Placement  string // "in" or "out"
}

// Includes reports whether c and other agree in every field that both of them name.
func (c Call) Includes(other Call) bool {
	text := func(a, b string) bool { return a == "" || b == "" || a == b }
	count := func(a, b int) bool { return a == 0 || b == 0 || a == b }
	return text(c.Collective, other.Collective) && text(c.DType, other.DType) && text(c.Op, other.Op) &&
		count(c.Nodes, other.Nodes) && count(c.Ranks, other.Ranks) && text(c.Placement, other.Placement)
}

// String describes a call: "allreduce f32 sum, 2 nodes, 16 ranks, in place".
func (c Call) String() string {
	all := []string{strings.TrimSpace(strings.Join([]string{c.Collective, c.DType, c.Op}, " "))}
	if c.Nodes > 0 {
		all = append(all, units.Count(c.Nodes, "node"))
	}
	if c.Ranks > 0 {
		all = append(all, units.Count(c.Ranks, "rank"))
	}
	if c.Placement != "" {
		all = append(all, map[string]string{"in": "in place", "out": "out of place"}[c.Placement])
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	if len(all) == 0 {
		return "any call"
	}
	return strings.Join(all, ", ")
}

// Space is what was recorded of one call: a table of cells, configurations by sizes.
type Space struct {
	Call    Call
	Axes    []string // what Config.Values are values of: algorithm, protocol, other columns
	Configs []Config // in the order of their first rows
	Sizes   []int64  // bytes, rising
	cells   [][]Cell // by configuration and size
	byName  map[string]int
}

// Config is a configuration that was recorded, at one size or more.
type Config struct {
	Algorithm string
	Protocol  string            // LL, LL128 or Simple; "": the library chose
	Settings  map[string]string // its other columns that are not empty
	Values    []string          // by Space.Axes; "": it has none
}

// Name returns the configuration in one line, which no other of its space has:
// "ring LL channels=8".
func (c *Config) Name() string { return nameOf(c.Algorithm, c.Protocol, c.Settings) }

func nameOf(algorithm, protocol string, settings map[string]string) string {
	words := []string{algorithm}
	if protocol != "" {
		words = append(words, protocol)
	}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		words = append(words, k+"="+settings[k])
	}
	return strings.Join(words, " ")
}

// Cell is what was recorded of a configuration at a size.
type Cell struct {
	Recorded bool      // there is a row
	TimesUS  []float64 // in µs, in the order of the rows; none: it was tried, and failed
	PriorUS  float64   // a model's time in µs; 0: none
}

// At returns a cell by the indices of its configuration and size.
func (s *Space) At(config, size int) Cell { return s.cells[config][size] }

// AtBytes returns the cell of a configuration, by its index, at a size in bytes.
func (s *Space) AtBytes(config int, bytes int64) Cell {
	if i, ok := slices.BinarySearch(s.Sizes, bytes); ok {
		return s.cells[config][i]
	}
	return Cell{}
}

// HasPrior reports whether some cell has a model's time.
func (s *Space) HasPrior() bool {
	return slices.ContainsFunc(s.cells, func(row []Cell) bool {
		return slices.ContainsFunc(row, func(c Cell) bool { return c.PriorUS > 0 })
	})
}

// Find returns the index of a configuration, or an error that says that there is none.
func (s *Space) Find(algorithm, protocol string, settings map[string]string) (int, error) {
	name := nameOf(algorithm, protocol, settings)
	if i, ok := s.byName[name]; ok {
		return i, nil
	}
	return 0, fmt.Errorf("%s of %s was not recorded", name, s.Call)
}

// Table is the spaces of one or more files, one for each call, in the order of their first rows.
type Table struct {
	Spaces []Space
	Hash   string // of the files' bytes
}

// Of returns the one space whose call includes the given one. The error lists those there are,
// if it is none or several.
func (t *Table) Of(call Call) (*Space, error) {
	var found []*Space
	var has []string
	for i := range t.Spaces {
		if t.Spaces[i].Call.Includes(call) {
			found = append(found, &t.Spaces[i])
		}
		if len(has) < mostListed {
			has = append(has, t.Spaces[i].Call.String())
		}
	}
	if len(t.Spaces) > mostListed {
		has = append(has, fmt.Sprintf("and %d more", len(t.Spaces)-mostListed))
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("nothing was recorded of %s: want one of %s", call, strings.Join(has, "; "))
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d calls were recorded: want one of %s", len(found), strings.Join(has, "; "))
}

// mostListed is how many calls an error lists.
const mostListed = 12
