package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/baseline"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// Baseline is what the vendor's library would run at one size.
type Baseline struct {
	Bytes    int64
	InPlace  bool
	Name     string // as the tables print it: ring ×24 LL
	Protocol topologies.Proto
	tile     int64   // 0: the protocol's own
	own      bool    // the library itself chooses, including the protocol
	hash     string  // of the program that is equivalent; empty if there is none
	clockUS  float64 // the library's time by a closed form, in microseconds; 0: the program's
	extraUS  float64 // what the library's call takes beyond the program's
}

// baselinePoint is a size at which a draft is the baseline.
type baselinePoint struct {
	bytes    int64
	protocol topologies.Proto
	tile     int64 // 0: the protocol's own
	name     string
	standIn  bool // for what the library runs, and no program here does
	extraUS  float64
	leastUS  float64
	choice   baseline.Choice
}

// baseline drafts the programs that the vendor's library would choose at each
// size, according to its own cost model. Sizes with the same choice share a draft.
// If a choice has no program here, the next best that has one stands in, and the
// user is told. If a search is narrowed, they are only there for comparison. Where times
// are simulated, a choice that has no program but a closed form is among clocked.
func (e *enumeration) baseline(ctx context.Context) (all []*draft, clocked []Baseline, err error) {
	p := e.problem
	drafts := map[string]*draft{}    // by what is run, without the protocol
	said := map[string]bool{}        // by family: reasons that were reported for its lack of a program
	lacking := map[string][]string{} // sizes without a baseline, by reason
	without := map[string][]string{} // sizes where another stands in
	simulated := cmp.Or(e.options.Executor, "sim") == "sim"
	for _, bytes := range p.Sizes {
		c, err := p.over()
		if err != nil {
			return nil, nil, err
		}
		forced := e.forced
		if !baseline.SwitchesReduce(p.Op, p.DType) {
			forced.Without = "nvls"
		}
		if forced.ElemBytes, err = collective.ElemBytes(p.DType); err != nil {
			return nil, nil, err
		}
		forced.NoFiles = forced.NoFiles || p.Op == "avg"
		choices, err := baseline.ForcedChoices(p.Topology, c, bytes, forced)
		if err != nil {
			lacking[err.Error()] = append(lacking[err.Error()], units.Bytes(bytes).String())
			continue
		}
		instead, timed := "", false
		for _, chosen := range choices {
			if chosen.ClockUS > 0 && simulated {
				clocked = append(clocked, Baseline{Bytes: bytes, InPlace: p.InPlace, Name: chosen.Family + " " + chosen.Protocol.String(), Protocol: chosen.Protocol, clockUS: chosen.ClockUS})
				if e.options.narrowed() {
					break
				}
				timed = true // what it runs otherwise is a candidate all the same
				continue
			}
			if chosen.Lacks != "" {
				of := strings.ToUpper(chosen.Family)
				without[of+": "+chosen.Lacks] = append(without[of+": "+chosen.Lacks], units.Bytes(bytes).String())
				instead = ", for " + of
				continue
			}
			key := routingName(chosen)
			at := baselinePoint{bytes, chosen.Protocol, chosen.TileBytes, key + " " + chosen.Protocol.String() + instead, instead != "", 0, 0, chosen}
			if simulated {
				at.extraUS, at.leastUS = chosen.ExtraUS, chosen.LeastUS
			}
			if simulated && e.outgrown(chosen) {
				if timed {
					break
				}
				b, why, err := e.steadyBaseline(ctx, at)
				if err != nil {
					return nil, nil, err
				}
				if why == "" {
					clocked = append(clocked, b)
					break
				}
				if of := chosen.Family + why; !said[of] {
					said[of] = true
					e.options.Observer.notice(fmt.Sprintf("baseline %s has no program here: %s", key, why))
				}
				continue
			}
			if _, known := drafts[key]; !known {
				d, why, err := e.baselineDraft(ctx, chosen)
				if err != nil {
					return nil, nil, err
				}
				if drafts[key] = d; d != nil {
					all = append(all, d)
				} else if at := chosen.Family + why; !said[at] {
					said[at] = true
					e.options.Observer.notice(fmt.Sprintf("baseline %s has no program here: %s", key, why))
				}
			}
			d := drafts[key]
			if d != nil && !timed {
				d.points = append(d.points, at)
			}
			if d != nil {
				break // later choices would only stand in for it
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(without)) {
		at := without[why]
		e.options.Observer.notice(fmt.Sprintf("at %s the library runs %s; what it runs otherwise stands in, and speedups are overstated there", sizesText(at), why))
	}
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		at := " at " + strings.Join(lacking[why], " ")
		if len(lacking[why]) == len(p.Sizes) {
			at = ""
		}
		e.options.Observer.notice(fmt.Sprintf("no baseline%s: %s", at, why))
	}
	return all, clocked, nil
}

// sizesText names sizes that follow one another by the first and the last.
func sizesText(sizes []string) string {
	if len(sizes) < 3 {
		return strings.Join(sizes, " and ")
	}
	return sizes[0] + " to " + sizes[len(sizes)-1]
}

// routingName is a choice without its protocol: ring rings=4 ×2.
func routingName(c baseline.Choice) string {
	params := script.Params{}
	for name, n := range c.Parameters {
		if n != 1 {
			params[name] = n
		}
	}
	return candidateName(c.Family, params, c.Channels)
}

// baselineDraft turns a choice into a program: the built-in family over one
// channel, replicated as many times as the library uses channels (GC3 7.1.1). If
// the system has no such program, it returns nil and the reason.
func (e *enumeration) baselineDraft(ctx context.Context, c baseline.Choice) (d *draft, why string, err error) {
	p := e.problem
	f, err := templates.Find(templates.Builtin(), c.Family, p.Collective)
	if err != nil {
		return nil, "", err
	}
	fixed := map[string]string{}
	for parameter, value := range c.Parameters {
		if declares(f, parameter) {
			fixed[parameter] = strconv.Itoa(value)
		}
	}
	g, err := e.gridOf(f, fixed, func() (*grid, error) {
		var g grid
		g.Params, g.Refused, err = e.routings(ctx, f, fixed)
		return &g, err
	})
	if err != nil {
		return nil, "", err
	}
	if len(g.Params) == 0 {
		if len(g.Refused) > 0 {
			return nil, g.Refused[0].Detail, nil
		}
		_, why, err := f.Admits(e.machine, e.request(), nil)
		if why == "" {
			why = "it applies with none of its parameters"
		}
		return nil, why, err
	}
	params := e.widestRings(f, g.Params)
	t, err := e.traceOf(f.Source, candidateName(f.Name, params, 0), false, e.retraceOf(f, params), func() (*trace, error) {
		r, err := e.route(f, params)
		var refused *Refusal
		if errors.As(err, &refused) {
			return &trace{refused: refused}, nil
		}
		return &trace{routing: r}, err
	})
	switch {
	case err != nil:
		return nil, "", err
	case t.refused != nil:
		return nil, t.refused.Detail, nil
	}
	d = &draft{name: f.Name, source: "template", params: params, instances: c.Channels, routing: t.routing, reference: e.options.narrowed()}
	if c.Family == "ring" {
		d.threadblocks = c.Channels * max(c.Parameters["rings"], 1)
	}
	return d, "", nil
}

// widestRings picks, from a family's sets of parameters, the first with rings
// found to be wider than those in rank order, or else the first. The library looks
// for the widest itself, among rings that enter every node once.
func (e *enumeration) widestRings(f *templates.Family, grid []script.Params) script.Params {
	for _, hole := range f.Holes() {
		for _, params := range grid {
			orders, found := params[hole.Name].([][]int)
			if found && (hole.Hole == script.HoleNodeRings || hole.Hole == script.HoleRings && rings.EntersOnce(e.problem.Topology, orders[0])) {
				return params
			}
		}
	}
	return grid[0]
}

// narrowed reports whether flags exclude programs or knobs that the vendor's library
// may choose. Its choice is then measured for comparison, and cannot win.
func (o *Options) narrowed() bool {
	return len(o.Families)+len(o.Exclude)+len(o.Routings)+len(o.Parameters)+len(o.Protocols) > 0 ||
		o.Channels > 0 || o.Instances > 0 || o.TileBytes > 0 || o.Runtime != ""
}

// compare adds a draft's baseline points to the candidate with its program, and to the
// space.
func (s *Space) compare(c *autotune.Candidate, d *draft, inPlace bool) {
	for _, at := range d.points {
		c.Baseline = append(c.Baseline, autotune.Point{Bytes: at.bytes, Protocol: at.protocol, TileBytes: at.tile})
		s.Baselines = append(s.Baselines, Baseline{Bytes: at.bytes, InPlace: inPlace, Name: at.name, Protocol: at.protocol, tile: at.tile, hash: c.Hash, extraUS: at.extraUS})
	}
}

// tallyPoints lists the rows' comparisons in the form that the journal keeps.
func (s *Space) tallyPoints(p *Problem, leastUS func(bytes int64) float64) []results.Point {
	type at struct {
		bytes     int64
		placement string
	}
	baselines := map[at]*results.Baseline{}
	for _, b := range s.Baselines {
		point := &results.Baseline{
			Name: b.Name, Program: b.hash, Protocol: b.Protocol.String(),
			TileBytes: cmp.Or(b.tile, int64(p.Topology.Protocols[b.Protocol].Tile)),
		}
		if b.clockUS > 0 {
			point.TimeUS, point.TileBytes, point.Data = b.clockUS, 0, results.NoData
		}
		point.ExtraUS = b.extraUS
		if b.own {
			point.Protocol, point.TileBytes = results.ProtocolAuto, 0
		}
		baselines[at{b.Bytes, placementOf(b.InPlace)}] = point
	}
	var points []results.Point
	for _, one := range p.placements() {
		for _, bytes := range p.Sizes {
			placement := placementOf(one.InPlace)
			point := results.Point{Bytes: bytes, Placement: placement, Baseline: baselines[at{bytes, placement}]}
			if leastUS != nil {
				point.BoundUS = leastUS(bytes)
			}
			points = append(points, point)
		}
	}
	return points
}
