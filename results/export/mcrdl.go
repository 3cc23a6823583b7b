package export

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// MCR-DL's names for backends (mcr_dl/constants.py). PyTorch and MCR-DL use NCCL's
// name for RCCL, too. SCCL is the interpreter from which MSCCL was developed.
const (
	mcrdlLibrary  = "nccl"
	mcrdlPrograms = "sccl"
)

// mcrdlOperations are MCR-DL's operations (mcr_dl/comm.py), each with the size
// that MCR-DL's tables go by: that of the tensor which a rank hands in. It is a
// rank's part, or all of it.
var mcrdlOperations = map[string]struct {
	name string
	part bool
}{
	"allgather":     {"all_gather", true},
	"allreduce":     {"all_reduce", false},
	"alltoall":      {"all_to_all_single", false},
	"broadcast":     {"broadcast", false},
	"gather":        {"gather", true},
	"reduce":        {"reduce", false},
	"reducescatter": {"reduce_scatter", false},
	"scatter":       {"scatter", false},
}

// mcrdlRow is a line of the table, with the configuration behind it.
type mcrdlRow struct {
	message int64
	backend string
	time    float64
	table.Evidence
}

// exportMCRDL writes the table from which MCR-DL's "auto" takes a backend for each
// message size (MCR-DL section V-F, Table II). It is sccl where the fastest
// program that MSCCL would really run is faster than the library by itself, else
// nccl. The library's time is that of the fastest of its own algorithms that were
// measured, or of the baseline where that is faster.
func exportMCRDL(c *results.Campaign, o Options, report *Report) error {
	plan := c.Plan()
	operation, known := mcrdlOperations[plan.Collective]
	if !known {
		return fmt.Errorf("MCR-DL's tables have no %s, only %s: %w", plan.Collective, strings.Join(slices.Sorted(maps.Keys(mcrdlOperations)), ", "), ErrNothingFits)
	}
	runtime, err := mcrdlRuntime(plan.Collective)
	if err != nil {
		return err
	}
	e := &xmlExport{programs: programs{campaign: c}, plan: plan, elem: plan.ElemBytes(), runtime: runtime, verdicts: map[[2]string]string{}}
	all, err := exportable(c)
	if err != nil {
		return err
	}
	built, err := table.Build(c)
	if err != nil {
		return err
	}
	winners := map[table.Cell]*table.Row{}
	for i := range built.Rows {
		winners[table.Cell{Placement: built.Rows[i].Placement, Bytes: built.Rows[i].Bytes}] = &built.Rows[i]
	}
	parts := int64(1)
	if operation.part {
		parts = int64(plan.Topology.Ranks)
	}
	placement := plan.Placements()[0] // MCR-DL's calls don't say which placement theirs is
	rows, err := e.mcrdlRows(placement, parts, all, winners, report)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("MCR-DL could be given none of what was measured (%s): %w", report.Gaps[0].Why, ErrNothingFits)
	}
	return e.writeTable(o.Out, placement, operation.name, rows, report)
}

