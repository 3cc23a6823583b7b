package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/greedy"
	"github.com/colltune/colltune/constraints/synth"
	"github.com/colltune/colltune/constraints/trees"
	"github.com/colltune/colltune/internal/units"
)

// construction is a method that synthesises routings for a topology.
type construction struct {
	name        string
	collectives []string
	// ranks is the size of the largest system that it is tried on: on larger ones it
	// takes too long.
	ranks int
	make  func(context.Context, *enumeration) ([]find, error)
}

// constructions is the table of methods, in the order in which they are tried. Where
// every two ranks are linked, none is tried unless asked for by name, since families
// have the routings that it would find.
var constructions = []construction{
	{"tree-packing", []string{"allgather", "reducescatter", "allreduce", "broadcast", "reduce"}, 32, packTrees},
	{"synthesised", []string{"allgather", "reducescatter", "allreduce", "broadcast", "reduce", "gather", "scatter", "alltoall"}, 8, solveFrontier},
	{"greedy", []string{"allgather", "reducescatter", "allreduce"}, 256, scheduleGreedy},
}

// maxPackedTrees is the most trees that a rank's data are divided among.
const maxPackedTrees = 12

// IsConstruction reports whether a name is that of a construction, and of no family.
func IsConstruction(name string) bool {
	return slices.ContainsFunc(constructions, func(c construction) bool { return c.name == name })
}

// admits reports whether flags admit a construction. Constructions have no parameters
// to fix, so fixing some excludes them.
func (o *Options) admits(c *construction, coll string) bool {
	return slices.Contains(c.collectives, coll) && !slices.Contains(o.Exclude, c.name) &&
		(len(o.Families) == 0 || slices.Contains(o.Families, c.name)) && (len(o.Routings) == 0 || slices.Contains(o.routingFamilies(), c.name)) &&
		len(o.Parameters) == 0 && o.Channels == 0
}

// constructs reports whether some construction is asked for.
func (o *Options) constructs(coll string) bool {
	return slices.ContainsFunc(constructions, func(c construction) bool { return o.admits(&c, coll) })
}

// synthesise drafts what the constructions find. It begins nothing once it is late.
func (e *enumeration) synthesise(ctx context.Context, late func() bool) (all drafted, err error) {
	p := e.problem
	for i := range constructions {
		c := &constructions[i]
		if !e.options.admits(c, p.Collective) {
			continue
		}
		if len(p.Topology.Ranks) > c.ranks {
			if slices.Contains(e.options.Families, c.name) {
				all.refusals = append(all.refusals, e.refuse(c.name, NotApplicable, fmt.Sprintf("it takes too long for %d ranks: want at most %d", len(p.Topology.Ranks), c.ranks)))
			}
			continue
		}
		if e.complete() && !slices.Contains(e.options.Families, c.name) {
			continue
		}
		found, err := e.findsOf(c, func() (*finds, error) {
			if late() {
				return nil, nil
			}
			return e.find(ctx, c)
		})
		switch {
		case err != nil:
			return drafted{}, err
		case found == nil:
			all.unexplored = append(all.unexplored, unexplored{c.name, 0})
			continue
		case found.Refusal != nil:
			all.refusals = append(all.refusals, e.refuse(c.name, found.Refusal.Reason, found.Refusal.Detail))
			continue
		}
		refind := sync.OnceValues(func() (*finds, error) { return e.find(ctx, c) })
		for i := range found.Finds {
			some, err := e.draftFind(c, found, i, refind)
			if err != nil {
				return drafted{}, err
			}
			all.add(some)
		}
	}
	return all, nil
}

// find runs a construction. If it finds nothing, the result is a refusal.
func (e *enumeration) find(ctx context.Context, c *construction) (*finds, error) {
	found, err := c.make(ctx, e)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &finds{Refusal: &Refusal{c.name, NoHole, err.Error()}}, nil
	}
	return &finds{Finds: found}, nil
}

// draftFind drafts one of the finds of a construction. refind finds all again, for their
// programs.
func (e *enumeration) draftFind(c *construction, found *finds, i int, refind func() (*finds, error)) (drafted, error) {
	f := &found.Finds[i]
	program := func(bool) (*lang.Program, error) {
		if f.program != nil {
			return f.program, nil
		}
		all, err := refind()
		if err == nil && i >= len(all.Finds) {
			err = fmt.Errorf("%s found %d routings, and before %d", c.name, len(all.Finds), len(found.Finds))
		}
		if err != nil {
			return nil, err
		}
		return all.Finds[i].program, nil
	}
	name := candidateName(c.name, f.Params, 0)
	t, err := e.traceOf("synthesised", name, f.Apart, program, func() (*trace, error) {
		p, err := program(false)
		if err != nil {
			return nil, err
		}
		// It was found on the topology; check it all the same, with code that
		// shares nothing with what found it.
		if refused := constraints.CheckRouting(p, e.problem.Topology); len(refused) > 0 {
			return &trace{refused: &Refusal{name, NoLink, refused[0].Detail}}, nil
		}
		return &trace{routing: &routing{program: p, source: "synthesised", apart: f.Apart}}, nil
	})
	switch {
	case err != nil:
		return drafted{}, err
	case t.refused != nil:
		return drafted{refusals: []Refusal{e.refuse(name, t.refused.Reason, t.refused.Detail)}}, nil
	}
	return e.draft(&draft{name: c.name, source: "synthesised", params: f.Params, origin: f.Origin, routing: t.routing}), nil
}

