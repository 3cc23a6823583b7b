package table

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
)

// Table is the answer of a campaign: for every size the program and the knobs
// that win (Winner). Its JSON is the product's contract.
type Table struct {
	Schema     string     `json:"schema"`
	Notes      []string   `json:"notes"` // what to know before the figures, a line each
	Rows       []Row      `json:"rows"`  // by placement, then rising size
	Ranges     []Range    `json:"ranges"`
	Front      []FrontRow `json:"front,omitempty"` // by row, then rising SMs; absent unless asked for
	Candidates Candidates `json:"candidates"`
	Campaign   Spent      `json:"campaign"`

	brief []string         // those of Notes that the default table has
	nodes int              // the plan's
	ranks int              // the plan's
	sms   int              // that a winner may take; 0: all
	unfit int              // sizes and placements that were measured, and of which nothing fits
	gain  float64          // Tally.Gain
	place string           // Executor.PlaceNote
	model *intervals.Model // nil: the times are measured
}

// Row is the winner at one size.
type Row struct {
	Collective string         `json:"collective"`
	Topology   string         `json:"topology"`
	Nodes      int            `json:"nodes"`
	Ranks      int            `json:"ranks"`
	Bytes      int64          `json:"bytes"`
	Placement  string         `json:"placement"`
	Algorithm  string         `json:"algorithm"`
	Source     string         `json:"source"`
	Parameters map[string]any `json:"parameters"`
	Channels   int            `json:"channels"`
	Instances  int            `json:"instances"`
	Protocol   string         `json:"protocol"`
	TileBytes  int64          `json:"tile_bytes"`
	// Threadblocks are those of the busiest rank; null where a library's algorithm does not tell.
	Threadblocks *int       `json:"threadblocks"`
	TimeUS       float64    `json:"time_us"`    // median
	TimeCIUS     [2]float64 `json:"time_ci_us"` // results.MedianCI
	AlgBW        float64    `json:"algbw_gbps"` // decimal GB/s
	BusBW        *float64   `json:"busbw_gbps"` // decimal GB/s; null where ranks share a GPU
	// Checked reports whether the executor checked the data of every measurement
	// behind the time. Null: no data were moved, or the journal does not say.
	Checked *bool `json:"checked"`
	// The vendor's library and the bound of every routing; null where unknown.
	Baseline       *string  `json:"baseline"`
	BaselineTimeUS *float64 `json:"baseline_time_us"`
	Speedup        *float64 `json:"speedup"` // baseline ÷ winner
	// Of the baseline; null where not known. Release is as nccl-2.30.7, registered and evidence are as
	// package results has them. Of its time, copies are those into windows and out of them.
	BaselineRelease      *string  `json:"baseline_release"`
	BaselineRegistered   *string  `json:"baseline_registered"`
	BaselineEvidence     *string  `json:"baseline_evidence"`
	BaselineThreadblocks *int     `json:"baseline_threadblocks"` // of a GPU
	BaselineCopiesUS     *float64 `json:"baseline_copies_us"`
	// BaselineBestChannelsUS is the time of the baseline's algorithm and protocol with the best
	// channels; null where another wins, as then a search need not try all.
	BaselineBestChannelsUS *float64 `json:"baseline_best_channels_us"`
	// Of a winner that is a setting of the library's own: what supports its time, which is a model's, and the environment
	// variables that set it. Absent of others.
	SettingEvidence string   `json:"evidence,omitempty"`
	Variables       []string `json:"variables,omitempty"`
	// AsCalled is the library with the buffers as called; absent where that is the baseline.
	AsCalled *AsCalled `json:"as_called,omitempty"`
	// LeaveToLibrary reports whether the library is faster than every program that was
	// measured: nothing is exported for the size.
	LeaveToLibrary bool `json:"leave_to_library"`
	// 90 % intervals of simulated figures (package intervals), where the measured ones would
	// be. Null for measured times, and where nothing measured supports the zone, or the kind
	// of program: then Unsupported is true.
	TimeBandUS  *[2]float64 `json:"time_band_us"`
	SpeedupBand *[2]float64 `json:"speedup_band"`
	// Surely, SurelyNot, Unsure or Unsupported, against the library as called, and against the best that
	// its release reaches; null where nothing says the library's time.
	SpeedupVerdict     *string  `json:"speedup_verdict"`
	SpeedupVerdictBest *string  `json:"speedup_verdict_best"`
	Unsupported        bool     `json:"unsupported"`
	BoundUS            *float64 `json:"bound_us"`
	BoundRatio         *float64 `json:"bound_ratio"` // bound ÷ time
	Proof              *Proof   `json:"proof"`       // that nothing is faster; null: none is known
	// BaselineChecked is Checked of the baseline.
	BaselineChecked *bool  `json:"baseline_checked"`
	IR              string `json:"ir"`                // hash; empty for a native algorithm
	Granularity     int64  `json:"granularity_bytes"` // a runtime runs it where this divides the size
	Executor        string `json:"executor"`
	// Libraries are what libraries took whose times the search was given, by rising time;
	// absent without any.
	Libraries []results.LibraryTime `json:"libraries,omitempty"`
	// Repeats is what the measurements say; absent where times are computed.
	Repeats *Repeats `json:"repeats,omitempty"`
	// Outlook is what was left uncertain; absent where the search expected nothing.
	Outlook *Outlook `json:"outlook,omitempty"`

	program      string // identifies what was run, with or without a program
	evidence     Evidence
	called, best *standing // the library as called, and in its fastest state; nil: not known
	others       []*standing
	named        bool     // the state was asked for: the baseline is as called
	place        string   // the table's
	lacks        []string // what no measurement supports
	model        *intervals.Model
}

