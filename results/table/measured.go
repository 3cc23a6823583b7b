package table

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Cell is one placement and one size, at which trials compete.
type Cell struct {
	Placement string // "in" or "out" of place
	Bytes     int64  // size of the call
}

// Cells lists a plan's cells in the table's order: by placement, then rising size.
func Cells(p results.Plan) []Cell {
	var all []Cell
	for _, placement := range p.Placements() {
		for _, n := range p.Sizes {
			all = append(all, Cell{placement, n})
		}
	}
	return all
}

// Measured is a configuration that has a time: the result of all its repetitions.
type Measured struct {
	*results.Trial             // the first repetition; not to be changed
	Evidence                   // of all repetitions that were ok
	TimeUS         float64     // median of all their iterations
	CIUS           [2]float64  // results.MedianCI of them
	Repeats        [][]float64 // the iterations of each of them, in µs
}

// Config identifies a program with its knobs in a cell. Its trials are repetitions
// of one another.
type Config struct {
	Cell
	Program, Protocol string
	TileBytes         int64
}

// Pool holds the repetitions of a configuration.
type Pool struct {
	First   *results.Trial // the first repetition
	TimesUS []float64      // of all that were ok
	repeats []*results.Trial
	Evidence
	Wrong bool // some left wrong data
}

// Pools collects the repetitions of each configuration. It keeps pointers into trials.
func Pools(trials []results.Trial) map[Config]*Pool {
	all := map[Config]*Pool{}
	for i := range trials {
		t := &trials[i]
		k := Config{Cell{t.Placement, t.Bytes}, t.Program, t.Protocol, t.TileBytes}
		p := all[k]
		if p == nil {
			p = &Pool{First: t}
			all[k] = p
		}
		if t.Repeat < p.First.Repeat {
			p.First = t
		}
		switch t.Outcome {
		case results.OK:
			p.TimesUS, p.repeats = append(p.TimesUS, t.TimesUS...), append(p.repeats, t)
			p.Evidence = p.Evidence.Plus(evidenceOf(t.Data, 1))
		case results.Wrong:
			p.Wrong = true
		}
	}
	return all
}

// byRepeat returns the iterations of each repetition that was ok.
func (p *Pool) byRepeat() (all [][]float64) {
	slices.SortFunc(p.repeats, func(a, b *results.Trial) int { return cmp.Compare(a.Repeat, b.Repeat) })
	for _, t := range p.repeats {
		all = append(all, t.TimesUS)
	}
	return all
}

// Measurements lists the configurations measured in each cell, fastest first. One that
// gave wrong data once is left out.
func Measurements(trials []results.Trial) map[Cell][]Measured {
	all := map[Cell][]Measured{}
	for k, p := range Pools(trials) {
		if p.Wrong || len(p.TimesUS) == 0 {
			continue
		}
		all[k.Cell] = append(all[k.Cell], Measured{p.First, p.Evidence, results.Median(p.TimesUS), results.MedianCI(p.TimesUS), p.byRepeat()})
	}
	for _, ms := range all {
		slices.SortFunc(ms, Compare)
	}
	return all
}

// Competes reports whether m may win: a reference, run to be compared with, may not.
func (m Measured) Competes() bool { return !m.Reference }

// Compare orders configurations by time. Tie settles equal times.
func Compare(a, b Measured) int {
	return cmp.Or(cmp.Compare(a.TimeUS, b.TimeUS), Tie(a.Trial, b.Trial))
}

// Tie orders trials of equal time by properties that don't vary between measurements:
// fewer threadblocks, fewer steps, then names. The order is total.
func Tie(a, b *results.Trial) int {
	if c := cmp.Or(
		cmp.Compare(a.Threadblocks, b.Threadblocks),
		cmp.Compare(a.Steps, b.Steps),
		strings.Compare(a.Algorithm, b.Algorithm),
	); c != 0 {
		return c // parameters take long to print
	}
	return cmp.Or(
		strings.Compare(ParametersText(a.Parameters), ParametersText(b.Parameters)),
		cmp.Compare(a.Channels, b.Channels),
		cmp.Compare(a.Instances, b.Instances),
		strings.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.TileBytes, b.TileBytes),
		strings.Compare(a.Program, b.Program),
	)
}

// ParametersText prints parameters as in a cell of the table: a=1 b=ring.
func ParametersText(p map[string]any) string { return strings.Join(ParametersWords(p), " ") }

// ParametersWords is ParametersText, a word for each parameter.
func ParametersWords(p map[string]any) []string {
	return lists.Map(slices.Sorted(maps.Keys(p)), func(name string) string {
		value, ok := p[name].(string)
		if !ok {
			// Encoded and decoded, so that a value has the type that the journal
			// would give it.
			text, err := json.Marshal(p[name])
			if err != nil {
				text = []byte(fmt.Sprint(p[name]))
			}
			value = string(text)
		}
		return name + "=" + value
	})
}

// briefParameters prints parameters for a line that people read, and only the
// beginning of long ones, such as orders and trees of many ranks. Files and other
// formats have them whole.
func briefParameters(p map[string]any) string {
	const most = 40
	words := strings.Fields(ParametersText(p))
	for i, w := range words {
		if r := []rune(w); len(r) > most {
			words[i] = string(r[:most-1]) + "…"
		}
	}
	return strings.Join(words, " ")
}

// Title names the configuration with its knobs, in one line.
func (m *Measured) Title() string {
	name := m.Algorithm
	if p := briefParameters(m.Parameters); p != "" {
		name += " " + p
	}
	if m.IsSetting() {
		name = "the library's " + name
	}
	if m.IsNative() {
		return name + " " + m.Protocol
	}
	return fmt.Sprintf("%s ×%d %s tile %s", name, m.Instances, m.Protocol, units.Bytes(m.TileBytes).String())
}

// Title names a range's winner, in one line.
func (r *Range) Title() string {
	if p := briefParameters(r.Parameters); p != "" {
		return r.Algorithm + " " + p
	}
	return r.Algorithm
}
