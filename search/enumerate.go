package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/baseline"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// enumeration is one placement of a request. Its steps return what they make: first
// drafts, one for each routing and number of instances, which are then ranked and built.
type enumeration struct {
	problem   *Problem
	options   *Options
	machine   script.Machine
	cache     *cache
	expired   deadline        // nil: there is time for all
	placement int             // index among the problem's
	of        int             // the problem's placements; 0 is 1
	forced    baseline.Forced // what is left of the choice of the library

	// What is found once, when it is first needed; nil until then.
	solvers  *solver.Pool // see solver
	holes    map[hole]found
	blocks   *rings.Blocks
	choice   *chosenNICs
	steadies map[int]map[string]*sim.Prepared // by number of nodes and routing: see steady
}

// late returns a function that reports whether a stage begins nothing more, once a part
// of it has to be done.
func (e *enumeration) late(s stage, part float64) func() bool {
	return func() bool { return e.expired != nil && e.expired(s, e.placement, max(e.of, 1), part) }
}

// drafted is what a step hands on: drafts, and what became of the others.
type drafted struct {
	drafts     []*draft
	refusals   []Refusal
	unexplored []unexplored
}

// unexplored is n candidates for which there was no time; 0: nobody knows how many.
type unexplored struct {
	name string
	n    int
}

func (d *drafted) add(more drafted) {
	d.drafts = append(d.drafts, more.drafts...)
	d.refusals = append(d.refusals, more.refusals...)
	d.unexplored = append(d.unexplored, more.unexplored...)
}

// solver is the solvers, which are opened when they are first asked for.
func (e *enumeration) solver() (*solver.Pool, error) {
	if e.solvers != nil {
		return e.solvers, nil
	}
	o := e.options
	var err error
	e.solvers, err = solver.Open(solver.Options{Solver: o.Solver, Timeout: o.Timeout, MemoryCap: SolverMemory(o.Memory), Notice: o.Observer.notice})
	return e.solvers, err
}

// close ends the solvers.
func (e *enumeration) close() {
	if e.solvers != nil {
		e.solvers.Close()
	}
}

// draft is a traced program with its number of instances.
type draft struct {
	name         string // the family's, or the construction's
	source       string // template or synthesised
	params       script.Params
	instances    int
	threadblocks int // at most, on a GPU; 0: no limit
	routing      *routing
	origin       string // how a construction found it
	protocol     string // the family's own; empty: any
	reference    bool   // only for comparison
	points       []baselinePoint
}

// String is the draft as -v and errors print it: ring channels=4 ×24.
func (d *draft) String() string { return candidateName(d.name, d.params, d.instances) }

func candidateName(family string, params script.Params, instances int) string {
	var s strings.Builder
	s.WriteString(family)
	if text := params.String(); text != "" {
		s.WriteString(" " + text)
	}
	if instances > 0 {
		s.WriteString(" ×" + strconv.Itoa(instances))
	}
	return s.String()
}

// machineOf is the view of a topology that templates get.
func machineOf(t *topologies.Topology) script.Machine {
	gpus := make([]int, t.Nodes)
	for n := range gpus {
		gpus[n] = len(t.NodeRanks(n))
	}
	return script.NewMachine(gpus, t.Linked)
}

// refuse returns the refusal of a candidate, and tells the observer.
func (e *enumeration) refuse(candidate string, reason Reason, detail string) Refusal {
	r := Refusal{candidate, reason, detail}
	e.options.Observer.refused(r)
	return r
}

// request is the call that a template has to implement.
func (e *enumeration) request() script.Request {
	return script.Request{Collective: e.problem.Collective, Root: e.problem.Root, InPlace: e.problem.InPlace, Counts: e.problem.Counts}
}

// family drafts one family's routings over its parameters. It begins nothing once it is
// late, but its first routing while any family may still be traced.
func (e *enumeration) family(ctx context.Context, f *templates.Family, late func() bool) (all drafted, err error) {
	if f.Protocol != "" {
		for _, proto := range e.protocolsOf(f.Protocol) {
			if err := e.problem.Topology.CheckProtocol(proto); err != nil {
				all.refusals = append(all.refusals, e.refuse(f.Name, NotApplicable, err.Error()))
				return all, nil
			}
		}
	}
	f = f.Budgeted(e.machine)
	fixed := e.options.fixed(f)
	g, err := e.gridOf(f, fixed, func() (*grid, error) {
		if e.late(tracing, 1)() {
			return nil, nil
		}
		return e.grid(ctx, f, fixed)
	})
	if err != nil {
		return all, err
	}
	if g == nil {
		all.unexplored = append(all.unexplored, unexplored{f.Name, 0})
		return all, nil
	}
	for _, r := range g.Refused {
		all.refusals = append(all.refusals, e.refuse(r.Candidate, r.Reason, r.Detail))
	}
	if g.Why != "" {
		all.refusals = append(all.refusals, e.refuse(f.Name, NotApplicable, g.Why))
		return all, nil
	}
	traced, err := e.traceAll(ctx, f, g.Params, late)
	all.add(traced)
	return all, err
}

