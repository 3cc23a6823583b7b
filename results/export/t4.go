package export

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// t4Schema is the version of the T4 results schema that is written: that of Kernel
// Tuner 1.4, kernel_tuner/schema/T4/1.0.0/results-schema.json.
const t4Schema = "1.0.0"

// t4File is a file of T4 results for one search space: one size in one placement.
// Times are in milliseconds, which readers of Kernel Tuner's files assume.
type t4File struct {
	SchemaVersion string     `json:"schema_version"`
	Metadata      t4Metadata `json:"metadata"`
	Results       []t4Result `json:"results"`
}

// t4Metadata describes the search space.
type t4Metadata struct {
	TimeUnit   string   `json:"timeunit"`
	Collective string   `json:"collective"`
	DType      string   `json:"dtype"`
	Op         string   `json:"op"`
	Topology   string   `json:"topology"`
	Nodes      int      `json:"nodes"`
	Ranks      int      `json:"ranks"`
	Bytes      int64    `json:"bytes"`
	Placement  string   `json:"placement"`
	Provenance []string `json:"provenance"`
	behind     table.Evidence
}

// t4Result is one configuration with all its repetitions.
type t4Result struct {
	Configuration t4Configuration `json:"configuration"`
	Times         t4Times         `json:"times"`
	Invalidity    string          `json:"invalidity"`
	Correctness   int             `json:"correctness"` // 1 where nothing wrong was found
	Checked       *bool           `json:"checked"`     // as a row's of the winning table; null: no data were moved, or not known
	Measurements  []t4Measurement `json:"measurements"`
	Objectives    []string        `json:"objectives"`
	Note          string          `json:"note,omitempty"` // the executor's, if it is invalid
}

// t4Configuration has the same keys in every result, and only words and numbers as
// values: tools take these for the axes of a space.
type t4Configuration struct {
	Algorithm  string `json:"algorithm"`
	Source     string `json:"source"`
	Parameters string `json:"parameters"`
	Channels   int    `json:"channels"`
	Instances  int    `json:"instances"`
	Protocol   string `json:"protocol"`
	TileBytes  int64  `json:"tile_bytes"`
	IR         string `json:"ir"` // distinguishes programs of one name; empty for a native algorithm
}

// t4Times are the times of the iterations, and their sum. The times of compiling,
// checking and searching are left out: they differ between equal campaigns.
type t4Times struct {
	Benchmark float64   `json:"benchmark,omitempty"` // Kernel Tuner's, though not the schema's
	Runtimes  []float64 `json:"runtimes"`
}

type t4Measurement struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
	Unit  string `json:"unit"`
}

// t4Invalidity is the schema's word for an outcome.
var t4Invalidity = map[results.Outcome]string{
	results.OK: "correct", results.Wrong: "correctness", results.TimedOut: "timeout", results.Crashed: "runtime", results.Failed: "runtime", results.Quarantined: "runtime",
}

// t4NoTime takes the place of a time where there is none. It is Kernel Tuner's
// word, which its readers look for.
const t4NoTime = "RuntimeFailedConfig"

// exportT4 writes every trial that could have won: a file for each size and
// placement, with a result for each configuration, in the order of their names.
func exportT4(c *results.Campaign, o Options, report *Report) error {
	plan := c.Plan()
	spaces, left, err := t4Spaces(c)
	if err != nil {
		return err
	}
	if len(spaces) == 0 {
		return fmt.Errorf("campaign %s: nothing run yet: %w", c.Dir(), ErrNothingFits)
	}
	f := newFolder(o.Out, plan, `\d+[KMGTPE]?-t4\.json`)
	for i := range spaces {
		text, err := json.MarshalIndent(&spaces[i], "", " ")
		if err != nil {
			return err
		}
		m := &spaces[i].Metadata
		name := fmt.Sprintf("colltune-%s-%s-t4.json", callName(plan, m.Placement), units.Bytes(m.Bytes).String())
		f.add(name, append(safe.JSON(text), '\n'))
		report.Files = append(report.Files, File{Name: name, Placement: m.Placement, Unchecked: m.behind.Unchecked > 0})
	}
	there, err := f.write()
	if err != nil {
		return err
	}
	report.note("times are milliseconds, as Kernel Tuner's are; what compiling and the search took, and when, is left out, so that equal campaigns export equal bytes")
	if left > 0 {
		report.note(fmt.Sprintf("configurations left out that were only run to be compared with: %d", left))
	}
	report.note(there.notes()...)
	return nil
}

