package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/program"
)

// Brief is a short search on a number of nodes between two of the map, which Search makes.
type Brief struct {
	Nodes   int
	Plan    results.Plan
	problem search.Problem
	options search.Options
	kept    int // routings
}

// Between prepares the rows of a number of nodes between two of the map, and writes nothing. On
// the simulator that is a short search of the promising routings there. On other executors the
// recipes with the least expected times are taken as they are, and the result is nil, as it is
// where there is nothing to search.
func (d *Dispatcher) Between(ctx context.Context, nodes int, o Observer) (*Brief, error) {
	if _, _, _, ok := d.sides(nodes); !ok || d.rows[nodes] != nil {
		return nil, &NotBetweenError{nodes, d.counts()}
	}
	predicted, err := d.predicted(ctx, nodes, o)
	if err != nil {
		return nil, err
	}
	if predicted == nil {
		o.notice(units.Count(nodes, "node") + ": no program was measured on either side: the nearest number of nodes counts")
		return nil, nil
	}
	if !d.simulated {
		d.rows[nodes], err = d.byEstimate(nodes, predicted)
		return nil, err
	}
	b := &Brief{Nodes: nodes}
	if b.Plan, err = d.plan(nodes); err != nil {
		return nil, err
	}
	kept := slices.Sorted(maps.Keys(promising(predicted)))
	b.kept = len(kept)
	for _, routing := range kept {
		b.Plan.Flags = append(b.Plan.Flags, results.Flag{Name: "routing", Value: routing})
	}
	b.problem, b.options, err = search.FromPlan(b.Plan)
	return b, err
}

// Search makes a short search in a campaign in dir, which goes on with one that is there, and
// adds its rows. It returns the campaign, which the caller closes; nil: nothing is found. how is
// what the search may use; the caller closes its executors.
func (d *Dispatcher) Search(ctx context.Context, b *Brief, dir string, how search.Effort, o Observer) (*results.Campaign, error) {
	of := units.Count(b.Nodes, "node")
	o.notice(fmt.Sprintf("%s: searching %s", of, units.Count(b.kept, "routing")))
	b.options.Observer.Stage, b.options.Observer.Notice = o.Stage, o.Notice
	c, err := results.Create(dir, b.Plan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	if _, err = search.Run(ctx, b.problem, b.options, c, how); err != nil {
		err = errors.Join(err, c.Discard())
		if nothing := (*search.NothingFound)(nil); errors.As(err, &nothing) {
			o.notice(of + ": " + nothing.Error())
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	t, err := table.Programs(c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	d.rows[b.Nodes] = commanded(b.Plan, rowsOf(t, Short))
	return c, nil
}

// NotBetweenError reports a number of nodes that is not between two of the map, or has rows.
type NotBetweenError struct {
	Nodes int
	Has   []int // numbers of nodes with rows
}

// Error names the numbers of nodes.
func (e *NotBetweenError) Error() string {
	return fmt.Sprintf("%d nodes: there are rows of %v: want another number between these", e.Nodes, e.Has)
}

// plan is that of the map's search on another number of nodes: the sizes of all campaigns, as
// far as they are not too small there.
func (d *Dispatcher) plan(nodes int) (results.Plan, error) {
	plan := d.campaigns[0].Plan()
	for _, c := range d.campaigns[1:] {
		plan.Sizes = slices.Concat(plan.Sizes, c.Plan().Sizes)
	}
	slices.Sort(plan.Sizes)
	plan.Sizes = slices.Compact(plan.Sizes)
	p, plan, err := search.PlanOn(plan, nodes)
	if err != nil {
		return plan, err
	}
	least, err := p.LeastBytes()
	if err != nil {
		return plan, err
	}
	plan.Sizes = slices.DeleteFunc(slices.Clone(plan.Sizes), func(n int64) bool { return n < least })
	return plan, nil
}

// byEstimate are the rows of the recipes with the least expected times. The library's times are
// interpolated, each straight in the logarithms of time and nodes.
func (d *Dispatcher) byEstimate(nodes int, predicted map[table.Cell][]prediction) (rows []Row, err error) {
	plan, err := d.plan(nodes)
	if err != nil {
		return nil, err
	}
	executor, _ := d.campaigns[0].Executor()
	for _, at := range table.Cells(plan) {
		if len(predicted[at]) == 0 {
			continue
		}
		first := predicted[at][0]
		row := Row{
			Nodes: nodes, Ranks: plan.Topology.Ranks, Bytes: at.Bytes, Placement: at.Placement,
			Algorithm: first.family, Source: "template", Own: first.parameters(), Instances: first.instances, Protocol: first.protocol, TileBytes: first.tile,
			TimeUS: first.us, Evidence: "estimated", Executor: executor.Name, Found: Estimated, recipe: first.recipe,
		}
		if program.IsConstruction(first.family) {
			row.Source = "synthesised"
		}
		d.interpolateLibrary(&row)
		rows = append(rows, row)
	}
	return commanded(plan, rows), nil
}

// interpolateLibrary fills in the library's time between the rows of the map on both sides.
func (d *Dispatcher) interpolateLibrary(row *Row) {
	low, high, weight, _ := d.sides(row.Nodes)
	a, b := d.rowAt(low.Plan().Topology.Nodes, row.Bytes, row.Placement), d.rowAt(high.Plan().Topology.Nodes, row.Bytes, row.Placement)
	if a == nil || b == nil || a.BaselineTimeUS == nil || b.BaselineTimeUS == nil {
		return
	}
	us := math.Exp((1-weight)*math.Log(*a.BaselineTimeUS) + weight*math.Log(*b.BaselineTimeUS))
	row.Baseline, row.BaselineTimeUS = a.Baseline, &us
	row.Library = !faster(row.TimeUS, us)
}

// rowAt is the row of a size on a number of nodes; nil: there is none.
func (d *Dispatcher) rowAt(nodes int, bytes int64, placement string) *Row {
	for i := range d.rows[nodes] {
		if r := &d.rows[nodes][i]; r.Bytes == bytes && r.Placement == placement {
			return r
		}
	}
	return nil
}

// commanded fills in the commands of rows: the search of each one's recipe alone, as far as it
// has one, on the nodes of a plan.
func commanded(plan results.Plan, rows []Row) []Row {
	own := slices.DeleteFunc(slices.Clone(plan.Flags), func(f results.Flag) bool {
		return slices.Contains([]string{"family", "exclude", "routing", "instances", "protocol", "tile-bytes"}, f.Name)
	})
	for i := range rows {
		r := &rows[i]
		if r.Source == results.SourceNative {
			continue
		}
		plan.Flags = append(slices.Clone(own),
			results.Flag{Name: "routing", Value: search.Routing(r.Algorithm, r.Own)}, results.Flag{Name: "instances", Value: strconv.Itoa(r.Instances)},
			results.Flag{Name: "protocol", Value: r.Protocol}, results.Flag{Name: "tile-bytes", Value: units.Bytes(r.TileBytes).String()})
		r.Command = plan.Command()
	}
	return rows
}

// parameters are the recipe's, as texts.
func (r recipe) parameters() map[string]any {
	all := map[string]any{}
	for _, word := range strings.Fields(r.routing)[1:] {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}
