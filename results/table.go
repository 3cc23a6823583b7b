package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// Table is the answer of a campaign: for every size the program and the knobs
// that measured fastest. Its JSON is the product's contract.
type Table struct {
	Schema     string     `json:"schema"`
	Notes      []string   `json:"notes"` // what to know before the figures, a line each
	Rows       []Row      `json:"rows"`  // by placement, then rising size
	Ranges     []Range    `json:"ranges"`
	Candidates Candidates `json:"candidates"`
	Campaign   Spent      `json:"campaign"`

	place string // Executor.PlaceNote
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
	TimeUS     float64        `json:"time_us"`    // median
	TimeCIUS   [2]float64     `json:"time_ci_us"` // MedianCI
	AlgBW      float64        `json:"algbw_gbps"`
	BusBW      *float64       `json:"busbw_gbps"` // null where ranks share a GPU
	// Checked reports whether the executor checked the data of every measurement
	// behind the time. Null: no data were moved, or the journal does not say.
	Checked *bool `json:"checked"`
	// What the row is compared with; null where unknown.
	Baseline       *string  `json:"baseline"`
	BaselineTimeUS *float64 `json:"baseline_time_us"`
	Speedup        *float64 `json:"speedup"` // baseline ÷ winner
	BoundUS        *float64 `json:"bound_us"`
	BoundRatio     *float64 `json:"bound_ratio"` // bound ÷ time
	// BaselineChecked is Checked of the baseline.
	BaselineChecked *bool  `json:"baseline_checked"`
	IR              string `json:"ir"`                // hash; empty for an algorithm of the back end's own
	Granularity     int64  `json:"granularity_bytes"` // a runtime runs it where this divides the size
	Executor        string `json:"executor"`

	program  string // identifies what was run, with or without a program
	evidence evidence
	baseline evidence
	place    string // the table's
}

// Range is a run of neighbouring sizes with one winner. A size between two
// measured ones belongs to the smaller one's range; sizes outside of all that was
// measured belong to none.
type Range struct {
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
	IR          string         `json:"ir"` // empty for an algorithm of the back end's own
	Granularity int64          `json:"granularity_bytes"`
	Checked     *bool          `json:"checked"` // as a row's, of all its sizes

	program  string
	evidence evidence
}

// Candidates says what became of every candidate.
type Candidates struct {
	Enumerated int            `json:"enumerated"`
	Refused    map[string]int `json:"refused"` // by reason
	BoundedOut int            `json:"bounded_out"`
	Tuned      int            `json:"tuned"`
}

// Spent is what the campaign took.
type Spent struct {
	Seed        int64             `json:"seed"`
	Trials      int               `json:"trials"`
	Failed      int               `json:"failed"`
	Seconds     float64           `json:"seconds"` // of all trials added up; differs between equal campaigns
	Finished    bool              `json:"finished"`
	Simulated   bool              `json:"simulated"`   // its times are a model's
	SharedGPUs  *int              `json:"shared_gpus"` // on how many GPUs the ranks share; null: they don't
	Fingerprint map[string]string `json:"fingerprint"`
}

// Build makes the winning table of what a campaign has measured so far.
func Build(c *Campaign) (*Table, error) {
	plan := c.Plan().normal()
	col, err := collective.OfName(collective.Spec{Name: plan.Collective, Ranks: plan.Topology.Ranks, Chunks: 1, Root: plan.Root})
	if err != nil {
		return nil, err
	}
	executor, _ := c.Executor()
	tally, _ := c.Tally()
	trials := c.Trials()
	points := map[cell]Point{}
	for _, p := range tally.Points {
		points[cell{p.Placement, p.Bytes}] = p
	}
	t := &Table{Schema: "colltune.results/v1", Rows: []Row{}, Candidates: candidatesOf(tally), Campaign: spentOn(plan, trials, tally, executor)}
	t.place = executor.PlaceNote(plan.Topology.Ranks, plan.Topology.Name)
	measured := gather(trials)
	for _, at := range cells(plan) {
		if i := slices.IndexFunc(measured[at], competes); i >= 0 {
			row := newRow(plan, at, &measured[at][i])
			if t.Campaign.SharedGPUs == nil {
				busBW := row.AlgBW * col.BusFactor()
				row.BusBW = &busBW
			}
			row.Executor, row.place = executor.Name, t.place
			row.compare(points[at], measured[at])
			t.Rows = append(t.Rows, row)
		}
	}
	t.Ranges = ranges(t.Rows, cells(plan))
	t.describe()
	return t, nil
}

// candidatesOf is what a tally says of the candidates.
func candidatesOf(tally Tally) Candidates {
	c := Candidates{tally.Enumerated, tally.Refused, tally.BoundedOut, tally.Tuned}
	if c.Refused == nil {
		c.Refused = map[string]int{}
	}
	return c
}

