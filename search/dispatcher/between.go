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
)

// Between adds the rows of a number of nodes between two of the map. On the simulator the
// promising routings are searched there, in a campaign in dir, which goes on with one that is
// there; it is returned, and the caller closes it. On other executors the recipes with the
// least expected times are taken as they are, and there is no campaign, nor is there one where
// nothing is found. how is what the search may use; the caller closes its executors.
func (d *Dispatcher) Between(ctx context.Context, nodes int, dir string, how search.Effort, o Observer) (*results.Campaign, error) {
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
	kept := slices.Sorted(maps.Keys(promising(predicted)))
	o.notice(fmt.Sprintf("%s: searching %s", units.Count(nodes, "node"), units.Count(len(kept), "routing")))
	c, t, err := d.shortSearch(ctx, nodes, dir, kept, how, o)
	if nothing := (*search.NothingFound)(nil); errors.As(err, &nothing) {
		o.notice(units.Count(nodes, "node") + ": " + nothing.Error())
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", units.Count(nodes, "node"), err)
	}
	d.rows[nodes] = commanded(c.Plan(), rowsOf(t, Short))
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

// shortSearch searches the routings kept, and returns the campaign with its winning table.
func (d *Dispatcher) shortSearch(ctx context.Context, nodes int, dir string, kept []string, how search.Effort, o Observer) (*results.Campaign, *table.Table, error) {
	plan, err := d.plan(nodes)
	if err != nil {
		return nil, nil, err
	}
	for _, routing := range kept {
		plan.Flags = append(plan.Flags, results.Flag{Name: "routing", Value: routing})
	}
	p, options, err := search.FromPlan(plan)
	if err != nil {
		return nil, nil, err
	}
	options.Observer.Stage, options.Observer.Notice = o.Stage, o.Notice
	c, err := results.Create(dir, plan)
	if err != nil {
		return nil, nil, err
	}
	if _, err = search.Run(ctx, p, options, c, how); err != nil {
		return nil, nil, errors.Join(err, c.Discard())
	}
	t, err := table.Build(c)
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, t, nil
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
		if search.IsConstruction(first.family) {
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
	row.Library = us < row.TimeUS*(1-sameTime)
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
