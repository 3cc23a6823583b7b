package dispatcher

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// Judged is a size on a number of nodes that was left out: what was chosen there, and the best.
type Judged struct {
	Nodes     int     `json:"nodes"`
	Bytes     int64   `json:"bytes"`
	Placement string  `json:"placement"`
	Chosen    string  `json:"chosen"`
	ChosenUS  float64 `json:"chosen_us"` // 0: not known, so that the point is not judged
	Best      string  `json:"best"`
	BestUS    float64 `json:"best_us"`
}

// Regret sums up how much longer what was chosen takes than the best.
type Regret struct {
	Geomean  float64  `json:"geomean"` // of chosen ÷ best, over the points that are judged; 0: there is none
	Worst    float64  `json:"worst"`
	Unjudged int      `json:"unjudged"`
	Points   []Judged `json:"points"`
}

// regretOf sums up points.
func regretOf(points []Judged) *Regret {
	g, logs, n := &Regret{Points: points}, 0.0, 0
	for _, j := range g.Points {
		if j.ChosenUS == 0 {
			g.Unjudged++
			continue
		}
		logs += math.Log(j.ChosenUS / j.BestUS)
		g.Worst = max(g.Worst, j.ChosenUS/j.BestUS)
		n++
	}
	if n > 0 {
		g.Geomean = math.Exp(logs / float64(n))
	}
	return g
}

// String is the regret in a line.
func (g *Regret) String() string {
	n := len(g.Points) - g.Unjudged
	if n == 0 {
		return fmt.Sprintf("no point could be judged, of %d", len(g.Points))
	}
	worst := g.Points[slices.IndexFunc(g.Points, func(j Judged) bool { return j.ChosenUS > 0 && j.ChosenUS/j.BestUS == g.Worst })]
	text := fmt.Sprintf("%.3f in the geometric mean of %s, at worst %.2f (%s on %s: %s)", g.Geomean, units.Count(n, "point"), g.Worst, units.Bytes(worst.Bytes), units.Count(worst.Nodes, "node"), worst.Chosen)
	if g.Unjudged > 0 {
		text += fmt.Sprintf("; %d could not be judged", g.Unjudged)
	}
	return text
}

// LeaveOut leaves each number of nodes out that lies between two others of the map, and judges
// what the others say of it by the times of its own campaign; nil: the map has none. On the
// simulator that is the best of the promising routings' trials there: a short search finds
// nothing slower. On other executors it is the recipe with the least expected time, if it was
// measured.
func (d *Dispatcher) LeaveOut(ctx context.Context, o Observer) (*Regret, error) {
	inner := d.campaigns[1 : len(d.campaigns)-1]
	if len(inner) == 0 {
		return nil, nil
	}
	return d.judgeAll(ctx, inner, o)
}

// HeldOut judges what the dispatcher says of other campaigns' numbers of nodes by their times:
// what a short search found where Between has made one, outside the map the nearest number's
// recipe as it is, and else as LeaveOut does. The error is a *results.NotOneMapError if one is of another
// search, or of a number of nodes that the map has.
func (d *Dispatcher) HeldOut(ctx context.Context, others []*results.Campaign, o Observer) (*Regret, error) {
	if err := results.SortMap(slices.Concat(d.campaigns, others)); err != nil {
		return nil, err
	}
	return d.judgeAll(ctx, others, o)
}

func (d *Dispatcher) judgeAll(ctx context.Context, campaigns []*results.Campaign, o Observer) (*Regret, error) {
	var all []Judged
	for _, c := range campaigns {
		points, err := d.judge(ctx, c, o)
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
	}
	return regretOf(all), nil
}

// judge returns the points of a campaign. The map's own rows of its number of nodes do not count.
func (d *Dispatcher) judge(ctx context.Context, c *results.Campaign, o Observer) (points []Judged, err error) {
	t, err := table.Programs(c)
	if err != nil {
		return nil, err
	}
	nodes, measured := c.Plan().Topology.Nodes, measuredTimes(c)
	var predicted map[table.Cell][]prediction
	if _, _, _, inside := d.sides(nodes); inside {
		if predicted, err = d.predicted(ctx, nodes, o); err != nil {
			return nil, err
		}
	}
	kept := promising(predicted)
	for _, best := range rowsOf(t, InMap) {
		at := table.Cell{Placement: best.Placement, Bytes: best.Bytes}
		point := Judged{Nodes: nodes, Bytes: best.Bytes, Placement: best.Placement, Best: best.Title(), BestUS: best.US()}
		found := d.rowAt(nodes, best.Bytes, best.Placement)
		switch {
		case found != nil && found.Found == Short:
			point.Chosen, point.ChosenUS = found.Title(), found.US()
		case predicted == nil:
			others := slices.DeleteFunc(d.counts(), func(n int) bool { return n == nodes })
			if nearest, ok := d.chooseAmong(others, nodes, best.Bytes, best.Placement); ok {
				point.Chosen, point.ChosenUS = nearest.Title(), timeOf(&nearest, measured[at], &best)
			}
		case d.simulated:
			point.Chosen, point.ChosenUS = bestOf(kept, measured[at], &best)
		case len(predicted[at]) > 0:
			r := &Row{recipe: predicted[at][0].recipe}
			point.Chosen, point.ChosenUS = r.Title(), timeOf(r, measured[at], &best)
		}
		points = append(points, point)
	}
	return points, nil
}

// timeOf is what a row's choice takes on other nodes, by the times measured there; 0: not known.
func timeOf(r *Row, measured map[recipe]float64, there *Row) float64 {
	if r.Library {
		if there.BaselineTimeUS == nil {
			return 0
		}
		return *there.BaselineTimeUS
	}
	return measured[r.recipe]
}

// bestOf is the best of the trials of the routings kept, or the library where that is faster.
func bestOf(kept map[string]bool, measured map[recipe]float64, there *Row) (title string, us float64) {
	for r, t := range measured {
		row := Row{recipe: r}
		if name := row.Title(); kept[r.routing] && (us == 0 || t < us || t == us && name < title) {
			title, us = name, t
		}
	}
	if us > 0 && there.BaselineTimeUS != nil && !faster(us, *there.BaselineTimeUS) {
		return "the library", *there.BaselineTimeUS
	}
	return title, us
}

// Title names what is chosen, in one line.
func (r *Row) Title() string {
	if r.Library {
		return "the library"
	}
	return fmt.Sprintf("%s ×%d %s tile %s", r.recipe.routing, r.recipe.instances, r.recipe.protocol, units.Bytes(r.recipe.tile))
}
