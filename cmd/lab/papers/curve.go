package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Duel compares two programs at some sizes.
type Duel struct {
	Setting
	Of, Over Program // the speedup of Of over Over
	Sizes    []int64 // bytes, rising
}

// name is how the page names a program of the duel.
func (d *Duel) name(p Program) string {
	switch {
	case p.Family != "":
		return p.Name
	case vendorOf[d.System] == "rccl":
		return "RCCL"
	}
	return "NCCL"
}

// Curve is a duel with its simulated times in microseconds.
type Curve struct {
	Duel
	OfUS, OverUS []float64
}

// Run simulates a duel.
func (d Duel) Run(l *Lab) (c Curve, err error) {
	c.Duel = d
	if c.OfUS, err = l.Times(d.Setting, d.Of, d.Sizes); err != nil {
		return c, err
	}
	c.OverUS, err = l.Times(d.Setting, d.Over, d.Sizes)
	return c, err
}

// speedup is that of the i-th size.
func (c *Curve) speedup(i int) float64 { return c.OverUS[i] / c.OfUS[i] }

// at is the index of a size, which the duel has.
func (c *Curve) at(size int64) int { return slices.Index(c.Sizes, size) }

// ahead names the ranges of sizes at which Of is ahead.
func (c *Curve) ahead() string {
	var spans []string
	for i := 0; i < len(c.Sizes); i++ {
		first := i
		for i < len(c.Sizes) && side(c.speedup(i)) > 0 {
			i++
		}
		switch {
		case i == first:
		case first == 0 && i == len(c.Sizes):
			return "everywhere"
		case i == first+1:
			spans = append(spans, bytesText(c.Sizes[first]))
		default:
			spans = append(spans, bytesText(c.Sizes[first])+" to "+bytesText(c.Sizes[i-1]))
		}
	}
	if spans == nil {
		return "nowhere"
	}
	return strings.Join(spans, ", ")
}

// curves is evidence from duels.
type curves struct {
	duels []Duel
	take  func([]Curve) Found
	what  string // is taken
}

func (e curves) How() string {
	d := e.duels[0]
	text := e.what + ": " + d.name(d.Of)
	if d.Over.Name != d.Of.Name {
		text += " over " + d.name(d.Over)
	}
	text += ", " + d.Collective + " on "
	var where []string
	for _, d := range e.duels {
		where = append(where, fmt.Sprintf("%s × %d", d.System, d.Nodes))
	}
	return text + strings.Join(slices.Compact(where), ", ")
}

func (e curves) Find(l *Lab) (Found, error) {
	all := make([]Curve, len(e.duels))
	for i, d := range e.duels {
		var err error
		if all[i], err = d.Run(l); err != nil {
			return Found{}, err
		}
	}
	return e.take(all), nil
}

// most is evidence by the greatest speedup between two sizes.
func most(d Duel, low, high int64) Evidence {
	return curves{[]Duel{d}, func(all []Curve) Found {
		c, best := &all[0], -1
		for i, n := range c.Sizes {
			if n >= low && n <= high && (best < 0 || c.speedup(i) > c.speedup(best)) {
				best = i
			}
		}
		return Found{c.speedup(best), fmt.Sprintf("%s at %s", ratioText(c.speedup(best)), bytesText(c.Sizes[best])), c.ahead()}
	}, fmt.Sprintf("greatest speedup from %s to %s", bytesText(low), bytesText(high))}
}

// speedupAt is evidence by the speedup at a size.
func speedupAt(d Duel, size int64) Evidence {
	return curves{[]Duel{d}, func(all []Curve) Found {
		c := &all[0]
		v := c.speedup(c.at(size))
		return Found{v, ratioText(v), c.ahead()}
	}, "speedup at " + bytesText(size)}
}

// mean is evidence by the geometric mean of the speedups between two sizes.
func mean(d Duel, low, high int64) Evidence {
	return curves{[]Duel{d}, func(all []Curve) Found {
		c, sum, n := &all[0], 0.0, 0.0
		least, most := math.Inf(1), 0.0
		for i, size := range c.Sizes {
			if size >= low && size <= high {
				v := c.speedup(i)
				sum, n, least, most = sum+math.Log(v), n+1, min(least, v), max(most, v)
			}
		}
		v := math.Exp(sum / n)
		return Found{v, fmt.Sprintf("%s (%s to %s)", ratioText(v), ratioText(least), ratioText(most)), c.ahead()}
	}, fmt.Sprintf("geometric mean of the speedups from %s to %s", bytesText(low), bytesText(high))}
}

// growth is evidence by how many times as long a program takes on the last of some systems
// as on the first.
func growth(p Program, size int64, at ...Setting) Evidence {
	var duels []Duel
	for _, s := range at {
		duels = append(duels, Duel{s, p, p, []int64{size}})
	}
	return curves{duels, func(all []Curve) Found {
		var times []string
		for _, c := range all {
			times = append(times, fmt.Sprintf("%.0f", c.OfUS[0]))
		}
		v := all[len(all)-1].OfUS[0] / all[0].OfUS[0]
		return Found{v, ratioText(v) + ": " + strings.Join(times, ", ") + " us", ""}
	}, "growth of the time of " + bytesText(size)}
}

func bytesText(n int64) string { return units.Bytes(n).String() }

// ratioText is a ratio with three digits.
func ratioText(v float64) string {
	switch {
	case math.IsNaN(v):
		return "none"
	case v >= 99.5:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
