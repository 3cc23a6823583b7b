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
	"github.com/colltune/colltune/internal/units"
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
		return &Built{Refusal: r, Needs: d.Routing.cost.Connections * d.Instances}, nil
	}
	result, needs, err := b.Lower(ctx, program, d, d.Instances, false)
	switch many := (*compiler.TooManyThreadblocks)(nil); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &many):
		return &Built{Refusal: &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("%s: %v", d.room(b.target.Topology), err)}, Needs: many.Needs}, nil
	case err != nil:
		return &Built{Refusal: &Refusal{Reason: Uncompiled, Detail: err.Error()}}, nil
	}
	if d.Origin != "" {
		result.Comment = fmt.Sprintf("%s on %s synthesised %s", p.Collective, p.Topology.Name, d.Origin)
		if d.Instances > 1 {
			result.Comment += fmt.Sprintf("; %d instances", d.Instances)
		}
	}
	built, err := b.verifyAndBound(result, d.Reference)
	if built != nil {
		built.Needs = needs
	}
	return built, err
}

// Lower compiles a number of instances of a draft's traced program. All threadblocks must be
// resident at once: where there are more than SMs, those that only send are merged with ones
// that only receive; crowded leaves them. A fused instruction pairs two connections in a threadblock, so
// that a rank may need one for every two of its links: for a limit below the GPU's SMs, a program that so
// needs too many is not fused.
// needs is how many threadblocks the busiest rank would have without a limit.
func (b *Builder) Lower(ctx context.Context, program *lang.Program, d *Draft, instances int, crowded bool) (p *ir.Program, needs int, err error) {
	t, most := b.target.Topology, 0
	if !crowded {
		most = d.most(b.target.Topology)
	}
	o := compiler.Options{Instances: instances, MaxChannels: maxChannels(t), Slots: b.slots(d.Protocol), Disable: d.Routing.disable(), MaxThreadblocks: most, Context: ctx}
	result, err := compiler.Compile(program, o)
	if many := (*compiler.TooManyThreadblocks)(nil); errors.As(err, &many) && most < t.MinSMs() && !d.Compared && !d.Routing.apart {
		o.Disable = unfused
		if result, err = compiler.Compile(program, o); err == nil {
			return result.Program, max(result.Needs, many.Needs), nil
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return result.Program, result.Needs, nil
}

// most is how many threadblocks a draft's program may have on a GPU.
func (d *Draft) most(t *topologies.Topology) int {
	sms := t.MinSMs()
	return min(cmp.Or(d.Threadblocks, sms), sms)
}

// room names the limit of a draft's threadblocks.
func (d *Draft) room(t *topologies.Topology) string {
	if d.most(t) == t.MinSMs() {
		return fmt.Sprintf("on GPUs of %d SMs", t.MinSMs())
	}
	return "within " + units.Count(d.most(t), "SM")
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
	if of.Connections*n > d.most(b.target.Topology) {
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("%s: at least %d threadblocks, %d for each of %d instances", d.room(b.target.Topology), of.Connections*n, of.Connections, n)}
	}
	return nil
}
