package program

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
	make  func(context.Context, *Builder, []int64) ([]find, error)
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

// Constructions lists the constructions of a collective, by name, in the order in which they are
// tried.
func Constructions(collective string) (names []string) {
	for i := range constructions {
		if slices.Contains(constructions[i].collectives, collective) {
			names = append(names, constructions[i].name)
		}
	}
	return names
}

// Construct drafts what a construction finds for a range of sizes in bytes, rising. It begins
// nothing once it is late. One that takes too long here, or has nothing that families lack,
// comes to nothing unless it was asked for.
func (b *Builder) Construct(ctx context.Context, name string, sizes []int64, late Late) (all Drafted, err error) {
	c := constructions[slices.IndexFunc(constructions, func(c construction) bool { return c.name == name })]
	t, asked := b.target.Topology, b.options.asked(name)
	switch {
	case len(t.Ranks) > c.ranks && asked:
		all.Refusals = append(all.Refusals, b.Refuse(name, NotApplicable, fmt.Sprintf("it takes too long for %d ranks: want at most %d", len(t.Ranks), c.ranks)))
		return all, nil
	case len(t.Ranks) > c.ranks, !asked && complete(t):
		return all, nil
	}
	find := func() (*finds, error) { return b.find(ctx, &c, sizes) }
	found, err := b.entries.finds(name, func() (*finds, error) {
		if late() {
			return nil, nil
		}
		return find()
	})
	switch {
	case err != nil:
		return Drafted{}, err
	case found == nil:
		all.Unexplored = append(all.Unexplored, Unexplored{name, 0})
		return all, nil
	case found.Refusal != nil:
		all.Refusals = append(all.Refusals, b.Refuse(name, found.Refusal.Reason, found.Refusal.Detail))
		return all, nil
	}
	again := sync.OnceValues(find)
	for i := range found.Finds {
		some, err := b.draftFind(name, found, i, again)
		if err != nil {
			return Drafted{}, err
		}
		all.Add(some)
	}
	return all, nil
}

// find runs a construction. If it finds nothing, the result is a refusal.
func (b *Builder) find(ctx context.Context, c *construction, sizes []int64) (*finds, error) {
	found, err := c.make(ctx, b, sizes)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &finds{Refusal: &Refusal{c.name, NoHole, err.Error()}}, nil
	}
	return &finds{Finds: found}, nil
}

// draftFind drafts one of the finds of a construction. again finds all again, for their
// programs.
func (b *Builder) draftFind(construction string, found *finds, i int, again func() (*finds, error)) (Drafted, error) {
	f := &found.Finds[i]
	program := func(bool) (*lang.Program, error) {
		if f.program != nil {
			return f.program, nil
		}
		all, err := again()
		if err == nil && i >= len(all.Finds) {
			err = fmt.Errorf("%s found %d routings, and before %d", construction, len(all.Finds), len(found.Finds))
		}
		if err != nil {
			return nil, err
		}
		return all.Finds[i].program, nil
	}
	name := CandidateName(construction, f.Params, 0)
	t, err := b.entries.trace(synthesised, name, f.Apart, program, func() (*trace, error) {
		p, err := program(false)
		if err != nil {
			return nil, err
		}
		// It was found on the topology; check it all the same, with code that
		// shares nothing with what found it.
		if refused := constraints.CheckRouting(p, b.target.Topology); len(refused) > 0 {
			return &trace{refused: &Refusal{name, NoLink, refused[0].Detail}}, nil
		}
		return &trace{routing: &Routing{program: p, source: synthesised, apart: f.Apart}}, nil
	})
	switch {
	case err != nil:
		return Drafted{}, err
	case t.refused != nil:
		return Drafted{Refusals: []Refusal{b.Refuse(name, t.refused.Reason, t.refused.Detail)}}, nil
	}
	return b.draft(&Draft{Name: construction, Source: synthesised, Params: f.Params, Origin: f.Origin, Routing: t.routing}), nil
}

// packTrees finds spanning trees that together meet the bound on bandwidth, without a
// solver.
func packTrees(ctx context.Context, b *Builder, _ []int64) ([]find, error) {
	p := &b.target
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
func solveFrontier(ctx context.Context, b *Builder, _ []int64) ([]find, error) {
	c, err := b.target.over()
	if err != nil {
		return nil, err
	}
	solvers, err := b.solvers.open()
	if err != nil {
		return nil, err
	}
	found, err := synth.Candidates(ctx, solvers, b.target.Topology, c, solverWork)
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

// scheduleGreedy finds greedy schedules for the largest size, and for the smallest,
// where latency counts. A rank's part is one chunk: with more, schedules are shorter by the
// model, but longer once every message costs a call. Those for the largest also come
// unfused: where a rank has many links, a fused program leaves no threadblocks for instances.
func scheduleGreedy(ctx context.Context, b *Builder, sizes []int64) ([]find, error) {
	p := &b.target
	var all []find
	var known []*greedy.Schedule
	last := sizes[len(sizes)-1]
	for _, bytes := range slices.Compact([]int64{last, sizes[0]}) {
		s, err := greedy.Route(ctx, p.Topology, greedy.Options{Collective: p.Collective, Bytes: bytes})
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
		one := find{Params: script.Params{"chunks": 1, "for": units.Bytes(bytes).String()}, program: program,
			Origin: fmt.Sprintf("by=none chunks=1: %.2f us for %d bytes, %.1f %% over the bound, %s", s.TimeUS, bytes, 100*s.Gap(), s.Method)}
		all = append(all, one)
		if bytes == last {
			one.Params = maps.Clone(one.Params)
			one.Params["fused"], one.Apart = false, true
			all = append(all, one)
		}
	}
	return all, nil
}
