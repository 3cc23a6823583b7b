package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
)

// How a row was found.
const (
	InMap     = "map"          // a campaign of the map searched this number of nodes
	Short     = "short search" // the most promising routings were simulated
	Estimated = "estimate"     // by estimates alone: the executor is no simulator
)

// Row is what to run at a size on a number of nodes.
type Row struct {
	Nodes     int            `json:"nodes"`
	Ranks     int            `json:"ranks"`
	Bytes     int64          `json:"bytes"`
	Placement string         `json:"placement"`
	Library   bool           `json:"library"` // leave the call to the library: the program is no faster, or was not measured there
	Algorithm string         `json:"algorithm"`
	Source    string         `json:"source"`
	Own       map[string]any `json:"parameters"`
	Channels  int            `json:"channels"` // 0: not known
	Instances int            `json:"instances"`
	Protocol  string         `json:"protocol"`
	TileBytes int64          `json:"tile_bytes"`
	TimeUS    float64        `json:"time_us"` // of the program
	// The library's; null where unknown.
	Baseline       *string  `json:"baseline"`
	BaselineTimeUS *float64 `json:"baseline_time_us"`
	Evidence       string   `json:"evidence"` // measured, simulated or estimated
	Executor       string   `json:"executor"`
	Found          string   `json:"found"`   // InMap, Short or Estimated
	IR             string   `json:"ir"`      // hash; empty where the program is not known
	File           string   `json:"file"`    // the program; empty where there is none
	Command        string   `json:"command"` // searches this recipe alone on these nodes; empty for a library's own algorithm

	recipe recipe
}

// US is the time of what is chosen, in µs.
func (r *Row) US() float64 {
	if r.Library {
		return *r.BaselineTimeUS
	}
	return r.TimeUS
}

// Dispatcher says what to run for any size and number of nodes.
type Dispatcher struct {
	campaigns []*results.Campaign // by rising number of nodes
	tables    []*table.Table
	simulated bool
	rows      map[int][]Row // by nodes
	estimates map[int]times
}

// New makes the dispatcher of a map: campaigns that results.SortMap has sorted. The error is
// about a map that says nothing.
func New(campaigns []*results.Campaign) (*Dispatcher, error) {
	if len(campaigns) < 2 {
		return nil, errors.New("a dispatcher is of several numbers of nodes: want a map's folder, or several campaigns")
	}
	d := &Dispatcher{campaigns: campaigns, simulated: true, rows: map[int][]Row{}, estimates: map[int]times{}}
	for _, c := range campaigns {
		t, err := table.Programs(c)
		if err != nil {
			return nil, err
		}
		if len(t.Rows) == 0 {
			return nil, fmt.Errorf("%s: nothing measured yet: finish the search, or leave the campaign out", c.Dir())
		}
		d.tables = append(d.tables, t)
		d.simulated = d.simulated && t.Campaign.Simulated
		d.rows[c.Plan().Topology.Nodes] = commanded(c.Plan(), rowsOf(t, InMap))
	}
	return d, nil
}

// BaselineLine says which library the map is compared with, as a table's does.
func (d *Dispatcher) BaselineLine() string { return table.Join(d.tables).BaselineLine() }

// faster reports whether a program beats the library.
func faster(us, libraryUS float64) bool { return us < libraryUS*(1-table.SameTime) }

func rowsOf(t *table.Table, found string) (rows []Row) {
	evidence := "measured"
	if t.Campaign.Simulated {
		evidence = "simulated"
	}
	for i := range t.Rows {
		w := &t.Rows[i]
		row := Row{
			Nodes: w.Nodes, Ranks: w.Ranks, Bytes: w.Bytes, Placement: w.Placement,
			Algorithm: w.Algorithm, Source: w.Source, Own: search.ChosenParameters(w.Parameters), Channels: w.Channels, Instances: w.Instances, Protocol: w.Protocol, TileBytes: w.TileBytes,
			IR: w.IR, TimeUS: w.TimeUS, Evidence: evidence, Executor: w.Executor, Found: found,
			recipe: recipeOf(&results.Trial{Algorithm: w.Algorithm, Source: w.Source, Parameters: w.Parameters, Instances: w.Instances, Protocol: w.Protocol, TileBytes: w.TileBytes}),
		}
		if library, us := w.Library(); us > 0 {
			row.Baseline, row.BaselineTimeUS, row.Library = &library, &us, !faster(w.TimeUS, us)
		}
		rows = append(rows, row)
	}
	return rows
}

