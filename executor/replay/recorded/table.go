package recorded

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// Limits of a table.
const (
	maxAxes    = 64
	maxValue   = 256 // bytes of a value
	maxCalls   = 1024
	maxConfigs = 1 << 16 // of a call
	maxSizes   = 1 << 12 // of a call
	maxCells   = 1 << 20 // of all calls: configurations times sizes
)

// row is one line of a table: a configuration at a size, with what was measured.
type row struct {
	call   Call
	values map[string]string // of the configuration, by axis; none is empty
	bytes  int64
	times  []float64 // µs
	prior  float64   // µs; 0: none
}

// builder collects rows.
type builder struct {
	axes   []string
	calls  []*callRows
	byCall map[Call]*callRows
}

type callRows struct {
	call    Call
	configs []Config
	values  []map[string]string
	byName  map[string]int
	cells   map[[2]int64]*Cell // by configuration and bytes
	sizes   map[int64]bool
}

// The axes that have a place of their own in a configuration.
const (
	algorithmAxis = "algorithm"
	protocolAxis  = "protocol"
)

// noAlgorithm is the algorithm of a table that names none.
const noAlgorithm = "recorded"

// sameAxis has other names of axes.
var sameAxis = map[string]string{"algo": algorithmAxis, "proto": protocolAxis}

// addAxis makes room for a column, and returns its name.
func (b *builder) addAxis(name string) (string, error) {
	if as := sameAxis[name]; as != "" {
		name = as
	}
	if name == "" || len(name) > maxValue || strings.ContainsAny(name, " \t=") {
		return "", fmt.Errorf("column %q: want a name without blanks and =", name)
	}
	if !slices.Contains(b.axes, name) {
		if len(b.axes) == maxAxes {
			return "", fmt.Errorf("more than %d columns of configurations", maxAxes)
		}
		b.axes = append(b.axes, name)
	}
	return name, nil
}

func (b *builder) add(r row) error {
	c, err := configOf(r.values)
	if err != nil {
		return err
	}
	of := b.byCall[r.call]
	if of == nil {
		if len(b.calls) == maxCalls {
			return fmt.Errorf("more than %d calls", maxCalls)
		}
		of = &callRows{call: r.call, byName: map[string]int{}, cells: map[[2]int64]*Cell{}, sizes: map[int64]bool{}}
		b.byCall[r.call] = of
		b.calls = append(b.calls, of)
	}
	name := c.Name()
	config, known := of.byName[name]
	if !known {
		if config = len(of.configs); config == maxConfigs {
			return fmt.Errorf("more than %d configurations", maxConfigs)
		}
		of.byName[name] = config
		of.configs, of.values = append(of.configs, c), append(of.values, r.values)
	}
	if of.sizes[r.bytes] = true; len(of.sizes) > maxSizes {
		return fmt.Errorf("more than %d sizes", maxSizes)
	}
	cell := of.cells[[2]int64{int64(config), r.bytes}]
	if cell == nil {
		cell = &Cell{Recorded: true}
		of.cells[[2]int64{int64(config), r.bytes}] = cell
	}
	cell.TimesUS = append(cell.TimesUS, r.times...)
	if r.prior > 0 {
		cell.PriorUS = r.prior
	}
	return nil
}

// configOf makes a configuration of values by axis.
func configOf(values map[string]string) (Config, error) {
	c := Config{Algorithm: noAlgorithm, Settings: map[string]string{}}
	for axis, v := range values {
		switch {
		case len(v) > maxValue:
			return c, fmt.Errorf("%s of %d bytes: want at most %d", axis, len(v), maxValue)
		case axis == algorithmAxis:
			c.Algorithm = v
		case axis != protocolAxis:
			c.Settings[axis] = v
		case !strings.EqualFold(v, "auto"):
			at := slices.IndexFunc(protocols, func(p string) bool { return strings.EqualFold(p, v) })
			if at < 0 {
				return c, fmt.Errorf("protocol %q: want one of %s, or auto", v, strings.Join(protocols, ", "))
			}
			c.Protocol = protocols[at]
		}
	}
	return c, nil
}

var protocols = []string{"LL", "LL128", "Simple"}

// table makes the spaces of the rows.
func (b *builder) table() (*Table, error) {
	if len(b.calls) == 0 {
		return nil, errors.New("no row: nothing was recorded")
	}
	t, cells := &Table{}, 0
	for _, of := range b.calls {
		if cells += len(of.configs) * len(of.sizes); cells > maxCells {
			return nil, fmt.Errorf("%d configurations times sizes: want at most %d", cells, maxCells)
		}
		s := Space{Call: of.call, Axes: b.axes, Configs: of.configs, byName: of.byName}
		for n := range of.sizes {
			s.Sizes = append(s.Sizes, n)
		}
		slices.Sort(s.Sizes)
		for i := range s.Configs {
			s.Configs[i].Values = make([]string, len(b.axes))
			for a, axis := range b.axes {
				s.Configs[i].Values[a] = of.values[i][axis]
			}
			line := make([]Cell, len(s.Sizes))
			for n, bytes := range s.Sizes {
				if c := of.cells[[2]int64{int64(i), bytes}]; c != nil {
					line[n] = *c
				}
			}
			s.cells = append(s.cells, line)
		}
		t.Spaces = append(t.Spaces, s)
	}
	return t, nil
}

// collectiveNamed returns colltune's name of a collective: all_reduce is allreduce.
func collectiveNamed(name string) (string, error) {
	if ours := collective.Anyone.Collective(name); ours != "" {
		return ours, nil
	}
	names := collective.Names()
	return "", fmt.Errorf("collective %q%s: want one of %s", name, suggest.DidYouMean(collective.Joined(name), names), strings.Join(names, ", "))
}

// checkTime returns an error for a time that no trial can have.
func checkTime(us float64) error {
	if math.IsNaN(us) {
		return errors.New("want a time in microseconds")
	}
	return units.CheckTimeUS(us)
}
