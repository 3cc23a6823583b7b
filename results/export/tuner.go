package export

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// exportTuner writes the configuration file of NCCL's example tuner plugin. A row
// for every range of sizes says as much as it can: one of NCCL's own algorithms, a
// protocol, and a number of channels. The number is not optional, since without it
// the plugin has NCCL run one channel. If the winner is anything else, the best
// that a row can say is written, and the report says what that costs.
func exportTuner(c *results.Campaign, o Options, report *Report) error {
	plan := c.Plan()
	if !slices.Contains(tuning.TunerCollectives, plan.Collective) {
		return fmt.Errorf("NCCL's tuner is not asked for %s, only for %s: %w", plan.Collective, strings.Join(tuning.TunerCollectives, ", "), ErrNothingFits)
	}
	all, err := exportable(c)
	if err != nil {
		return err
	}
	winners, err := table.Build(c)
	if err != nil {
		return err
	}
	left := libraryFaster(winners)
	// The tuner is not told whether a call is in place.
	placement := plan.Placements()[0]
	if len(plan.Placements()) > 1 {
		report.note("the tuner is not told whether a call is in place: the times in place decide")
	}
	var rows []servedRange
	for _, at := range table.Cells(plan) {
		if at.Placement != placement {
			continue
		}
		if why := left[at]; why != "" {
			report.addGap(at, why)
			continue
		}
		m, winner, why := tunable(all[at])
		if m == nil {
			report.addGap(at, why)
			continue
		}
		report.addLoss(at, winner.Title(), winner.TimeUS, m.Title(), m.TimeUS, why)
		end := lastSizeOf(plan, at)
		if n := len(rows); n > 0 && rows[n-1].max+1 == at.Bytes && tunerConfig(&rows[n-1].Measured) == tunerConfig(m) {
			rows[n-1].max, rows[n-1].last = end, at.Bytes
			rows[n-1].Evidence = rows[n-1].Evidence.Plus(m.Evidence)
		} else {
			rows = append(rows, servedRange{Measured: *m, min: at.Bytes, last: at.Bytes, max: end})
		}
	}
	if len(left) == len(winners.Rows) {
		report.note(libraryFastest)
		there, err := tunerFolder(o.Out, plan).write()
		report.note(there.notes()...)
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("NCCL's tuner can choose none of what was measured (%s; search --executor nccl measures NCCL's own algorithms): %w", report.Gaps[0].Why, ErrNothingFits)
	}
	return writeTuner(c, o.Out, placement, rows, report)
}

// tunable returns the fastest configuration at a size that a row can name; nil if there
// is none. winner is the fastest of all, and why is the reason if it is another.
func tunable(all []table.Measured) (best, winner *table.Measured, why string) {
	why = "nothing measured there is an algorithm of NCCL's own with a number of channels"
	for i := range all { // best first
		m := &all[i]
		if m.Reference {
			continue
		}
		no := tunerLacks(m)
		if winner == nil {
			winner = m
			if no != "" {
				why = no
			}
		}
		if no == "" {
			return m, winner, why
		}
	}
	return nil, winner, why
}

// tunerLacks returns the reason for which no row can name a configuration; "" if one can.
func tunerLacks(m *table.Measured) string {
	switch {
	case !m.IsNative():
		return "no row of NCCL's tuner can name a program"
	case !tuning.Tunable(m.Algorithm, m.Protocol):
		return fmt.Sprintf("no row of NCCL's tuner can say %s %s", m.Algorithm, m.Protocol)
	case m.Channels < 1:
		return "its number of channels was the library's choice, and without a number the tuner's example has NCCL run one channel"
	}
	for name := range m.Parameters {
		if name != "channels" {
			return fmt.Sprintf("no row of NCCL's tuner can set %s", name)
		}
	}
	return ""
}

// tunerConfig is the part of a row that names the configuration.
func tunerConfig(m *table.Measured) tuning.Config {
	return tuning.Config{Library: "nccl", Kernel: m.Algorithm, Protocol: m.Protocol, Channels: m.Channels}
}

func tunerFolder(out string, plan results.Plan) *folder {
	return newFolder(out, plan, `nccl-tuner\.conf`)
}

func writeTuner(c *results.Campaign, out, placement string, rows []servedRange, report *Report) error {
	plan := c.Plan()
	f := tunerFolder(out, plan)
	var rules []tuning.Rule
	var behind table.Evidence
	for i := range rows {
		s := &rows[i]
		behind = behind.Plus(s.Evidence)
		scope := tuning.Scope{Collective: plan.Collective, Ranks: plan.Topology.Ranks, Nodes: plan.Topology.Nodes}
		rules = append(rules, tuning.Rule{Scope: scope, First: s.min, Last: s.max, Config: tunerConfig(&s.Measured)})
	}
	name := fmt.Sprintf("colltune-%s-nccl-tuner.conf", callName(plan, placement))
	for i := range rows {
		s := &rows[i]
		report.Files = append(report.Files, File{Name: name, Placement: placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: s.max, Granularity: 1, Unchecked: behind.Unchecked > 0})
	}
	f.add(name, tuning.TunerText(rules, provenance(c, behind)))
	there, err := f.write()
	if err != nil {
		return err
	}
	report.note(
		"calls that no row is for, other sizes and other collectives included, run with one channel under NCCL's example tuner, whose getCollInfo begins with *nChannels = 1: set it to 0 there, as RCCL's does")
	report.note(there.notes()...)
	report.Load = []string{
		fmt.Sprintf("export NCCL_TUNER_PLUGIN=example NCCL_TUNER_CONFIG_FILE=%s", safe.Shell(filepath.Join(out, name))),
		"libnccl-tuner-example.so is built from NCCL's plugins/tuner/example, and found by LD_LIBRARY_PATH; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows what it matches",
	}
	return nil
}