// mcrdlRows makes the rows of a placement; a message has 1/parts of the call's bytes. It
// reports the sizes at which a row is slower than the winner, and those without a row.
func (e *xmlExport) mcrdlRows(placement string, parts int64, all map[table.Cell][]table.Measured, winners map[table.Cell]*table.Row, report *Report) (rows []mcrdlRow, err error) {
	for _, at := range table.Cells(e.plan) {
		if at.Placement != placement {
			continue
		}
		winner := winners[at]
		row, why, err := e.backend(at, all[at], winner)
		if err != nil {
			return nil, err
		}
		if row.backend == "" {
			if why == "" {
				why = "not measured"
			}
			report.addGap(at, why)
			continue
		}
		row.message = at.Bytes / parts
		if n := len(rows); row.message < 1 || n > 0 && rows[n-1].message == row.message {
			report.addGap(at, "a rank's part of it is no whole number of bytes of its own")
			continue
		}
		if winner != nil && row.time > winner.TimeUS {
			first := all[at][slices.IndexFunc(all[at], table.Measured.Competes)]
			report.addLoss(at, first.Title(), winner.TimeUS, row.backend, row.time, why)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// mcrdlRuntime is the reader of MSCCL XML that runs programs for MCR-DL: msccl,
// from which the name sccl comes, or one that has the collective if msccl has not.
func mcrdlRuntime(collective string) (xmlReader, error) {
	able := slices.DeleteFunc(xmlReaders(), func(r xmlReader) bool { return r.lacks(collective) != "" })
	if len(able) == 0 {
		return xmlReader{}, fmt.Errorf("no runtime that reads MSCCL XML has %s: %w", collective, ErrNothingFits)
	}
	if i := slices.IndexFunc(able, func(r xmlReader) bool { return r.Name == "msccl" }); i >= 0 {
		return able[i], nil
	}
	return able[0], nil
}

// backend returns the faster backend at a size: the fastest program that the runtime
// would run, or the library by itself, which wins ties because it needs no setup. why is
// the reason for which the winner is not taken, if there is one.
func (e *xmlExport) backend(at table.Cell, all []table.Measured, winner *table.Row) (row mcrdlRow, why string, err error) {
	take := func(backend string, us float64, behind table.Evidence) {
		if row.backend == "" || us < row.time || us == row.time && backend == mcrdlLibrary {
			row.backend, row.time, row.Evidence = backend, us, behind
		}
	}
	for i := range all { // best first
		m := &all[i]
		if row.backend != "" && m.TimeUS > row.time {
			break
		}
		if m.Reference {
			continue
		}
		if m.IsNative() {
			take(mcrdlLibrary, m.TimeUS, m.Evidence)
			break
		}
		if row.backend != "" {
			continue // no slower than the program that is taken
		}
		refusal, err := e.refuses(m)
		if err != nil {
			return row, "", err
		}
		if refusal == "" {
			take(mcrdlPrograms, m.TimeUS, m.Evidence)
		} else if why == "" {
			why = refusal
		}
	}
	if winner != nil && winner.BaselineTimeUS != nil {
		take(mcrdlLibrary, *winner.BaselineTimeUS, winner.BaselineEvidence())
	}
	return row, why, nil
}

// writeTable writes the rows and completes the report.
func (e *xmlExport) writeTable(out, placement, operation string, rows []mcrdlRow, report *Report) error {
	f := newFolder(out, e.plan, `mcr-dl\.csv`)
	var text bytes.Buffer
	var behind table.Evidence
	for _, r := range rows {
		behind = behind.Plus(r.Evidence)
	}
	for _, line := range provenance(e.campaign, behind) {
		fmt.Fprintf(&text, "# %s\n", strings.Join(strings.Fields(safe.Line(line)), " "))
	}
	fmt.Fprintf(&text, "# %s of %s\nworld_size,message_bytes,backend\n", operation, e.plan.DType)
	programs := false
	for _, r := range rows {
		fmt.Fprintf(&text, "%d,%d,%s\n", e.plan.Topology.Ranks, r.message, r.backend)
		programs = programs || r.backend == mcrdlPrograms
	}
	name := fmt.Sprintf("colltune-%s-mcr-dl.csv", callName(e.plan, placement))
	f.add(name, text.Bytes())
	report.Files = append(report.Files, File{Name: name, Placement: placement, Unchecked: behind.Unchecked > 0})
	there, err := f.write()
	if err != nil {
		return err
	}
	report.note(
		"MCR-DL as released (v0.1) runs one backend at a time and reads no such table: this is the table of its paper, section V-F, for a build that mixes backends",
		"nccl stands for the library's best that was measured, or for what the winning table calls the baseline where that is faster; sccl for programs as "+e.runtime.Name+" runs them")
	if tally, _ := e.campaign.Tally(); modelled(tally, e.campaign.Trials()) {
		report.note("the baseline is what a model of NCCL would choose, run as a program or timed by a closed form, and no measurement of NCCL")
	}
	if len(e.plan.Placements()) > 1 {
		report.note("a table is not told whether a call is in place: the times in place decide")
	}
	report.note(there.notes()...)
	if programs {
		report.Load = []string{"sccl needs its programs: colltune export CAMPAIGN --to msccl-xml --runtime " + e.runtime.Name + " --out FOLDER"}
	}
	return nil
}

// modelled reports whether the baseline is what a model says of the library: a program
// that it would run, or a time. Else it is a measured time or the library's own algorithm.
func modelled(tally results.Tally, trials []results.Trial) bool {
	own := map[string]bool{}
	for i := range trials {
		if trials[i].IsNative() {
			own[trials[i].Program] = true
		}
	}
	return slices.ContainsFunc(tally.Points, func(p results.Point) bool {
		return p.Baseline != nil && (p.Baseline.TimeUS == 0 && !own[p.Baseline.Program] || p.Baseline.Data == results.NoData)
	})
}