// Proof says why no program can be faster than a row's.
type Proof struct {
	Status string `json:"status"` // optimal: the time meets what no routing can beat
	By     string `json:"by"`     // bound
}

// Range is a run of neighbouring sizes with one winner. A size between two
// measured ones belongs to the smaller one's range; sizes outside of all that was
// measured belong to none.
type Range struct {
	Nodes       int            `json:"nodes,omitempty"` // of a map's range, and the next
	Ranks       int            `json:"ranks,omitempty"`
	MinBytes    int64          `json:"min_bytes"`
	MaxBytes    int64          `json:"max_bytes"` // inclusive
	Placement   string         `json:"placement"`
	Algorithm   string         `json:"algorithm"`
	Source      string         `json:"source"`
	Parameters  map[string]any `json:"parameters"`
	Channels    int            `json:"channels"`
	Instances   int            `json:"instances"`
	Protocol    string         `json:"protocol"`
	TileBytes   int64          `json:"tile_bytes"`
	IR          string         `json:"ir"` // empty for a native algorithm
	Granularity int64          `json:"granularity_bytes"`
	Checked     *bool          `json:"checked"` // as a row's, of all its sizes
	// LeaveToLibrary is a row's, of all its sizes.
	LeaveToLibrary bool     `json:"leave_to_library"`
	Variables      []string `json:"variables,omitempty"` // a row's

	setting  string // how the library's setting is set; empty of others
	program  string
	evidence Evidence
}

// Candidates counts the candidates by what became of them.
type Candidates struct {
	Enumerated int            `json:"enumerated"`
	Refused    map[string]int `json:"refused"` // by reason
	BoundedOut int            `json:"bounded_out"`
	Tuned      int            `json:"tuned"`
	Untried    int            `json:"untried,omitempty"` // of which a strategy expected little
}

// Spent is the effort of a campaign.
type Spent struct {
	Seed        int64             `json:"seed"`
	Trials      int               `json:"trials"`
	Failed      int               `json:"failed"`
	Seconds     float64           `json:"seconds"` // of all trials added up; differs between equal campaigns
	Finished    bool              `json:"finished"`
	Simulated   bool              `json:"simulated"`   // a model computed the times
	SharedGPUs  *int              `json:"shared_gpus"` // number of GPUs if ranks share them, else null
	Fingerprint map[string]string `json:"fingerprint"`
	Drift       *Drift            `json:"drift,omitempty"` // absent where none was seen
}

