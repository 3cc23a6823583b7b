package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// mcrdlPrograms is MCR-DL's name of the back end that runs programs.
const mcrdlPrograms = "sccl"

// mcrdlRow is an entry of the table, with the configuration behind it.
type mcrdlRow struct {
	bytes   int64
	library string // as package tuning names it
	time    float64
	table.Evidence
}

// exportMCRDL writes the table from which MCR-DL's "auto" takes a backend for each
// message size (MCR-DL section V-F, Table II). It is sccl where the fastest
// program that MSCCL would really run is faster than every library, else the fastest
// library: the executor's own algorithms, those whose times the search was given, and the
// baseline, each under its own name.
func exportMCRDL(c *results.Campaign, o Options, report *Report) error {
	plan := c.Plan()
	scope := tuning.Scope{Collective: plan.Collective, Ranks: plan.Topology.Ranks, Nodes: plan.Topology.Nodes}
	if name, _ := tuning.MCRDLOperation(scope); name == "" {
		return fmt.Errorf("MCR-DL's tables have no %s, only %s: %w", plan.Collective, strings.Join(tuning.MCRDLCollectives(), ", "), ErrNothingFits)
	}
	runtime, err := mcrdlRuntime(plan.Collective)
	if err != nil {
		return err
	}
	e := &xmlExport{programs: programs{campaign: c}, plan: plan, elem: plan.ElemBytes(), runtime: runtime, verdicts: map[[2]string]string{}}
	all, err := exportable(c, o.MaxSMs)
	if err != nil {
		return err
	}
	built, err := table.ProgramsWithin(c, o.MaxSMs)
	if err != nil {
		return err
	}
	winners := built.ByCell()
	tally, _ := c.Tally()
	points := table.Points(tally)
	executor, _ := c.Executor()
	placement := plan.Placements()[0] // MCR-DL's calls don't say which placement theirs is
	var rows []mcrdlRow
	report.Summary = &Summary{Evidence: evidenceText(built)}
	for _, at := range table.Cells(plan) {
		if at.Placement != placement {
			continue
		}
		winner := winners[at]
		others := librariesAt(winner, points[at], executor.Name)
		row, why, err := e.backend(all[at], others, executor.Name)
		if err != nil {
			return err
		}
		if row.library == "" {
			report.leave(at, Refused, cmp.Or(why, "not measured"))
			continue
		}
		row.bytes = at.Bytes
		if winner != nil && row.time > winner.TimeUS {
			first := all[at][slices.IndexFunc(all[at], winner.Is)]
			report.addLoss(at, first.Title(), winner.TimeUS, row.library, row.time, why)
		}
		if len(others) > 0 {
			fastest := slices.MinFunc(others, func(a, b mcrdlRow) int { return cmp.Compare(a.time, b.time) })
			report.addLoss(at, fastest.library, fastest.time, row.library, row.time, why)
			if speedup := fastest.time / row.time; row.library == mcrdlPrograms {
				report.Summary.gain(&speedup)
			} else {
				report.Summary.leave(Slower)
			}
		}
		rows = append(rows, row)
	}
	return e.writeTable(o.Out, scope, placement, rows, report)
}

// librariesAt are the libraries whose times a size has besides trials: those that the search
// was given, and the baseline.
func librariesAt(winner *table.Row, p results.Point, executor string) (all []mcrdlRow) {
	for _, l := range p.Libraries {
		all = append(all, mcrdlRow{library: l.Library, time: l.TimeUS})
	}
	if winner == nil || p.Baseline == nil {
		return all
	}
	if _, us := winner.Library(); us > 0 {
		all = append(all, mcrdlRow{library: p.Baseline.LibraryName(executor), time: us, Evidence: winner.BaselineData()})
	}
	return all
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

// backend returns the fastest backend at a size: the fastest program that the runtime
// would run, or a library, which wins ties because it needs no setup. why is the reason for
// which the winner is not taken, if there is one.
func (e *xmlExport) backend(all []table.Measured, others []mcrdlRow, executor string) (row mcrdlRow, why string, err error) {
	take := func(library string, us float64, behind table.Evidence) {
		switch {
		case tuning.MCRDLBackend(library) == "":
			why = cmp.Or(why, "MCR-DL has no backend of the name "+library)
		case row.library == "" || us < row.time || us == row.time && row.library == mcrdlPrograms:
			row.library, row.time, row.Evidence = library, us, behind
		}
	}
	for i := range all { // best first
		m := &all[i]
		switch {
		case m.Reference, m.IsSetting():
		case m.IsNative():
			take(executor, m.TimeUS, m.Evidence)
		case row.library == "" || m.TimeUS < row.time:
			refusal, err := e.refuses(m)
			if err != nil {
				return row, "", err
			}
			if refusal == "" {
				take(mcrdlPrograms, m.TimeUS, m.Evidence)
			}
			why = cmp.Or(why, refusal)
		}
	}
	for _, o := range others {
		take(o.library, o.time, o.Evidence)
	}
	return row, why, nil
}

func (e *xmlExport) writeTable(out string, scope tuning.Scope, placement string, rows []mcrdlRow, report *Report) error {
	var rules []tuning.Rule
	var behind table.Evidence
	programs, nccl := false, false
	for _, r := range rows {
		behind = behind.Plus(r.Evidence)
		programs = programs || r.library == mcrdlPrograms
		nccl = nccl || tuning.MCRDLBackend(r.library) == "nccl"
		rules = append(rules, tuning.Rule{Scope: scope, First: r.bytes, Last: r.bytes, Config: tuning.Config{Library: r.library}})
	}
	if len(rules) == 0 {
		return fmt.Errorf("MCR-DL could be given none of what was measured (%s): %w", report.Gaps[0].Why, ErrNothingFits)
	}
	text, without := tuning.MCRDLText(rules, provenance(e.campaign, behind), e.plan.DType)
	if len(without) == len(rules) {
		return fmt.Errorf("MCR-DL could be given none of what was measured (a rank's part of it is no whole number of bytes): %w", ErrNothingFits)
	}
	for _, bytes := range without {
		report.addGap(table.Cell{Placement: placement, Bytes: bytes}, "a rank's part of it is no whole number of bytes of its own")
	}
	f := newFolder(out, e.plan, `mcr-dl\.csv`)
	name := fmt.Sprintf("colltune-%s-mcr-dl.csv", callName(e.plan, placement))
	f.add(name, text)
	report.Files = append(report.Files, File{Name: name, Placement: placement, Unchecked: behind.Unchecked > 0})
	left, err := f.write()
	if err != nil {
		return err
	}
	report.note(
		"MCR-DL as released (v0.1) runs one backend at a time and reads no such table: this is the table of its paper, section V-F, for a build that mixes backends",
		"sccl stands for programs as "+e.runtime.Name+" runs them, other names for the libraries that were measured under them; nccl for RCCL, too")
	if tally, _ := e.campaign.Tally(); nccl && modelled(tally, e.campaign.Trials()) {
		report.note("the baseline is what a model of NCCL would choose, run as a program or timed by a closed form, and no measurement of NCCL")
	}
	if len(e.plan.Placements()) > 1 {
		report.note("a table is not told whether a call is in place: the times in place decide")
	}
	report.note(left...)
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