// grid is a family's sets of parameters to trace.
type grid struct {
	Params  []script.Params `json:"params"`
	Refused []Refusal       `json:"refused"`
	Why     string          `json:"why,omitempty"` // why the family does not apply at all
}

func (e *enumeration) grid(ctx context.Context, f *templates.Family, fixed map[string]string) (*grid, error) {
	var g grid
	var err error
	if g.Params, g.Refused, err = e.routings(ctx, f, fixed); err == nil && len(g.Params)+len(g.Refused) == 0 {
		g.Why, err = e.unfit(f)
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
func (e *enumeration) traceLimit() int64 {
	const each = 4 // operations of a pair that large programs have at most
	return max(min(e.options.programMemory()/(each*tracedBytes), maxTraced), 1)
}

// traceAll drafts a family's programs, which are traced in parallel and collected
// in order. A user's family is run sequentially, within one budget of steps.
func (e *enumeration) traceAll(ctx context.Context, f *templates.Family, grid []script.Params, late func() bool) (all drafted, err error) {
	jobs := e.options.jobs()
	if f.Limited() {
		jobs = 1
	}
	traces := make([]*trace, len(grid))
	ranks := int64(len(e.problem.Topology.Ranks))
	var done atomic.Int64
	err = forEachLimited(ctx, jobs, len(grid), e.traceLimit(), func(int) int64 { return ranks * ranks }, func(i int) (err error) {
		late := late
		if i == 0 {
			late = e.late(tracing, 1)
		}
		traces[i], err = e.tracedOnce(f, grid[i], late)
		e.options.Observer.stage("tracing "+f.Name, int(done.Add(1)), len(grid))
		return err
	})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return drafted{}, err
	}
	for i, params := range grid {
		switch t := traces[i]; {
		case t == nil:
			all.unexplored = append(all.unexplored, unexplored{f.Name, len(e.options.instanceCounts())})
		case t.refused != nil:
			all.refusals = append(all.refusals, e.refuse(candidateName(f.Name, params, 0), t.refused.Reason, t.refused.Detail))
		default:
			all.add(e.draft(&draft{name: f.Name, source: "template", params: params, routing: t.routing, protocol: f.Protocol}))
		}
	}
	return all, nil
}

// tracedOnce returns the trace of a family's routing, from this search or an
// earlier one; nil if there is no time left to trace it.
func (e *enumeration) tracedOnce(f *templates.Family, params script.Params, late func() bool) (*trace, error) {
	return e.traceOf(f.Source, candidateName(f.Name, params, 0), false, e.retraceOf(f, params), func() (*trace, error) {
		if late() {
			return nil, nil
		}
		r, err := e.route(f, params)
		var refused *Refusal
		if errors.As(err, &refused) {
			return &trace{refused: refused}, nil
		}
		return &trace{routing: r}, err
	})
}

// draft is a routing once for every number of instances. Routings that are too large are
// dropped here, before more of them accumulate.
func (e *enumeration) draft(d *draft) (all drafted) {
	for _, n := range e.options.instanceCounts() {
		one := *d
		one.instances = n
		if r := e.tooLarge(&one); r != nil {
			all.refusals = append(all.refusals, e.refuse(one.String(), r.Reason, r.Detail))
			continue
		}
		all.drafts = append(all.drafts, &one)
	}
	return all
}

// unfit returns the reason for which a family applies with none of its sets of
// parameters: the one it gives for its defaults and the values fixed by flags.
func (e *enumeration) unfit(f *templates.Family) (string, error) {
	given := map[string]any{}
	for name, text := range e.options.fixed(f) {
		p, err := f.Parameter(name)
		if err != nil {
			return "", err
		}
		if given[name], err = p.ParseValue(text); err != nil {
			return "", err
		}
	}
	_, why, err := f.Admits(e.machine, e.request(), given)
	if why == "" {
		why = "it applies with none of its parameters"
	}
	return why, err
}

func declares(f *templates.Family, parameter string) bool {
	_, err := f.Parameter(parameter)
	return err == nil
}

// fixed lists the parameters of a family that flags have fixed.
func (o *Options) fixed(f *templates.Family) map[string]string {
	fixed := map[string]string{}
	for name, value := range o.Parameters {
		if declares(f, name) {
			fixed[name] = value
		}
	}
	if o.Channels > 0 && declares(f, "channels") {
		fixed["channels"] = strconv.Itoa(o.Channels)
	}
	return fixed
}

// Error makes a refusal the error of the step that found it.
func (r *Refusal) Error() string { return r.String() }

// route returns a family's routing. Large programs of built-in families are
// dropped and traced again when needed; the user's are run only once, within one
// budget of steps.
func (e *enumeration) route(f *templates.Family, params script.Params) (*routing, error) {
	builtin, request := f.Source == "builtin", e.request()
	request.Sketch = builtin && len(e.problem.Topology.Ranks) > maxFollowed
	program, err := e.traceFor(f, params, request)
	if err != nil {
		return nil, err
	}
	r := &routing{program: program, source: f.Source}
	if builtin {
		r.releaseProgram(e.problem.Topology, request.Sketch, e.retraceOf(f, params))
	}
	return r, nil
}

// maxFollowed is the most ranks over which the values of a program are followed when it
// is first traced. Over more of them that takes most of the time, and few of the programs
// are compiled.
const maxFollowed = 1 << 10

// trace runs a family's program. A *Refusal says that the routing does not work on
// this system.
func (e *enumeration) trace(f *templates.Family, params script.Params) (*lang.Program, error) {
	return e.traceFor(f, params, e.request())
}

// retraceOf returns a function that runs a family's program again.
func (e *enumeration) retraceOf(f *templates.Family, params script.Params) retrace {
	return func(sketch bool) (*lang.Program, error) {
		request := e.request()
		request.Sketch = sketch && f.Source == "builtin"
		return e.traceFor(f, params, request)
	}
}

func (e *enumeration) traceFor(f *templates.Family, params script.Params, request script.Request) (*lang.Program, error) {
	if !slices.Contains(e.options.Families, f.Name) {
		request.MaxOps = maxOperations // a larger program would be refused
	}
	if most := e.options.mostOperations(); most < lang.MaxOps && (request.MaxOps == 0 || most < int64(request.MaxOps)) {
		request.MaxOps = max(int(most), 1)
	}
	request.MaxPeers = e.problem.Topology.MinSMs() // one that sends to more has no room on a GPU
	program, err := f.Trace(e.machine, request, params)
	if err != nil {
		return nil, e.traceError(f, err)
	}
	// The template language checks links as it runs. Check the routing again,
	// against the topology itself and with code that shares nothing with it.
	if refused := constraints.CheckRouting(program, e.problem.Topology); len(refused) > 0 {
		r := refused[0]
		return nil, &Refusal{Reason: NoLink, Detail: fmt.Sprintf("%s: %s", r.Pos, r.Detail)}
	}
	return program, nil
}

// traceError turns a mistake in a routing into a refusal, unless the program is
// the user's own: then the user should see the error with its line. A link that it lacks
// may be a refusal all the same.
func (e *enumeration) traceError(f *templates.Family, err error) error {
	var wrong *lang.Error
	switch {
	case errors.As(err, &wrong) && (wrong.Large || wrong.Ops > 0):
		return e.tooMany(f, wrong.Ops)
	case errors.As(err, &wrong) && wrong.Peers:
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("on a GPU of %d SMs: %v, each through a threadblock of its own", e.problem.Topology.MinSMs(), err)}
	case errors.As(err, &wrong) && wrong.NoLink && (f.Source == "builtin" || e.options.RefuseMissingLinks):
		return &Refusal{Reason: NoLink, Detail: err.Error()}
	case f.Source != "builtin":
		return err
	}
	return &Refusal{Reason: BadProgram, Detail: err.Error()}
}

// tooMany refuses a program of more operations than it may have: n, or 0 if it was
// left off before they were counted.
func (e *enumeration) tooMany(f *templates.Family, n int) *Refusal {
	asked, room := slices.Contains(e.options.Families, f.Name), e.options.mostOperations()
	switch {
	case n > lang.MaxOps:
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations: no program has more than %d", n, lang.MaxOps)}
	case n > maxOperations && !asked:
		return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("%d operations: want at most %d, or --family %s", n, maxOperations, f.Name)}
	case n > 0:
		return e.options.noMemory(int64(n)*compiledBytes, fmt.Sprintf("%d operations", n))
	case room < maxOperations || asked:
		return e.options.noMemory((room+1)*compiledBytes, fmt.Sprintf("more than %d operations", room))
	}
	return &Refusal{Reason: TooLarge, Detail: fmt.Sprintf("more than %d operations: want --family %s", maxOperations, f.Name)}
}