// t4Spaces are the search spaces of a campaign, in the order of the winning table.
// left is how many configurations are left out because they could not be chosen.
func t4Spaces(c *results.Campaign) (spaces []t4File, left int, err error) {
	plan := c.Plan()
	col, err := collective.OfName(plan.Spec(plan.Topology.Ranks, 1, false))
	if err != nil {
		return nil, 0, err
	}
	busFactor := col.BusFactor()
	if e, _ := c.Executor(); e.SharedGPUs(plan.Topology.Ranks) > 0 {
		busFactor = 0
	}
	trials := c.Trials()
	slices.SortStableFunc(trials, func(a, b results.Trial) int { return cmp.Compare(a.Repeat, b.Repeat) })
	all := map[table.Cell][]*table.Pool{}
	for k, p := range table.Pools(trials) {
		if p.First.Reference {
			left++
			continue
		}
		all[k.Cell] = append(all[k.Cell], p)
	}
	for _, at := range table.Cells(plan) {
		if len(all[at]) == 0 {
			continue
		}
		slices.SortFunc(all[at], func(a, b *table.Pool) int {
			x, y := *a.First, *b.First
			x.Threadblocks, x.Steps, y.Threadblocks, y.Steps = 0, 0, 0, 0 // so that names alone decide
			return table.Tie(&x, &y)
		})
		space := t4File{SchemaVersion: t4Schema, Metadata: t4Metadata{
			TimeUnit: "milliseconds", Collective: plan.Collective, DType: plan.DType, Op: plan.Op,
			Topology: plan.Topology.Name, Nodes: plan.Topology.Nodes, Ranks: plan.Topology.Ranks,
			Bytes: at.Bytes, Placement: at.Placement,
		}}
		for _, p := range all[at] {
			space.Metadata.behind = space.Metadata.behind.Plus(p.Evidence)
			space.Results = append(space.Results, t4Of(p, at.Bytes, busFactor))
		}
		space.Metadata.Provenance = provenance(c, space.Metadata.behind)
		spaces = append(spaces, space)
	}
	return spaces, left, nil
}

// t4Of is the result of a configuration at a size. A busFactor of 0 leaves bus
// bandwidth out.
func t4Of(p *table.Pool, bytes int64, busFactor float64) t4Result {
	t := p.First
	r := t4Result{
		Configuration: t4Configuration{
			Algorithm: t.Algorithm, Source: t.Source, Parameters: table.ParametersText(t.Parameters), Channels: t.Channels, Instances: t.Instances,
			Protocol: t.Protocol, TileBytes: t.TileBytes, IR: t.Program,
		},
		Times: t4Times{Runtimes: []float64{}}, Objectives: []string{"time"},
	}
	if t.IsNative() {
		r.Configuration.IR = ""
	}
	outcome := t.Outcome
	switch {
	case p.Wrong:
		outcome = results.Wrong
	case len(p.TimesUS) > 0:
		outcome = results.OK
	}
	r.Invalidity = t4Invalidity[outcome]
	if outcome != results.OK {
		r.Note = t.Note
		r.Measurements = []t4Measurement{{"time", t4NoTime, "ms"}}
		return r
	}
	r.Correctness, r.Checked = 1, p.IsChecked()
	together := 0.0
	for _, us := range p.TimesUS {
		r.Times.Runtimes = append(r.Times.Runtimes, us/1e3)
		together += us
	}
	r.Times.Benchmark = together / 1e3
	time, ci := results.Median(p.TimesUS), results.MedianCI(p.TimesUS)
	algbw := float64(bytes) / time / 1e3
	r.Measurements = []t4Measurement{
		{"time", time / 1e3, "ms"},
		{"time_ci_low", ci[0] / 1e3, "ms"},
		{"time_ci_high", ci[1] / 1e3, "ms"},
		{"algbw", algbw, "GB/s"},
	}
	if busFactor > 0 {
		r.Measurements = append(r.Measurements, t4Measurement{"busbw", algbw * busFactor, "GB/s"})
	}
	return r
}