// spentOn is what a campaign's trials took.
func spentOn(plan Plan, trials []Trial, tally Tally, executor Executor) Spent {
	s := Spent{Seed: plan.Seed, Trials: len(trials), Finished: tally.Finished, Simulated: isSimulated(plan, executor, trials), Fingerprint: executor.Fingerprint}
	if n := executor.SharedGPUs(plan.Topology.Ranks); n > 0 {
		s.SharedGPUs = &n
	}
	if s.Fingerprint == nil {
		s.Fingerprint = map[string]string{}
	}
	seconds := make([]float64, 0, len(trials))
	for i := range trials {
		if trials[i].Outcome != OK {
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

// newRow is the row of a winner, all but what depends on the collective, on the
// executor and on what it is compared with.
func newRow(plan Plan, at cell, w *measured) Row {
	row := Row{
		Collective: plan.Collective, Topology: plan.Topology.Name, Nodes: plan.Topology.Nodes, Ranks: plan.Topology.Ranks,
		Bytes: at.bytes, Placement: at.placement,
		Algorithm: w.Algorithm, Source: w.Source, Parameters: w.Parameters, Channels: w.Channels, Instances: w.Instances,
		Protocol: w.Protocol, TileBytes: w.TileBytes,
		TimeUS: w.time, TimeCIUS: w.ci, AlgBW: float64(at.bytes) / w.time / 1e3,
		Checked: w.isChecked(),
		IR:      w.Program, Granularity: w.Granularity, program: w.Program, evidence: w.evidence,
	}
	if w.native() {
		row.IR = ""
	}
	if row.Parameters == nil {
		row.Parameters = map[string]any{}
	}
	return row
}

// Compare replaces the baselines by others, which at gives for a size and
// placement, with their times. A row for which it has none loses its baseline.
func (t *Table) Compare(at func(bytes int64, placement string) *Baseline) {
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Baseline, r.BaselineTimeUS, r.Speedup, r.BaselineChecked = nil, nil, nil, nil
		if b := at(r.Bytes, r.Placement); b != nil {
			r.against(b.Name, b.TimeUS, evidenceOf(b.Data, 1))
		}
	}
	t.describe()
}

// against fills in what a row is compared with.
func (r *Row) against(name string, us float64, e evidence) {
	speedup := us / r.TimeUS
	r.Baseline, r.BaselineTimeUS, r.Speedup = &name, &us, &speedup
	r.baseline, r.BaselineChecked = e, e.isChecked()
}

// rounding is by how much the time of a routing that meets the bound may fall
// below it, because its sum was rounded.
const rounding = 1e-9

// compare fills in the baseline and the bound of a row.
func (r *Row) compare(p Point, ms []measured) {
	// The bound is on routings over the topology's links. A library that sums in
	// the switches needs none, and a machine's links may be faster. So the bound
	// says nothing about a time below it.
	if p.BoundUS > 0 && p.BoundUS <= r.TimeUS*(1+rounding) {
		bound := min(p.BoundUS, r.TimeUS)
		ratio := bound / r.TimeUS
		r.BoundUS, r.BoundRatio = &bound, &ratio
	}
	b := p.Baseline
	if b == nil {
		return
	}
	us, behind := b.TimeUS, evidenceOf(b.Data, 1)
	if us == 0 {
		for _, m := range ms {
			if m.Program == b.Program && m.Protocol == b.Protocol && m.TileBytes == b.TileBytes {
				us, behind = m.time, m.evidence
			}
		}
	}
	if us > 0 {
		r.against(b.Name, us, behind)
	}
}

// cell is one placement and one size, at which trials compete.
type cell struct {
	placement string
	bytes     int64
}

// placements lists the placements of a plan.
func placements(p Plan) []string {
	if p.Placement == "both" {
		return []string{"in", "out"}
	}
	return []string{p.Placement}
}

// cells lists a plan's cells in the table's order.
func cells(p Plan) []cell {
	var all []cell
	for _, placement := range placements(p) {
		for _, n := range p.Sizes {
			all = append(all, cell{placement, n})
		}
	}
	return all
}

// measured is a program with its knobs in a cell, and all its measurements, with
// the repetitions pooled.
type measured struct {
	*Trial // the first repetition
	evidence
	time float64
	ci   [2]float64
}

// knobbed identifies a program with its knobs in a cell, of which there may be
// repetitions.
type knobbed struct {
	cell
	program, protocol string
	tile              int64
}

// pool is the measurements of one knobbed.
type pool struct {
	first *Trial    // the first repetition
	times []float64 // of all that were ok
	evidence
	wrong bool // some left wrong data
}

// pools collects the repetitions of each.
func pools(trials []Trial) map[knobbed]*pool {
	all := map[knobbed]*pool{}
	for i := range trials {
		t := &trials[i]
		k := knobbed{cell{t.Placement, t.Bytes}, t.Program, t.Protocol, t.TileBytes}
		p := all[k]
		if p == nil {
			p = &pool{first: t}
			all[k] = p
		}
		if t.Repeat < p.first.Repeat {
			p.first = t
		}
		switch t.Outcome {
		case OK:
			p.times = append(p.times, t.TimesUS...)
			p.evidence = p.evidence.plus(evidenceOf(t.Data, 1))
		case Wrong:
			p.wrong = true
		}
	}
	return all
}

// gather lists what was measured in each cell, best first. A program that was
// wrong once is left out, however often it was right.
func gather(trials []Trial) map[cell][]measured {
	all := map[cell][]measured{}
	for k, p := range pools(trials) {
		if p.wrong || len(p.times) == 0 {
			continue
		}
		all[k.cell] = append(all[k.cell], measured{p.first, p.evidence, Median(p.times), MedianCI(p.times)})
	}
	for _, ms := range all {
		slices.SortFunc(ms, better)
	}
	return all
}

func competes(m measured) bool { return !m.Reference }

// better orders measured programs by time. Equal times are settled by what does
// not vary between measurements: fewer threadblocks, fewer steps, then names, so
// that the order is total.
func better(a, b measured) int {
	return cmp.Or(cmp.Compare(a.time, b.time), Tie(a.Trial, b.Trial))
}

// Tie orders trials that took the same time.
func Tie(a, b *Trial) int {
	if c := cmp.Or(
		cmp.Compare(a.Threadblocks, b.Threadblocks),
		cmp.Compare(a.Steps, b.Steps),
		strings.Compare(a.Algorithm, b.Algorithm),
	); c != 0 {
		return c // parameters take long to print
	}
	return cmp.Or(
		strings.Compare(parametersText(a.Parameters), parametersText(b.Parameters)),
		cmp.Compare(a.Channels, b.Channels),
		cmp.Compare(a.Instances, b.Instances),
		strings.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.TileBytes, b.TileBytes),
		strings.Compare(a.Program, b.Program),
	)
}

// parametersText prints parameters as in a cell of the table: a=1 b=ring.
func parametersText(p map[string]any) string {
	names := sortedKeys(p)
	words := make([]string, len(names))
	for i, n := range names {
		value, ok := p[n].(string)
		if !ok {
			// Encoded and decoded, so that a value has the type that the journal
			// would give it.
			text, err := json.Marshal(p[n])
			if err != nil {
				text = []byte(fmt.Sprint(p[n]))
			}
			value = string(text)
		}
		words[i] = n + "=" + value
	}
	return strings.Join(words, " ")
}

// briefParameters prints parameters for a line that people read, and only the
// beginning of long ones, such as orders and trees of many ranks. Files and other
// formats have them whole.
func briefParameters(p map[string]any) string {
	const most = 40
	words := strings.Fields(parametersText(p))
	for i, w := range words {
		if r := []rune(w); len(r) > most {
			words[i] = string(r[:most-1]) + "…"
		}
	}
	return strings.Join(words, " ")
}

// ranges merges neighbouring rows that have the same winner.
func ranges(rows []Row, all []cell) []Range {
	ends := map[cell]int64{} // the last size before the next measured one
	after := map[cell]cell{}
	for i, at := range all {
		ends[at] = at.bytes
		if i+1 < len(all) && all[i+1].placement == at.placement {
			ends[at] = all[i+1].bytes - 1
			after[at] = all[i+1]
		}
	}
	out := []Range{}
	var last cell
	for _, r := range rows {
		at := cell{r.Placement, r.Bytes}
		if n := len(out); n > 0 && after[last] == at && out[n-1].program == r.program && out[n-1].Protocol == r.Protocol && out[n-1].TileBytes == r.TileBytes {
			out[n-1].MaxBytes = ends[at]
			out[n-1].evidence = out[n-1].evidence.plus(r.evidence)
			out[n-1].Checked = out[n-1].evidence.isChecked()
		} else {
			out = append(out, Range{
				MinBytes: r.Bytes, MaxBytes: ends[at], Placement: r.Placement,
				Algorithm: r.Algorithm, Source: r.Source, Parameters: r.Parameters, Channels: r.Channels, Instances: r.Instances,
				Protocol: r.Protocol, TileBytes: r.TileBytes, IR: r.IR, Granularity: r.Granularity, Checked: r.Checked, program: r.program, evidence: r.evidence,
			})
		}
		last = at
	}
	return out
}
