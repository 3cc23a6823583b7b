package mscclpp

import (
	"math"

	"github.com/colltune/colltune/compiler/collective"
)

// maxNumber bounds every count and index of a plan.
const maxNumber = math.MaxInt32

// plan reads the whole plan. A key that the runtime requires but that verification
// can do without is recorded in Missing if it is absent.
func (r *reader) plan(p *Plan) error {
	return r.object("plan", fields{
		{"name", asked, r.word(&p.Name)},
		{"collective", must, r.word(&p.Collective)},
		{"protocol", asked, r.word(&p.Protocol)},
		{"inplace", asked, r.flag(&p.InPlace)},
		{"reuse_resources", maybe, r.flag(&p.ReuseResources)},
		{"gpus", must, listOf(r, &p.GPUs, r.gpu)},
		{"num_threads_per_block", maybe, r.number(&p.Threads, 1, maxNumber)},
		{"use_double_scratch_buffer", maybe, r.flag(&p.DoubleScratch)},
		{"buffer_alignment", maybe, r.number(&p.Alignment, 1, maxNumber)},
		{"min_message_size", maybe, r.size(&p.MinBytes)},
		{"max_message_size", maybe, r.size(&p.MaxBytes)},
		{"provenance", maybe, func(string) error { return r.skip() }}, // where Write says what a plan was made from
	})
}

func (r *reader) gpu(what string, g *GPU) error {
	return r.object(what, fields{
		{"id", must, r.number(&g.ID, 0, maxNumber)},
		{"input_chunks", must, r.number(&g.In, 0, maxNumber)},
		{"output_chunks", must, r.number(&g.Out, 0, maxNumber)},
		{"scratch_chunks", must, r.number(&g.Scratch, 0, maxNumber)},
		{"threadblocks", must, listOf(r, &g.Threadblocks, r.threadblock)},
		{"channels", maybe, listOf(r, &g.Channels, r.channel)},
		{"remote_buffers", maybe, listOf(r, &g.RemoteBuffers, func(what string, b *RemoteBuffer) error {
			return r.object(what, fields{
				{"rank", must, r.number(&b.Rank, 0, maxNumber)},
				{"type", must, r.buffer(&b.Buffer)},
				{"access_channel_types", must, listOf(r, &b.Access, func(what string, t *ChannelType) error { return r.channelType(t)(what) })},
			})
		})},
		{"semaphores", maybe, listOf(r, &g.Semaphores, func(what string, n *int) error {
			return r.object(what, fields{{"init_value", must, r.number(n, -maxNumber, maxNumber)}})
		})},
	})
}

// channel reads a channel of a GPU. The older name of a switch channel's buffer is
// read too, and noted, because the runtime no longer knows it.
func (r *reader) channel(what string, c *Channel) error {
	const none = collective.Buffer(255)
	c.Buffer = none
	older := none
	err := r.object(what, fields{
		{"channel_type", must, r.channelType(&c.Type)},
		{"connected_to", maybe, r.numbers(&c.Peers)},
		{"buffer_type", maybe, r.buffer(&c.Buffer)},
		{"buff", maybe, r.buffer(&older)},
		{"rank_groups", maybe, listOf(r, &c.Groups, func(what string, g *Group) error {
			return r.object(what, fields{
				{"size", must, r.number(&g.Size, 0, maxNumber)},
				{"ranks", must, r.numbers(&g.Ranks)},
			})
		})},
	})
	if err != nil || c.Type != Switch {
		return err
	}
	if c.Buffer == none {
		if c.Buffer = older; older == none {
			return r.errorf("%s: no key %q", what, "buffer_type")
		}
		if !r.older {
			r.older = true
			r.notes = append(r.notes, Note{Line: r.line(), Message: what + `: no key "buffer_type", only "buff", which older releases read`, Refused: true})
		}
	}
	return nil
}

func (r *reader) threadblock(what string, tb *Threadblock) error {
	refs := func(into *[]Refs, kind, ids string) func(string) error {
		return listOf(r, into, func(what string, c *Refs) error {
			var older collective.Buffer
			return r.object(what, fields{
				{kind, must, r.channelType(&c.Type)},
				{ids, must, r.numbers(&c.IDs)},
				{"buff", maybe, r.buffer(&older)},
			})
		})
	}
	return r.object(what, fields{
		{"id", must, r.number(&tb.ID, 0, maxNumber)},
		{"ops", must, r.ops(&tb.Ops, false)},
		{"channels", maybe, refs(&tb.Channels, "channel_type", "channel_ids")},
		{"remote_buffer_refs", maybe, refs(&tb.Buffers, "access_channel_type", "remote_buffer_ids")},
	})
}

func (r *reader) ops(into *[]Op, inside bool) func(string) error {
	return listOf(r, into, func(what string, op *Op) error { return r.op(what, op, inside) })
}

func (r *reader) op(what string, op *Op, inside bool) error {
	op.Slices = 1
	var name string
	err := r.object(what, fields{
		{"name", must, r.word(&name)},
		{"src_buff", maybe, r.refs(&op.Src)},
		{"dst_buff", maybe, r.refs(&op.Dst)},
		{"channel_ids", maybe, r.numbers(&op.Channels)},
		{"channel_type", maybe, r.channelType(&op.Type)},
		{"tbg_info", maybe, func(what string) error {
			return r.object(what, fields{
				{"tb_id", must, r.number(&op.Slice, 0, maxNumber)},
				{"tbg_size", must, r.number(&op.Slices, 1, maxNumber)},
			})
		}},
		{"barrier_id", maybe, r.number(&op.Barrier, 0, maxNumber)},
		{"num_threadblocks", maybe, r.number(&op.Members, 1, maxNumber)},
		{"semaphore_ids", maybe, r.numbers(&op.Semaphores)},
		{"reduce_op", maybe, r.word(&op.Reduction)},
		{"iter_context", maybe, func(what string) error {
			return r.object(what, fields{
				{"unit_size", must, r.number(&op.Unit, 1, maxNumber)},
				{"num_chunks", must, r.number(&op.Chunks, 1, maxNumber)},
			})
		}},
		{"ops", maybe, func(what string) error {
			if inside {
				return r.errorf("%s: a pipeline in a pipeline", what)
			}
			return r.ops(&op.Ops, true)(what)
		}},
	})
	if err != nil {
		return err
	}
	op.Kind = kindOf(name)
	if (op.Kind.effect == pipelines) != (op.Unit > 0) {
		return r.errorf("%s: a pipeline has an iter_context, and nothing else does", what)
	}
	if op.Slice >= op.Slices {
		return r.errorf("%s: tb_id %d of a group of %d", what, op.Slice, op.Slices)
	}
	return nil
}

func (r *reader) refs(into *[]Ref) func(string) error {
	return listOf(r, into, func(what string, ref *Ref) error {
		forms := 0
		as := func(place Place, read func(string) error) func(string) error {
			return func(what string) error { ref.Place = place; forms++; return read(what) }
		}
		err := r.object(what, fields{
			{"type", maybe, as(Local, r.buffer(&ref.Buffer))},
			{"buffer_id", maybe, as(Remote, r.number(&ref.ID, 0, maxNumber))},
			{"switch_channel_id", maybe, as(OnSwitch, r.number(&ref.ID, 0, maxNumber))},
			{"index", must, r.number(&ref.Index, 0, maxNumber)},
			{"size", must, r.number(&ref.Size, 0, maxNumber)},
		})
		if err == nil && forms != 1 {
			err = r.errorf("%s: want one of type, buffer_id, switch_channel_id", what)
		}
		return err
	})
}