// complete reports whether every two ranks are linked.
func (e *enumeration) complete() bool {
	n := len(e.problem.Topology.Ranks)
	for a := range n {
		for b := range n {
			if a != b && !e.problem.Topology.Linked(a, b) {
				return false
			}
		}
	}
	return true
}

// packTrees finds spanning trees that together meet the bound on bandwidth, without a
// solver.
func packTrees(ctx context.Context, e *enumeration) ([]find, error) {
	p := e.problem
	pack := func(coll string) (*trees.Packing, error) {
		packing, err := trees.Pack(ctx, p.Topology, trees.Options{Collective: coll, Root: p.Root, MaxTrees: maxPackedTrees})
		if err == nil {
			err = packing.Check(p.Topology)
		}
		return packing, err
	}
	var program *lang.Program
	var k int
	if p.Collective == "allreduce" {
		to, err := pack("reducescatter")
		if err != nil {
			return nil, err
		}
		from, err := pack("allgather")
		if err != nil {
			return nil, err
		}
		k = from.K
		if program, err = trees.AllReduce(to, from, p.InPlace); err != nil {
			return nil, err
		}
	} else {
		packing, err := pack(p.Collective)
		if err != nil {
			return nil, err
		}
		k = packing.K
		if program, err = packing.Program(p.InPlace); err != nil {
			return nil, err
		}
	}
	return []find{{Params: script.Params{"trees": k}, program: program, Origin: fmt.Sprintf("by=none trees=%d", k)}}, nil
}

// solverWork is how much solvers may do while walking a frontier, as the time that
// it takes them on a quiet machine. Work is counted rather than time, so that slow
// machines find the same. Queries on eight ranks take well under a second; longer
// ones are left unsettled.
const solverWork = 60 * time.Second

// solveFrontier finds the frontier of steps against rounds for each chunk, with a solver.
func solveFrontier(ctx context.Context, e *enumeration) ([]find, error) {
	c, err := e.problem.over()
	if err != nil {
		return nil, err
	}
	solvers, err := e.solver()
	if err != nil {
		return nil, err
	}
	found, err := synth.Candidates(ctx, solvers, e.problem.Topology, c, solverWork)
	if err != nil {
		return nil, err
	}
	var all []find
	for _, f := range found {
		all = append(all, find{
			Params: script.Params{"chunks": f.Chunks, "steps": f.Steps, "rounds": f.Rounds}, program: f.Program,
			Origin: fmt.Sprintf("by=%s chunks=%d steps=%d rounds=%d: %s", f.By, f.Chunks, f.Steps, f.Rounds, f.Proof)})
	}
	return all, nil
}

// greedyChunks is the number of chunks in a rank's part. With more chunks, schedules are
// shorter by the model, but longer once every message costs a call.
const greedyChunks = 1

// scheduleGreedy finds greedy schedules for the largest size, and for the smallest,
// where latency counts. Those for the largest also come unfused: where a rank has
// many links, a fused program leaves no threadblocks for instances.
func scheduleGreedy(ctx context.Context, e *enumeration) ([]find, error) {
	p := e.problem
	var all []find
	var known []*greedy.Schedule
	last := p.Sizes[len(p.Sizes)-1]
	for _, bytes := range slices.Compact([]int64{last, p.Sizes[0]}) {
		s, err := greedy.Route(ctx, p.Topology, greedy.Options{Collective: p.Collective, Bytes: bytes, Chunks: greedyChunks})
		if err == nil {
			err = s.Check(p.Topology)
		}
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(known, s.SameRouting) {
			continue
		}
		known = append(known, s)
		program, err := s.Program(p.InPlace)
		if err != nil {
			return nil, err
		}
		one := find{Params: script.Params{"chunks": greedyChunks, "for": units.Bytes(bytes).String()}, program: program,
			Origin: fmt.Sprintf("by=none chunks=%d: %.2f us for %d bytes, %.1f %% over the bound, %s", greedyChunks, s.TimeUS, bytes, 100*s.Gap(), s.Method)}
		all = append(all, one)
		if bytes == last {
			one.Params = maps.Clone(one.Params)
			one.Params["fused"], one.Apart = false, true
			all = append(all, one)
		}
	}
	return all, nil
}
