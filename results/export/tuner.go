package export

import (
	"errors"
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
// protocol, and a number of channels. If the winner is anything else, the best
// that a row can say is written, and the report says what that costs.
//
// The plugin has NCCL run one channel in a call without a row. So what is left to NCCL has
// rows, too: all other sizes, and the other collectives of which a tuner is asked.
func exportTuner(c *results.Campaign, o Options, report *Report) error {
	plan := c.Plan()
	if !slices.Contains(tuning.TunerCollectives, plan.Collective) {
		return fmt.Errorf("NCCL's tuner is not asked for %s, only for %s: %w", plan.Collective, strings.Join(tuning.TunerCollectives, ", "), ErrNothingFits)
	}
	o.Clock = nil // of programs
	var x *chooser
	x, err := newChooser(c, o, "NCCL's tuner", tunerReader{}, func(m *table.Measured) (string, error) {
		if why := tunerLacks(m); why != "" || o.KeepSlower {
			return why, nil
		}
		return x.notFaster(m), nil
	})
	if err != nil {
		return err
	}
	// The tuner is not told whether a call is in place.
	placement := plan.Placements()[0]
	if len(plan.Placements()) > 1 {
		report.note("the tuner is not told whether a call is in place: the times in place decide")
		x.places = slices.DeleteFunc(x.places, func(at table.Cell) bool { return at.Placement != placement })
	}
	rows, err := x.choose(report)
	switch {
	case errors.Is(err, ErrNothingFits) && !slices.ContainsFunc(x.table.Rows, func(r table.Row) bool { return !r.LeaveToLibrary }):
		report.note(x.nothing())
	case errors.Is(err, ErrNothingFits):
		return fmt.Errorf("%w: search --executor nccl measures NCCL's own algorithms", err)
	case err != nil:
		return err
	}
	if len(rows) == 0 {
		left, err := tunerFolder(o.Out, plan).write()
		report.note(left...)
		return err
	}
	return writeTuner(c, o, placement, rows, report)
}

// notFaster returns the reason for which a configuration is not known to be faster than what
// NCCL runs by itself, by its baseline or by a trial of that; "" if it is.
func (c *chooser) notFaster(m *table.Measured) string {
	at := table.Cell{Placement: m.Placement, Bytes: m.Bytes}
	if c.libraryUS(at) > 0 {
		return "" // the chooser compares
	}
	for i := range c.all[at] { // best first
		own := &c.all[at][i]
		if !own.IsNative() || own.Algorithm != "auto" || len(own.Parameters) > 0 {
			continue
		}
		if faster(m.TimeUS, own.TimeUS) {
			return ""
		}
		return fmt.Sprintf("NCCL's own choice takes %.2f us, and the fastest that a row can say %.2f", own.TimeUS, m.TimeUS)
	}
	return "no time of NCCL's own choice says that anything is faster: want one, or --keep-slower"
}

// tunerReader is the example plugin: a file holds any number of rows.
type tunerReader struct{ irReader }

func (tunerReader) fileKey(t *results.Trial) fileKey {
	return fileKey{program: fmt.Sprint(tunerConfig(&table.Measured{Trial: t})), protocol: t.Protocol}
}

func (tunerReader) granularity(*results.Trial) int64 { return 1 }

// tunerLacks returns the reason for which no row can name a configuration; "" if one can.
func tunerLacks(m *table.Measured) string {
	switch {
	case m.IsSetting():
		return "it is a model's time of the library's setting, and none that was measured"
	case !m.IsNative():
		return "no row of NCCL's tuner can name a program"
	case m.Algorithm == "auto" && len(m.Parameters) == 0:
		return "it is NCCL's own choice"
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

// writeTuner writes the rows, and behind them those of what is left to NCCL.
func writeTuner(c *results.Campaign, o Options, placement string, rows []servedRange, report *Report) error {
	plan := c.Plan()
	f := tunerFolder(o.Out, plan)
	var rules []tuning.Rule
	var behind table.Evidence
	for i := range rows {
		s := &rows[i]
		behind = behind.Plus(s.Evidence)
		scope := tuning.Scope{Collective: plan.Collective, Ranks: plan.Topology.Ranks, Nodes: plan.Topology.Nodes}
		rules = append(rules, tuning.Rule{Scope: scope, First: s.min, Last: s.max, Config: tunerConfig(&s.Measured)})
	}
	all, err := tuning.WithLeft(rules, o.Left)
	if err != nil {
		return fmt.Errorf("NCCL's example tuner has calls without a row run on one channel, and rows can't be for all: %w: %w", err, ErrNothingFits)
	}
	name := fmt.Sprintf("colltune-%s-nccl-tuner.conf", callName(plan, placement))
	for i := range rows {
		s := &rows[i]
		report.Files = append(report.Files, File{Name: name, Placement: placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: s.max, Granularity: 1, Unchecked: behind.Unchecked > 0})
	}
	told := tuning.LeftTold(all)
	f.add(name, tuning.TunerText(all, append(provenance(c, behind), told...)))
	left, err := f.write()
	if err != nil {
		return err
	}
	report.note(told...)
	report.note(left...)
	report.Load = []string{
		fmt.Sprintf("export NCCL_TUNER_PLUGIN=example NCCL_TUNER_CONFIG_FILE=%s", safe.Shell(filepath.Join(o.Out, name))),
		"libnccl-tuner-example.so is built from NCCL's plugins/tuner/example, and found by LD_LIBRARY_PATH; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING shows what it matches",
	}
	return nil
}
