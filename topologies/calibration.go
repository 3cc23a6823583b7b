package topologies

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Calibration corrects a system's numbers by measurements. The zero value changes
// nothing.
type Calibration struct {
	Launch units.Duration       // added to the fixed cost of a call, of every protocol
	Speed  float64              // factor of the rate at which threadblocks send and receive; 0 means 1
	Links  map[LinkKind]float64 // factors of the bandwidth of links, by kind
}

// IsZero reports whether the calibration changes nothing.
func (c Calibration) IsZero() bool {
	return c.Launch == 0 && (c.Speed == 0 || c.Speed == 1) && len(c.Links) == 0
}

// Calibrated returns a copy of the system with corrected numbers. It does not
// change t.
func (t *Topology) Calibrated(c Calibration) *Topology {
	n := t.Clone()
	for i := range n.Edges {
		e := &n.Edges[i]
		times, ok := c.Links[e.Kind]
		if !ok {
			continue
		}
		if e.Kind != Net || n.Vertices[e.From].Kind == Fabric || n.Vertices[e.To].Kind == Fabric {
			e.Counted = cmp.Or(e.Counted, e.Bandwidth) // the library chooses as before
		}
		e.Bandwidth = scaled(e.Bandwidth, times)
	}
	for _, p := range n.HasProtocols() {
		n.Protocols[p] = n.Protocols[p].calibrated(c)
	}
	return n
}

func scaled(w units.Bandwidth, times float64) units.Bandwidth {
	return max(1, units.Bandwidth(math.Round(float64(w)*times)))
}

// calibrated returns a protocol with corrected numbers, rounded as in a file:
// the launch to hundredths of a microsecond, the others to four digits.
func (p Protocol) calibrated(c Calibration) Protocol {
	if c.Launch != 0 {
		p.Launch = units.Duration(math.Round(math.Max(0, float64(p.Launch+c.Launch))*100) / 100)
	}
	if c.Speed > 0 && c.Speed != 1 {
		for _, d := range []*units.Duration{&p.SendPass, &p.RecvPass} {
			*d = units.Duration(digits(float64(*d) / c.Speed))
		}
		for _, w := range []*units.Bandwidth{&p.SendRate, &p.RecvRate} {
			*w = units.Bandwidth(digits(float64(*w) * c.Speed))
		}
	}
	return p
}

// digits rounds to four of them.
func digits(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// fittedConstant is a number of a protocol that a calibration may change, as in
// a file.
type fittedConstant struct{ key, value string }

// constants returns the constants of p that are not 0.
func (p Protocol) constants() (all []fittedConstant) {
	all = append(all, fittedConstant{"launch", micros(p.Launch)})
	for key, d := range map[string]units.Duration{"send_pass": p.SendPass, "recv_pass": p.RecvPass} {
		if d > 0 {
			all = append(all, fittedConstant{key, micros(d)})
		}
	}
	for key, w := range map[string]units.Bandwidth{"send_rate": p.SendRate, "recv_rate": p.RecvRate} {
		if w > 0 {
			all = append(all, fittedConstant{key, gigabytes(float64(w))})
		}
	}
	slices.SortFunc(all, func(a, b fittedConstant) int { return strings.Compare(a.key, b.key) })
	return all
}

// Kinds returns the kinds of link in a system, sorted.
func (t *Topology) Kinds() []LinkKind {
	there := map[LinkKind]bool{}
	for i := range t.Edges {
		there[t.Edges[i].Kind] = true
	}
	return slices.Sorted(maps.Keys(there))
}