// Build makes the winning table of a campaign's trials so far. Sizes without a time have
// no row. The error is about a collective that this build does not know.
func Build(c *results.Campaign) (*Table, error) { return build(c, true, 0) }

// BuildWithin is Build of the trials that take at most sms SMs; 0: of all. The baseline is as it is.
func BuildWithin(c *results.Campaign, sms int) (*Table, error) { return build(c, true, sms) }

// Programs is Build without the library's settings: of what files may hold.
func Programs(c *results.Campaign) (*Table, error) { return build(c, false, 0) }

// ProgramsWithin is Programs of the trials that take at most sms SMs; 0: of all.
func ProgramsWithin(c *results.Campaign, sms int) (*Table, error) { return build(c, false, sms) }

func build(c *results.Campaign, settings bool, sms int) (*Table, error) {
	plan := c.Plan()
	col, err := collective.OfName(plan.Spec(plan.Topology.Ranks, 1, false))
	if err != nil {
		return nil, err
	}
	executor, _ := c.Executor()
	tally, _ := c.Tally()
	trials := c.Trials()
	points := Points(tally)
	t := &Table{Schema: "colltune.results/v1", Rows: []Row{}, Candidates: candidatesOf(tally), Campaign: spentOn(plan, trials, tally, executor)}
	t.nodes, t.ranks = plan.Topology.Nodes, plan.Topology.Ranks
	t.place = executor.PlaceNote(plan.Topology.Ranks, plan.Topology.Name)
	named := plan.Registered() != ""
	if t.Campaign.Simulated && len(trials) > 0 {
		t.model = modelOf(c)
	}
	best := Measurements(trials)
	if !executor.Deterministic {
		t.Campaign.Drift = driftOf(best, points)
	}
	t.sms = sms
	for _, at := range Cells(plan) {
		ms := withoutIdle(best[at], points[at], named, settings)
		fit := Within(ms, sms)
		if len(fit) == 0 && len(ms) > 0 {
			t.unfit++
		}
		if i := Winner(fit, executor.Deterministic, libraryUS(points[at], best[at], named)); i >= 0 {
			row := newRow(plan, at, &fit[i])
			if t.Campaign.SharedGPUs == nil {
				busBW := row.AlgBW * col.BusFactor()
				row.BusBW = &busBW
			}
			row.Executor, row.place = executor.Name, t.place
			row.named = named
			row.compare(points[at], ms)
			if !executor.Deterministic {
				row.Repeats = repeatsOf(fit, i, points[at].Baseline)
			}
			row.Libraries = points[at].Libraries
			row.addBands(t.model)
			t.Rows = append(t.Rows, row)
		}
	}
	t.setOutlook(&tally)
	t.Ranges = ranges(t.Rows, Cells(plan))
	t.addNotes()
	return t, nil
}

// ByCell returns the rows by the sizes and placements that they are of.
func (t *Table) ByCell() map[Cell]*Row {
	rows := map[Cell]*Row{}
	for i := range t.Rows {
		rows[Cell{t.Rows[i].Placement, t.Rows[i].Bytes}] = &t.Rows[i]
	}
	return rows
}

// Points returns what a tally knows of every size and placement.
func Points(tally results.Tally) map[Cell]results.Point {
	points := map[Cell]results.Point{}
	for _, p := range tally.Points {
		points[Cell{p.Placement, p.Bytes}] = p
	}
	return points
}

func candidatesOf(tally results.Tally) Candidates {
	c := Candidates{tally.Enumerated, tally.Refused, tally.BoundedOut, tally.Tuned, tally.Untried}
	if c.Refused == nil {
		c.Refused = map[string]int{}
	}
	return c
}

