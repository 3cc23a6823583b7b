package libraries

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// ReadCampaign returns the winners of a campaign as one library's rows, the winner's
// algorithm as the kernel. Times of the simulator are marked as such, and have the interval
// that measurements give them, where there is one.
func ReadCampaign(s Source, c *results.Campaign) ([]Row, error) {
	built, err := table.Build(c)
	if err != nil {
		return nil, err
	}
	r := &reader{Source: s, base: sourceName(s.Path)}
	traffic, err := trafficOf(c.Plan())
	if err != nil {
		return nil, err
	}
	for i := range built.Rows {
		w := &built.Rows[i]
		row := Row{
			Collective: w.Collective, Ranks: w.Ranks, Bytes: w.Bytes,
			TimeUS: w.TimeUS, LowUS: min(w.TimeCIUS[0], w.TimeUS), HighUS: max(w.TimeCIUS[1], w.TimeUS),
			Source: fmt.Sprintf("%s:%d", r.base, w.Bytes),
		}
		row.Conditions[System], row.Conditions[Nodes] = w.Topology, strconv.Itoa(w.Nodes)
		row.Conditions[DType], row.Conditions[Placement] = c.Plan().DType, w.Placement
		row.Conditions[Kernel] = safeWord(w.Algorithm, maxWord) // a template's name may be any
		row.Conditions[Traffic] = traffic
		if c.Plan().Executor == "sim" {
			row.Conditions[Evidence] = "simulated"
		}
		if band := w.TimeBandUS; band != nil { // simulated: where the machine would be
			row.LowUS, row.HighUS = min(band[0], w.TimeUS), max(band[1], w.TimeUS)
		}
		if err := r.add(row, 1); err != nil {
			return nil, err
		}
	}
	if len(r.rows) == 0 {
		return nil, fmt.Errorf("campaign %s has no winner yet", s.Path)
	}
	return r.rows, nil
}

// trafficOf is the traffic of a vector form's campaign; empty for other collectives.
func trafficOf(plan results.Plan) (string, error) {
	if !slices.Contains(collective.VectorForms(), plan.Call.Collective) {
		return "", nil
	}
	var counts []int
	for _, f := range plan.Files {
		if f.Kind == "counts" {
			var err error
			if counts, err = collective.ParseCounts("campaign.toml: counts", []byte(f.Text)); err != nil {
				return "", err
			}
		}
	}
	return collective.TrafficName(plan.Call.Collective, counts), nil
}
