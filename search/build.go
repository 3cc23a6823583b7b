package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
)

// built is a draft compiled to IR, or the reason why it was refused.
type built struct {
	program *ir.Program
	hash    string
	slots   int
	bound   Bound
	refusal *Refusal
}

// build compiles and verifies drafts in parallel. The result, by draft, is nil where there
// was no time; it does not depend on the number of jobs.
func (e *enumeration) build(ctx context.Context, drafts []*draft) ([]*built, error) {
	all := e.refuseUnaffordable(drafts)
	order := e.order(drafts)
	late := e.late(building, 1)
	var done atomic.Int64
	err := forEachLimited(ctx, e.options.jobs(), len(order), e.buildLimit(drafts, all), func(i int) int64 { return int64(drafts[order[i]].operations()) }, func(i int) (err error) {
		d, to := drafts[order[i]], &all[order[i]]
		if *to != nil || late() {
			return nil
		}
		*to, err = e.buildOf(d, func() (*built, error) { return e.compile(ctx, d) })
		e.options.Observer.stage("compiling candidates", int(done.Add(1)), len(drafts))
		return err
	})
	return all, cmp.Or(err, ctx.Err())
}

// order is the order in which drafts are built. If there may not be time for all, those for
// comparison come first. Then the sizes take turns: each takes the draft with the least
// estimated time there, of those that may fit on a GPU, as long as there is one.
func (e *enumeration) order(drafts []*draft) []int {
	order := make([]int, 0, len(drafts))
	var rest []int
	for i, d := range drafts {
		if e.expired == nil || len(d.points) > 0 {
			order = append(order, i)
		} else {
			rest = append(rest, i)
		}
	}
	var bySize [][]int // drafts in rising order of time
	for _, bytes := range e.problem.Sizes {
		times, sorted := make([]float64, len(drafts)), slices.Clone(rest)
		for _, i := range rest {
			times[i] = e.estimate(drafts[i], bytes)
			if e.unfitting(drafts[i]) != nil {
				times[i] = math.Inf(1)
			}
		}
		slices.SortStableFunc(sorted, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
		bySize = append(bySize, sorted)
	}
	taken := make([]bool, len(drafts))
	for turn := range len(rest) {
		for _, sorted := range bySize {
			if i := sorted[turn]; !taken[i] {
				taken[i] = true
				order = append(order, i)
			}
		}
	}
	return order
}

// maxBuilt limits the operations of programs that are compiled and verified at the
// same time.
const maxBuilt = 1 << 23

// buildLimit is maxBuilt, or less where the memory that is left beside the programs
// kept is not enough for that.
func (e *enumeration) buildLimit(drafts []*draft, all []*built) int64 {
	left := e.options.programMemory() / int64(max(e.of, 1))
	for i, d := range drafts {
		if all[i] == nil {
			left -= int64(d.operations()) * keptBytes
		}
	}
	return max(min(left/compiledBytes, maxBuilt), 1)
}

// compile turns a draft into verified IR. Checks are in order of their cost, so
// that refusals are cheap.
func (e *enumeration) compile(ctx context.Context, d *draft) (*built, error) {
	p := e.problem
	if r := e.tooLarge(d); r != nil { // other drafts that are too large were refused earlier
		return &built{refusal: r}, nil
	}
	program, err := d.routing.traced()
	if refused := (*Refusal)(nil); errors.As(err, &refused) { // a sketch does not tell
		return &built{refusal: refused}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := d.routing.summarize(program, p.Topology, false); err != nil {
		return nil, err
	}
	if r := e.unfitting(d); r != nil {
		return &built{refusal: r}, nil
	}
	result, err := e.lower(ctx, program, d, d.instances)
	switch many := (*compiler.TooManyThreadblocks)(nil); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &many):
		return &built{refusal: &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("on GPUs of %d SMs: %v", p.Topology.MinSMs(), err)}}, nil
	case err != nil:
		return &built{refusal: &Refusal{Reason: Uncompiled, Detail: err.Error()}}, nil
	}
	if d.origin != "" {
		result.Comment = fmt.Sprintf("%s on %s synthesised %s", p.Collective, p.Topology.Name, d.origin)
		if d.instances > 1 {
			result.Comment += fmt.Sprintf("; %d instances", d.instances)
		}
	}
	return e.verifyAndBound(result, d.reference)
}

// lower compiles a number of instances of a draft's program. All threadblocks must be resident
// at once: where there are more than SMs, those that only send are merged with ones that only
// receive.
func (e *enumeration) lower(ctx context.Context, program *lang.Program, d *draft, instances int) (*ir.Program, error) {
	t := e.problem.Topology
	sms := t.MinSMs()
	result, err := compiler.Compile(program, compiler.Options{Instances: instances, MaxChannels: maxChannels(t), Slots: e.slots(d.protocol),
		Disable: d.routing.disable(), MaxThreadblocks: min(cmp.Or(d.threadblocks, sms), sms), Context: ctx})
	if err != nil {
		return nil, err
	}
	return result.Program, nil
}

