package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/limited"
	"github.com/colltune/colltune/templates"
)

// Late reports whether it is too late to begin more of something.
type Late func() bool

// Never is the deadline of a search that has time for all.
func Never() bool { return false }

// Family drafts one family's routings over its parameters. It begins nothing once it is
// late, but its first routing while none is too late.
func (b *Builder) Family(ctx context.Context, f *templates.Family, late, first Late) (all Drafted, err error) {
	if f.Protocol != "" {
		for _, proto := range b.Protocols(f.Protocol) {
			if err := b.target.Topology.CheckProtocol(proto); err != nil {
				all.Refusals = append(all.Refusals, b.Refuse(f.Name, NotApplicable, err.Error()))
				return all, nil
			}
		}
	}
	f = f.Budgeted(b.machine)
	fixed := b.options.Fixed(f)
	g, err := b.entries.grid("grid", f, fixed, func() (*grid, error) {
		if first() {
			return nil, nil
		}
		return b.grid(ctx, f, fixed)
	})
	if err != nil {
		return all, err
	}
	if g == nil {
		all.Unexplored = append(all.Unexplored, Unexplored{f.Name, 0})
		return all, nil
	}
	for _, r := range g.Refused {
		all.Refusals = append(all.Refusals, b.Refuse(r.Candidate, r.Reason, r.Detail))
	}
	if g.Why != "" {
		all.Refusals = append(all.Refusals, b.Refuse(f.Name, NotApplicable, g.Why))
		return all, nil
	}
	traced, err := b.traceAll(ctx, f, g.Params, late, first)
	all.Add(traced)
	return all, err
}

func (b *Builder) grid(ctx context.Context, f *templates.Family, fixed map[string]string) (*grid, error) {
	var g grid
	var err error
	if g.Params, g.Refused, err = b.routings(ctx, f, fixed); err == nil && len(g.Params)+len(g.Refused) == 0 {
		g.Why, err = b.unfit(f, fixed)
	}
	var limit *script.Error
	switch {
	case errors.As(err, &limit) && f.Source == "builtin":
		// It looks at more links than a template has time for, on a system of thousands
		// of ranks; the others may do.
		g = grid{Refused: []Refusal{{f.Name, TooLarge, err.Error()}}}
	case err != nil:
		return nil, err
	}
	return &g, nil
}

// maxTraced limits the programs traced at the same time, in pairs of ranks: a program
// over 2,048 ranks takes about 300 MB while it is traced.
const maxTraced = 1 << 26

// traceLimit is maxTraced, or fewer pairs of ranks where there is little memory.
func (m Memory) traceLimit() int64 {
	const each = 4 // operations of a pair that large programs have at most
	return max(min(m.Programs()/(each*tracedBytes), maxTraced), 1)
}

