package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/internal/limited"
	"github.com/colltune/colltune/topologies"
)

// maxBuilt limits the operations of programs that are compiled and verified, or summed up, at
// the same time.
const maxBuilt = 1 << 23

// Build compiles and verifies a draft, or takes it from the cache.
func (b *Builder) Build(ctx context.Context, d *Draft) (*Built, error) {
	return b.entries.built(d, func(p *ir.Program) (*Built, error) { return b.verifyAndBound(p, d.Reference) }, func() (*Built, error) { return b.compile(ctx, d) })
}

// BuildAll builds drafts in parallel, in an order of indices, but those that unaffordable
// refuses. It begins none once it is late. The result is by draft; nil where there was no time.
// It does not depend on the number of jobs.
func (b *Builder) BuildAll(ctx context.Context, drafts []*Draft, order []int, placements int, late func() bool) ([]*Built, error) {
	all, left := make([]*Built, len(drafts)), b.options.Memory.Programs()/int64(placements)
	for i, r := range b.options.Memory.Unaffordable(drafts, placements) {
		if r != nil {
			all[i] = &Built{Refusal: r}
		} else {
			left -= int64(drafts[i].Operations()) * keptBytes
		}
	}
	var done atomic.Int64
	room := max(min(left/compiledBytes, maxBuilt), 1) // beside the programs that are kept
	err := limited.ForEach(ctx, b.options.jobs(), len(order), room, func(i int) int64 { return int64(drafts[order[i]].Operations()) }, func(i int) (err error) {
		d, to := drafts[order[i]], &all[order[i]]
		if *to != nil || late() {
			return nil
		}
		*to, err = b.Build(ctx, d)
		b.options.Observer.Reach("compiling candidates", int(done.Add(1)), len(drafts))
		return err
	})
	return all, cmp.Or(err, ctx.Err())
}

// Summarize computes the costs of drafts' routings that are not known yet, whole or those of
// their messages, in parallel.
func (b *Builder) Summarize(ctx context.Context, drafts []*Draft, whole bool) error {
	var rest []*Routing
	for i, d := range drafts {
		if (d.Routing.cost == nil || whole && !d.Routing.cost.Whole) && (i == 0 || drafts[i-1].Routing != d.Routing) {
			rest = append(rest, d.Routing)
		}
	}
	var done atomic.Int64
	err := limited.ForEach(ctx, b.options.jobs(), len(rest), maxBuilt, func(i int) int64 { return int64(rest[i].Operations()) }, func(i int) error {
		err := rest[i].Summarize(nil, b.target.Topology, whole)
		if err == nil && rest[i].key != "" {
			b.entries.saveTrace(rest[i].key, &trace{routing: rest[i]})
		}
		b.options.Observer.Reach("estimating candidates", int(done.Add(1)), len(rest))
		return err
	})
	return cmp.Or(err, ctx.Err())
}

// compile turns a draft into verified IR. Checks are in order of their cost, so
// that refusals are cheap.
func (b *Builder) compile(ctx context.Context, d *Draft) (*Built, error) {
	p := &b.target
	if r := b.tooLarge(d); r != nil { // other drafts that are too large were refused earlier
		return &Built{Refusal: r}, nil
	}
	program, err := d.Routing.Traced()
	if refused := (*Refusal)(nil); errors.As(err, &refused) { // a sketch does not tell
		return &Built{Refusal: refused}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := d.Routing.Summarize(program, p.Topology, false); err != nil {
		return nil, err
	}
	if r := b.Unfitting(d); r != nil {
		return &Built{Refusal: r}, nil
	}
	result, err := b.Lower(ctx, program, d, d.Instances, false)
	switch many := (*compiler.TooManyThreadblocks)(nil); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &many):
		return &Built{Refusal: &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("on GPUs of %d SMs: %v", p.Topology.MinSMs(), err)}}, nil
	case err != nil:
		return &Built{Refusal: &Refusal{Reason: Uncompiled, Detail: err.Error()}}, nil
	}
	if d.Origin != "" {
		result.Comment = fmt.Sprintf("%s on %s synthesised %s", p.Collective, p.Topology.Name, d.Origin)
		if d.Instances > 1 {
			result.Comment += fmt.Sprintf("; %d instances", d.Instances)
		}
	}
	return b.verifyAndBound(result, d.Reference)
}

// Lower compiles a number of instances of a draft's traced program. All threadblocks must be
// resident at once: where there are more than SMs, those that only send are merged with ones
// that only receive; crowded leaves them.
func (b *Builder) Lower(ctx context.Context, program *lang.Program, d *Draft, instances int, crowded bool) (*ir.Program, error) {
	t, most := b.target.Topology, 0
	if sms := t.MinSMs(); !crowded {
		most = min(cmp.Or(d.Threadblocks, sms), sms)
	}
	result, err := compiler.Compile(program, compiler.Options{Instances: instances, MaxChannels: maxChannels(t), Slots: b.slots(d.Protocol),
		Disable: d.Routing.disable(), MaxThreadblocks: most, Context: ctx})
	if err != nil {
		return nil, err
	}
	return result.Program, nil
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
func (b *Builder) slots(own string) int {
	fewest := compiler.DefaultSlots
	for _, proto := range b.Protocols(own) {
		fewest = min(fewest, b.target.Topology.Protocols[proto].Slots)
	}
	return fewest
}

// Unfitting refuses a draft that certainly needs more channels or threadblocks than
// there are, before it is compiled: each connection between two ranks needs a channel, and
// each of a rank in one direction a threadblock. Its routing must be summed up.
func (b *Builder) Unfitting(d *Draft) *Refusal {
	of, n := d.Routing.cost, d.Instances
	if most := maxChannels(b.target.Topology); of.Channels*n > most {
		return &Refusal{Reason: Uncompiled, Detail: fmt.Sprintf("at least %d channels in each of %d instances: the limit is %d", of.Channels, n, most)}
	}
	if sms := b.target.Topology.MinSMs(); of.Connections*n > sms {
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("at least %d threadblocks on a GPU of %d SMs: %d for each of %d instances", of.Connections*n, sms, of.Connections, n)}
	}
	return nil
}