// spentOn is what a campaign's trials took.
func spentOn(plan results.Plan, trials []results.Trial, tally results.Tally, executor results.Executor) Spent {
	s := Spent{Seed: plan.Seed, Trials: len(trials), Finished: tally.Finished, Simulated: isSimulated(plan, executor, trials), Fingerprint: executor.Fingerprint}
	if n := executor.SharedGPUs(plan.Topology.Ranks); n > 0 {
		s.SharedGPUs = &n
	}
	if s.Fingerprint == nil {
		s.Fingerprint = map[string]string{}
	}
	seconds := make([]float64, 0, len(trials))
	for i := range trials {
		if trials[i].Outcome != results.OK {
			s.Failed++
		}
		seconds = append(seconds, trials[i].Seconds)
	}
	slices.Sort(seconds) // the sum must not depend on the order of the trials
	for _, x := range seconds {
		s.Seconds += x
	}
	return s
}

// newRow returns the row of a winner, without what depends on the collective, the
// executor and the baseline.
func newRow(plan results.Plan, at Cell, w *Measured) Row {
	row := Row{
		Collective: plan.Collective, Topology: plan.Topology.Name, Nodes: plan.Topology.Nodes, Ranks: plan.Topology.Ranks,
		Bytes: at.Bytes, Placement: at.Placement,
		Algorithm: w.Algorithm, Source: w.Source, Parameters: w.Parameters, Channels: w.Channels, Instances: w.Instances,
		Protocol: w.Protocol, TileBytes: w.TileBytes,
		TimeUS: w.TimeUS, TimeCIUS: w.CIUS, AlgBW: float64(at.Bytes) / w.TimeUS / 1e3,
		Checked: w.IsChecked(),
		IR:      w.Program, Granularity: w.Granularity, program: w.Program, evidence: w.Evidence,
	}
	if w.IsNative() {
		row.IR = ""
	}
	row.Threadblocks, row.SettingEvidence = threadblocksOf(w.Trial), w.Trial.Evidence
	if row.Parameters == nil {
		row.Parameters = map[string]any{}
	}
	return row
}

// Compare replaces the baselines by those that at returns for a size and placement, with
// their times. A row for which it returns none loses its baseline.
func (t *Table) Compare(at func(bytes int64, placement string) results.Point) {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.standAt(at(r.Bytes, r.Placement), nil)
		r.addBands(t.model)
	}
	t.addNotes()
}

// WithoutCopies takes the library's times without copies into windows and out of them, as beside
// programs whose own buffers have to be in windows.
func (t *Table) WithoutCopies() {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.stand(r.called, bestOf(r.called, lists.Map(r.others, (*standing).withoutCopies)))
		r.addBands(t.model)
	}
	t.addNotes()
}

// Instead returns the row with another configuration in the winner's place, and what that
// amounts to.
func (r Row) Instead(m *Measured) Row {
	r.Algorithm, r.Source, r.Parameters, r.Channels, r.Instances = m.Algorithm, m.Source, m.Parameters, m.Channels, m.Instances
	r.Protocol, r.TileBytes, r.IR, r.Granularity, r.Threadblocks = m.Protocol, m.TileBytes, m.Program, m.Granularity, threadblocksOf(m.Trial)
	r.SettingEvidence = m.Trial.Evidence
	r.AlgBW *= r.TimeUS / m.TimeUS
	r.TimeUS, r.TimeCIUS, r.evidence, r.Checked, r.program = m.TimeUS, m.CIUS, m.Evidence, m.IsChecked(), m.Program
	if r.BoundUS != nil {
		r.setBound(*r.BoundUS)
	}
	r.stand(r.called, r.best)
	r.addBands(r.model)
	return r
}

// Is reports whether a configuration is the row's winner.
func (r *Row) Is(m Measured) bool {
	return m.Program == r.program && m.Protocol == r.Protocol && m.TileBytes == r.TileBytes
}

// SameTime is the relative difference up to which a program and the library count as
// equally fast.
const SameTime = 5e-4

// Evidence returns the sum of the evidence of a range's rows.
func (r *Range) Evidence() Evidence { return r.evidence }