// traceAll drafts a family's programs, which are traced in parallel and collected
// in order. A user's family is run sequentially, within one budget of steps.
func (b *Builder) traceAll(ctx context.Context, f *templates.Family, grid []script.Params, late, first Late) (all Drafted, err error) {
	jobs := b.options.jobs()
	if f.Limited() {
		jobs = 1
	}
	traces := make([]*trace, len(grid))
	ranks := int64(len(b.target.Topology.Ranks))
	var done atomic.Int64
	err = limited.ForEach(ctx, jobs, len(grid), b.options.Memory.traceLimit(), func(int) int64 { return ranks * ranks }, func(i int) (err error) {
		late := late
		if i == 0 {
			late = first
		}
		traces[i], err = b.tracedOnce(f, grid[i], late)
		b.options.Observer.Reach("tracing "+f.Name, int(done.Add(1)), len(grid))
		return err
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return Drafted{}, err
	}
	for i, params := range grid {
		switch t := traces[i]; {
		case t == nil:
			all.Unexplored = append(all.Unexplored, Unexplored{f.Name, len(b.options.instanceCounts())})
		case t.refused != nil:
			all.Refusals = append(all.Refusals, b.Refuse(CandidateName(f.Name, params, 0), t.refused.Reason, t.refused.Detail))
		default:
			all.Add(b.draft(&Draft{Name: f.Name, Source: "template", Params: params, Routing: t.routing, Protocol: f.Protocol}))
		}
	}
	return all, nil
}

// tracedOnce returns the trace of a family's routing, from this search or an
// earlier one; nil if there is no time left to trace it.
func (b *Builder) tracedOnce(f *templates.Family, params script.Params, late Late) (*trace, error) {
	return b.entries.trace(f.Source, CandidateName(f.Name, params, 0), false, b.retraceOf(f, params), func() (*trace, error) {
		if late() {
			return nil, nil
		}
		r, err := b.route(f, params)
		var refused *Refusal
		if errors.As(err, &refused) {
			return &trace{refused: refused}, nil
		}
		return &trace{routing: r}, err
	})
}

// Only drafts a number of instances of a built-in family's routing with the first of the sets of
// parameters, some of them fixed, that pick chooses. It returns nil and the reason if the
// system has none.
func (b *Builder) Only(ctx context.Context, f *templates.Family, fixed map[string]string, instances int, pick func(*templates.Family, []script.Params) script.Params) (d *Draft, why string, err error) {
	g, err := b.entries.grid("choice", f, fixed, func() (*grid, error) {
		var g grid
		g.Params, g.Refused, err = b.routings(ctx, f, fixed)
		return &g, err
	})
	var limit *script.Error
	switch {
	case errors.As(err, &limit): // too many links to look at
		return nil, err.Error(), nil
	case err != nil:
		return nil, "", err
	case len(g.Params) == 0 && len(g.Refused) > 0:
		return nil, g.Refused[0].Detail, nil
	case len(g.Params) == 0:
		why, err := b.unfit(f, nil)
		return nil, why, err
	}
	params := pick(f, g.Params)
	t, err := b.tracedOnce(f, params, Never)
	switch {
	case err != nil:
		return nil, "", err
	case t.refused != nil:
		return nil, t.refused.Detail, nil
	}
	return &Draft{Name: f.Name, Source: "template", Params: params, Instances: instances, Routing: t.routing}, "", nil
}

// unfit returns the reason for which a family applies with none of its sets of
// parameters: the one it gives for its defaults and the values that are fixed.
func (b *Builder) unfit(f *templates.Family, fixed map[string]string) (string, error) {
	given := map[string]any{}
	for name, text := range fixed {
		p, err := f.Parameter(name)
		if err != nil {
			return "", err
		}
		if given[name], err = p.ParseValue(text); err != nil {
			return "", err
		}
	}
	_, why, err := f.Admits(b.machine, b.target.Request(), given)
	if why == "" {
		why = "it applies with none of its parameters"
	}
	return why, err
}

// route returns a family's routing. Large programs of built-in families are
// dropped and traced again when needed; the user's are run only once, within one
// budget of steps.
func (b *Builder) route(f *templates.Family, params script.Params) (*Routing, error) {
	builtin, request := f.Source == "builtin", b.target.Request()
	request.Sketch = builtin && len(b.target.Topology.Ranks) > maxFollowed
	program, err := b.traceFor(f, params, request)
	if err != nil {
		return nil, err
	}
	r := &Routing{program: program, source: f.Source}
	if builtin {
		r.releaseProgram(b.target.Topology, request.Sketch, b.retraceOf(f, params))
	}
	return r, nil
}

// maxFollowed is the most ranks over which the values of a program are followed when it
// is first traced. Over more of them that takes most of the time, and few of the programs
// are compiled.
const maxFollowed = 1 << 10

// retraceOf returns a function that runs a family's program again.
func (b *Builder) retraceOf(f *templates.Family, params script.Params) retrace {
	return func(sketch bool) (*lang.Program, error) {
		request := b.target.Request()
		request.Sketch = sketch && f.Source == "builtin"
		return b.traceFor(f, params, request)
	}
}

func (b *Builder) traceFor(f *templates.Family, params script.Params, request script.Request) (*lang.Program, error) {
	if !b.options.asked(f.Name) {
		request.MaxOps = MaxOperations // a larger program would be refused
	}
	if most := b.options.Memory.Operations(); most < lang.MaxOps && (request.MaxOps == 0 || most < int64(request.MaxOps)) {
		request.MaxOps = max(int(most), 1)
	}
	request.MaxPeers = b.target.Topology.MinSMs() // one that sends to more has no room on a GPU
	program, err := f.Trace(b.machine, request, params)
	if err != nil {
		return nil, b.traceError(f, err)
	}
	// The template language checks links as it runs. Check the routing again,
	// against the topology itself and with code that shares nothing with it.
	if refused := constraints.CheckRouting(program, b.target.Topology); len(refused) > 0 {
		r := refused[0]
		return nil, &Refusal{Reason: NoLink, Detail: fmt.Sprintf("%s: %s", r.Pos, r.Detail)}
	}
	return program, nil
}

// traceError turns a mistake in a routing into a refusal, unless the program is
// the user's own: then the user should see the error with its line. A link that it lacks
// may be a refusal all the same.
func (b *Builder) traceError(f *templates.Family, err error) error {
	var wrong *lang.Error
	switch {
	case errors.As(err, &wrong) && (wrong.Large || wrong.Ops > 0):
		return b.tooMany(f, wrong.Ops)
	case errors.As(err, &wrong) && wrong.Peers:
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("on a GPU of %d SMs: %v, each through a threadblock of its own", b.target.Topology.MinSMs(), err)}
	case errors.As(err, &wrong) && wrong.NoLink && (f.Source == "builtin" || b.options.RefuseMissingLinks):
		return &Refusal{Reason: NoLink, Detail: err.Error()}
	case f.Source != "builtin":
		return err
	}
	return &Refusal{Reason: BadProgram, Detail: err.Error()}
}

// tooMany refuses a program of more operations than it may have: n, or 0 if it was
// left off before they were counted.
func (b *Builder) tooMany(f *templates.Family, n int) *Refusal {
	asked, room := b.options.asked(f.Name), b.options.Memory.Operations()
	switch {
	case n > lang.MaxOps:
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations: no program has more than %d", n, lang.MaxOps)}
	case n > MaxOperations && !asked:
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations: want at most %d, or --family %s", n, MaxOperations, f.Name)}
	case n > 0:
		return b.options.Memory.refuse(int64(n)*compiledBytes, fmt.Sprintf("%d operations", n))
	case room < MaxOperations || asked:
		return b.options.Memory.refuse((room+1)*compiledBytes, fmt.Sprintf("more than %d operations", room))
	}
	return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("more than %d operations: want --family %s", MaxOperations, f.Name)}
}