// counts lists the numbers of nodes that have rows, rising.
func (d *Dispatcher) counts() []int { return slices.Sorted(maps.Keys(d.rows)) }

// Choose returns the row for a call: of the number of nodes that is nearest in ratio, the
// smaller one of two as near; there, of the largest size that is not larger, or of the
// smallest. Beyond the map that is its nearest row. ok is false for a placement that the map
// has not.
func (d *Dispatcher) Choose(nodes int, bytes int64, placement string) (row Row, ok bool) {
	return d.chooseAmong(d.counts(), nodes, bytes, placement)
}

func (d *Dispatcher) chooseAmong(counts []int, nodes int, bytes int64, placement string) (row Row, ok bool) {
	for i, n := range counts {
		if i+1 < len(counts) && nodes > lastNearest(n, counts[i+1]) {
			continue
		}
		for _, r := range d.rows[n] {
			if r.Placement == placement && (!ok || r.Bytes <= bytes) {
				row, ok = r, true
			}
		}
		return row, ok
	}
	return row, false
}

// lastNearest is the largest number of nodes that is as near to low as to high, or nearer:
// their geometric mean, rounded down.
func lastNearest(low, high int) int {
	n := int(math.Sqrt(float64(low) * float64(high)))
	for n*n > low*high {
		n--
	}
	for (n+1)*(n+1) <= low*high {
		n++
	}
	return n
}

// Middles lists the numbers of nodes midway between neighbours of the map: their geometric
// means.
func (d *Dispatcher) Middles() (all []int) {
	for i := range d.campaigns[1:] {
		low, high := d.nodes(i), d.nodes(i+1)
		if n := int(math.Round(math.Sqrt(float64(low) * float64(high)))); n > low && n < high {
			all = append(all, n)
		}
	}
	return all
}

func (d *Dispatcher) nodes(i int) int { return d.campaigns[i].Plan().Topology.Nodes }

// sides returns the campaigns on both sides of a number of nodes, without that number's own,
// and its place between them in ratio, from 0 to 1; ok is false outside the map.
func (d *Dispatcher) sides(nodes int) (low, high *results.Campaign, weight float64, ok bool) {
	for i, c := range d.campaigns {
		switch n := d.nodes(i); {
		case n < nodes:
			low = c
		case n > nodes && high == nil:
			high = c
		}
	}
	if low == nil || high == nil {
		return nil, nil, 0, false
	}
	from, to := float64(low.Plan().Topology.Nodes), float64(high.Plan().Topology.Nodes)
	return low, high, math.Log(float64(nodes)/from) / math.Log(to/from), true
}

func (d *Dispatcher) estimated(ctx context.Context, nodes int, o Observer) (times, error) {
	if t, ok := d.estimates[nodes]; ok {
		return t, nil
	}
	o.notice(units.Count(nodes, "node") + ": estimating routings")
	plan, err := d.plan(nodes)
	if err != nil {
		return nil, err
	}
	p, options, err := search.FromPlan(plan)
	if err != nil {
		return nil, err
	}
	options.Observer.Stage = o.Stage
	all, err := search.Estimates(ctx, p, options)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", units.Count(nodes, "node"), err)
	}
	d.estimates[nodes] = estimatedTimes(all)
	return d.estimates[nodes], nil
}

// predicted returns the expected times on a number of nodes between two of the map; nil where
// no program was measured on either side, as of a library that runs none.
func (d *Dispatcher) predicted(ctx context.Context, nodes int, o Observer) (map[table.Cell][]prediction, error) {
	low, high, weight, _ := d.sides(nodes)
	var sides [2]corrections
	for i, c := range []*results.Campaign{low, high} {
		estimated, err := d.estimated(ctx, c.Plan().Topology.Nodes, o)
		if err != nil {
			return nil, err
		}
		sides[i] = correct(measuredTimes(c), estimated)
	}
	if len(sides[0])+len(sides[1]) == 0 {
		return nil, nil
	}
	estimated, err := d.estimated(ctx, nodes, o)
	if err != nil {
		return nil, err
	}
	return predict(estimated, sides[0], sides[1], weight), nil
}

// Observer is told how far the work is; nil functions are told nothing.
type Observer struct {
	Stage  func(what string, done, of int)
	Notice func(string)
}

func (o Observer) notice(s string) {
	if o.Notice != nil {
		o.Notice(s)
	}
}
