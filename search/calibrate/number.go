package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Number is a number of the topology before and after a fit.
type Number struct {
	What   string  `json:"what"` // "launch of LL", "nvlink"
	Before string  `json:"before"`
	After  string  `json:"after"`
	Times  float64 `json:"times"`
}

// String is a line about the number.
func (n *Number) String() string {
	if n.What == threadblocks {
		return fmt.Sprintf("threadblocks: %s times as fast (send_pass, recv_pass, send_rate, recv_rate)", n.After)
	}
	return fmt.Sprintf("%s: %s instead of %s", n.What, n.After, n.Before)
}

// Numbers returns the numbers that a calibration changes on the widest system of tables.
func Numbers(tables []Table, c topologies.Calibration) []Number {
	t, all := widest(tables), []Number{}
	after := t.Calibrated(c)
	for _, p := range t.HasProtocols() {
		if a, b := t.Protocols[p].Launch, after.Protocols[p].Launch; a != b {
			all = append(all, Number{"launch of " + p.String(), a.String(), b.String(), float64(b) / math.Max(float64(a), 1e-9)})
		}
	}
	if c.Speed > 0 {
		all = append(all, Number{threadblocks, "1", strconv.FormatFloat(c.Speed, 'f', -1, 64), c.Speed})
	}
	for _, kind := range t.Kinds() {
		times, changed := c.Links[kind]
		if !changed {
			continue
		}
		var seen []units.Bandwidth
		for i, e := range t.Edges {
			if e.Kind == kind && !slices.Contains(seen, e.Bandwidth) {
				seen = append(seen, e.Bandwidth)
				all = append(all, Number{kind.String(), e.Bandwidth.String(), after.Edges[i].Bandwidth.String(), times})
			}
		}
	}
	return all
}
