package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// costSystems are the systems of template show without -t: the first to which the family
// applies counts.
var costSystems = []systemSpec{
	{"dgx-a100", 2}, {"dgx-a100", 1}, {"mesh:4x4", 1},
}

// costRow is the cost that a family states for a collective on a system, in JSON.
type costRow struct {
	Topology   string         `json:"topology"`
	Nodes      int            `json:"nodes"`
	Ranks      int            `json:"ranks"`
	Collective string         `json:"collective"`
	Parameters map[string]any `json:"parameters"` // the first that apply
	Steps      *int           `json:"steps"`      // null if the family does not state it, or does not apply
	Wire       string         `json:"wire"`       // a fraction of the call's size
	Why        string         `json:"why"`        // why it does not apply
}

// costsOf returns the costs of a family's collectives, with the first parameters that
// apply, on the system of -t or the first of costSystems to which the family applies.
func costsOf(cmd *cobra.Command, f *templates.Family) (rows []costRow, err error) {
	for t, err := range systemsOf(cmd, costSystems) {
		if err != nil {
			return nil, err
		}
		some, applies, err := costsOn(f, t)
		if err != nil || applies {
			return some, err
		}
		if rows == nil {
			rows = some
		}
	}
	return rows, nil
}

// costsOn returns the costs of a family's collectives on a system, and reports whether
// the family applies to it for any of them.
func costsOn(f *templates.Family, t *topologies.Topology) (rows []costRow, applies bool, err error) {
	m := program.MachineOf(t)
	for _, c := range f.Collectives {
		row := costRow{Topology: t.Name, Nodes: t.Nodes, Ranks: len(t.Ranks), Collective: c}
		q := script.Request{Collective: c, InPlace: collective.DefaultInPlace(c)}
		params, why, err := f.First(m, q)
		if err != nil {
			return nil, false, usage(err)
		}
		row.Why = why
		if why == "" {
			applies = true
			cost, ok, err := f.Cost(m, q, params)
			if err != nil {
				return nil, false, usage(err)
			}
			if ok {
				row.Steps, row.Wire = &cost.Steps, cost.Wire.RatString()
			}
			row.Parameters = map[string]any{}
			for name, v := range params {
				if v != nil {
					row.Parameters[name] = v
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, applies, nil
}

// writeCosts writes costs, all on the same system, for people.
func writeCosts(w io.Writer, l look, rows []costRow) error {
	fmt.Fprintf(w, "On %s, %s, %s, with the first parameters that apply. steps: messages on the\ncritical path; wire: bytes that all ranks send, as a multiple of the size.\n\n",
		rows[0].Topology, units.Count(rows[0].Nodes, "node"), units.Count(rows[0].Ranks, "rank"))
	s := sheet{columns: []column{text("collective"), text("parameters"), number("steps"), number("wire"), text("why not")}}
	for _, r := range rows {
		steps := ""
		if r.Steps != nil {
			steps = fmt.Sprint(*r.Steps)
		}
		s.add(r.Collective, script.Params(r.Parameters).String(), steps, r.Wire, r.Why)
	}
	if err := s.writeTable(w, l); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