// compare fills in the baseline and the bound of a row.
func (r *Row) compare(p results.Point, ms []Measured) {
	r.setBound(p.BoundUS)
	r.standAt(p, ms)
}

// setBound fills in what a bound on routings over the topology's links says of the row; 0: none is
// known. A library that sums in the switches needs no links, and a machine's links may be faster. So
// the bound says nothing about a time below it.
func (r *Row) setBound(us float64) {
	r.BoundUS, r.BoundRatio, r.Proof = nil, nil, nil
	if us <= 0 || us > r.TimeUS*(1+results.BoundRounding) {
		return
	}
	bound := min(us, r.TimeUS)
	ratio := bound / r.TimeUS
	r.BoundUS, r.BoundRatio = &bound, &ratio
	if ratio >= 1-results.BoundRounding {
		r.Proof = &Proof{Status: "optimal", By: "bound"}
	}
}

// standAt sets the row's baseline to what a point has, with the times of trials.
func (r *Row) standAt(p results.Point, ms []Measured) {
	called := standingOf(p.Baseline, ms)
	var others []*standing
	for i := range p.Others {
		others = append(others, standingOf(&p.Others[i], ms))
	}
	r.others = others
	r.stand(called, bestOf(called, others))
}

// ByChannels reports whether the baseline's own algorithm and protocol, with other channels than
// the library takes, are as fast as the winner: then the gain is theirs.
func (r *Row) ByChannels() bool {
	return r.BaselineBestChannelsUS != nil && r.Speedup != nil && *r.Speedup > 1+SameTime
}

// ranges merges neighbouring rows that have the same winner.
func ranges(rows []Row, all []Cell) []Range {
	ends := map[Cell]int64{} // the last size before the next measured one
	after := map[Cell]Cell{}
	for i, at := range all {
		ends[at] = at.Bytes
		if i+1 < len(all) && all[i+1].Placement == at.Placement {
			ends[at] = all[i+1].Bytes - 1
			after[at] = all[i+1]
		}
	}
	out := []Range{}
	var last Cell
	for _, r := range rows {
		at := Cell{r.Placement, r.Bytes}
		if n := len(out); n > 0 && after[last] == at && out[n-1].program == r.program && out[n-1].Protocol == r.Protocol && out[n-1].TileBytes == r.TileBytes && out[n-1].LeaveToLibrary == r.LeaveToLibrary && slices.Equal(out[n-1].Variables, r.Variables) {
			out[n-1].MaxBytes = ends[at]
			out[n-1].evidence = out[n-1].evidence.Plus(r.evidence)
			out[n-1].Checked = out[n-1].evidence.IsChecked()
		} else {
			out = append(out, Range{
				MinBytes: r.Bytes, MaxBytes: ends[at], Placement: r.Placement,
				Algorithm: r.Algorithm, Source: r.Source, Parameters: r.Parameters, Channels: r.Channels, Instances: r.Instances,
				Protocol: r.Protocol, TileBytes: r.TileBytes, IR: r.IR, Granularity: r.Granularity, Checked: r.Checked, LeaveToLibrary: r.LeaveToLibrary, Variables: r.Variables, program: r.program, evidence: r.evidence,
			})
			if r.isSetting() {
				out[len(out)-1].setting = r.SettingLine()
			}
		}
		last = at
	}
	return out
}

// Range returns the range from least to most bytes that a configuration serves alone.
func (m *Measured) Range(least, most int64) Range {
	r := Range{
		MinBytes: least, MaxBytes: most, Placement: m.Placement,
		Algorithm: m.Algorithm, Source: m.Source, Parameters: m.Parameters, Channels: m.Channels, Instances: m.Instances,
		Protocol: m.Protocol, TileBytes: m.TileBytes, IR: m.Program, Granularity: m.Granularity, Checked: m.IsChecked(), program: m.Program, evidence: m.Evidence,
	}
	if r.Parameters == nil {
		r.Parameters = map[string]any{}
	}
	return r
}
