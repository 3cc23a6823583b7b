package libraries

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// ReadCampaign returns the winners of a campaign as one library's rows, the winner's
// algorithm as the kernel. Times of the simulator are marked as such, and have the interval
// that measurements give them, where there is one.
func ReadCampaign(s measured.Source, c *results.Campaign) ([]measured.Row, error) {
	built, err := table.Programs(c)
	if err != nil {
		return nil, err
	}
	var rows []measured.Row
	traffic, err := trafficOf(c.Plan())
	if err != nil {
		return nil, err
	}
	for i := range built.Rows {
		w := &built.Rows[i]
		row := measured.Row{
			Collective: w.Collective, Ranks: w.Ranks, Bytes: w.Bytes,
			TimeUS: w.TimeUS, LowUS: min(w.TimeCIUS[0], w.TimeUS), HighUS: max(w.TimeCIUS[1], w.TimeUS),
			Source: measured.SourceOf(s.Path, int(w.Bytes)),
		}
		row.Conditions[measured.System], row.Conditions[measured.Nodes] = w.Topology, strconv.Itoa(w.Nodes)
		row.Conditions[measured.DType], row.Conditions[measured.Placement] = c.Plan().DType, w.Placement
		row.Conditions[measured.Kernel] = measured.Word(w.Algorithm) // a template's name may be any
		row.Conditions[measured.Traffic] = traffic
		if executor.IsModel(c.Plan().Executor) {
			row.Conditions[measured.Evidence] = "simulated"
		}
		if band := w.TimeBandUS; band != nil { // simulated: where the machine would be
			row.LowUS, row.HighUS = min(band[0], w.TimeUS), max(band[1], w.TimeUS)
		}
		if err := s.Complete(&row); err != nil {
			return nil, &measured.Error{File: s.Path, Line: 1, Msg: err.Error()}
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("campaign %s has no winner yet", s.Path)
	}
	return rows, nil
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