// verifyAndBound verifies a program, and refuses one that can't be run. One that is only
// compared with need not run in the runtime asked for.
func (e *enumeration) verifyAndBound(program *ir.Program, reference bool) (*built, error) {
	p, b := e.problem, &built{program: program}
	report := verify.Check(b.program, verify.Options{Linked: p.Topology.Linked})
	if err := report.Err(); err != nil {
		b.refusal = &Refusal{Reason: Unverified, Detail: err.Error()}
		return b, nil
	}
	// At large sizes, a step of several chunks may take several calls.
	b.slots = max(report.SlotsNeeded, report.SlotsNeededSplit)
	if b.refusal = e.checkSlots(b.program, b.slots); b.refusal != nil {
		return b, nil
	}
	if b.refusal = e.unsimulated(b.program); b.refusal != nil {
		return b, nil
	}
	if why := e.checkRuntime(b.program); why != "" && !reference {
		b.refusal = &Refusal{Reason: Runtime, Detail: why}
		return b, nil
	}
	var err error
	b.hash = b.program.Hash()
	b.bound, err = boundFor(e.options.Executor, b.program, p.Topology, p.ElemBytes())
	return b, err
}

// maxChannels is the number of channels that the topology's runtime gives a
// communicator.
func maxChannels(t *topologies.Topology) int {
	if t.Runtime == "rccl" {
		return 128
	}
	return compiler.DefaultMaxChannels
}

// slots returns the least number of slots of the protocols to try a program with, which
// may have its own, and at most the compiler's default.
func (e *enumeration) slots(own string) int {
	fewest := compiler.DefaultSlots
	for _, proto := range e.protocolsOf(own) {
		fewest = min(fewest, e.problem.Topology.Protocols[proto].Slots)
	}
	return fewest
}

// checkSlots refuses a program for which none of the protocols has enough slots.
func (e *enumeration) checkSlots(p *ir.Program, needed int) *Refusal {
	most := 0
	for _, proto := range e.protocolsOf(p.Protocol) {
		most = max(most, e.problem.Topology.Protocols[proto].Slots)
	}
	if needed <= most {
		return nil
	}
	return &Refusal{Reason: Slots, Detail: fmt.Sprintf("needs %d slots a connection, the protocols have at most %d", needed, most)}
}

// protocolsOf lists the protocols to try a program with: its own, otherwise those asked
// for.
func (e *enumeration) protocolsOf(own string) []topologies.Proto {
	if proto, err := topologies.ParseProto(own); err == nil {
		return []topologies.Proto{proto}
	}
	return e.protocols()
}

func (e *enumeration) protocols() []topologies.Proto {
	if len(e.options.Protocols) > 0 {
		return e.options.Protocols
	}
	return e.problem.Topology.HasProtocols()
}

// checkRuntime says why the requested runtime would not accept the program under
// any protocol.
func (e *enumeration) checkRuntime(p *ir.Program) string {
	if e.options.Runtime == "" {
		return ""
	}
	runtime, err := export.RuntimeNamed(e.options.Runtime)
	if err != nil {
		return err.Error()
	}
	var first string
	for _, proto := range e.protocolsOf(p.Protocol) {
		why := runtime.Accepts(p, proto.String())
		if why == "" {
			return ""
		}
		first = cmp.Or(first, why)
	}
	return first
}

// collect sorts built drafts into candidates and refusals, in the order of the drafts. Drafts with the same program become one candidate, the first's, with the
// baseline points of all.
func (e *enumeration) collect(drafts []*draft, all []*built) *Space {
	space := &Space{}
	refuse := func(d *draft, reason Reason, detail string) {
		space.Refusals = append(space.Refusals, e.refuse(d.String(), reason, detail))
	}
	seen := map[string]int{} // by hash: index of the candidate
	for i, d := range drafts {
		switch b := all[i]; {
		case b == nil: // there was no time to build it
			space.unexplored = append(space.unexplored, unexplored{d.name, 1})
		case b.refusal != nil:
			if len(d.points) > 0 {
				e.options.Observer.notice(fmt.Sprintf("baseline %s cannot be run: %s: %s", d, b.refusal.Reason, b.refusal.Detail))
			}
			if !d.reference {
				refuse(d, b.refusal.Reason, b.refusal.Detail)
			}
		default:
			at, known := seen[b.hash]
			if !known {
				at = len(space.Candidates)
				seen[b.hash] = at
				space.Candidates = append(space.Candidates, e.candidate(d, b))
			}
			c := &space.Candidates[at]
			space.compare(c, d, e.problem.InPlace)
			if known && !d.reference {
				refuse(d, Duplicate, "the same program as "+candidateName(c.Algorithm, c.Parameters, c.Instances))
			}
		}
	}
	return space
}

// set returns the parameters that have a value; a hole left open has none.
func set(params script.Params) map[string]any {
	values := maps.Clone(params)
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil })
	return values
}

// candidate converts a built draft for autotune, all but its baseline points.
func (e *enumeration) candidate(d *draft, b *built) autotune.Candidate {
	protocols := e.options.Protocols
	if d.protocol != "" {
		protocols = e.protocolsOf(d.protocol)
	}
	return autotune.Candidate{
		Algorithm:   d.name,
		Source:      d.source,
		Parameters:  set(d.params),
		Channels:    b.program.Channels() / max(d.instances, 1),
		Instances:   d.instances,
		Program:     b.program,
		Hash:        b.hash,
		SlotsNeeded: b.slots,
		Bound:       b.bound,
		Protocols:   protocols,
		Reference:   d.reference,
	}
}
