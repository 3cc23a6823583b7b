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
	asked := []string{"name", "protocol", "inplace"}
	there := map[string]bool{}
	noting := func(read func(string) error, key string) func(string) error {
		return func(what string) error { there[key] = true; return read(what) }
	}
	err := r.object("plan", fields{
		{"name", false, noting(r.word(&p.Name), "name")},
		{"collective", true, r.word(&p.Collective)},
		{"protocol", false, noting(r.word(&p.Protocol), "protocol")},
		{"inplace", false, noting(r.flag(&p.InPlace), "inplace")},
		{"reuse_resources", false, r.flag(&p.ReuseResources)},
		{"gpus", true, func(what string) error {
			return r.array(what, func(what string) error {
				var g GPU
				err := r.gpu(what, &g)
				p.GPUs = append(p.GPUs, g)
				return err
			})
		}},
		{"num_threads_per_block", false, r.number(&p.Threads, 1, maxNumber)},
		{"use_double_scratch_buffer", false, r.flag(&p.DoubleScratch)},
		{"buffer_alignment", false, r.number(&p.Alignment, 1, maxNumber)},
		{"min_message_size", false, r.size(&p.MinBytes)},
		{"max_message_size", false, r.size(&p.MaxBytes)},
		{"provenance", false, func(string) error { return r.skip() }}, // where Write says what a plan was made from
	})
	for _, key := range asked {
		if !there[key] {
			p.Missing = append(p.Missing, key)
		}
	}
	return err
}

func (r *reader) gpu(what string, g *GPU) error {
	return r.object(what, fields{
		{"id", true, r.number(&g.ID, 0, maxNumber)},
		{"input_chunks", true, r.number(&g.In, 0, maxNumber)},
		{"output_chunks", true, r.number(&g.Out, 0, maxNumber)},
		{"scratch_chunks", true, r.number(&g.Scratch, 0, maxNumber)},
		{"threadblocks", true, func(what string) error {
			return r.array(what, func(what string) error {
				var tb Threadblock
				err := r.threadblock(what, &tb)
				g.Threadblocks = append(g.Threadblocks, tb)
				return err
			})
		}},
		{"channels", false, func(what string) error {
			return r.array(what, func(what string) error {
				var c Channel
				err := r.channel(what, &c)
				g.Channels = append(g.Channels, c)
				return err
			})
		}},
		{"remote_buffers", false, func(what string) error {
			return r.array(what, func(what string) error {
				var b RemoteBuffer
				err := r.object(what, fields{
					{"rank", true, r.number(&b.Rank, 0, maxNumber)},
					{"type", true, r.buffer(&b.Buffer)},
					{"access_channel_types", true, func(what string) error {
						return r.array(what, func(what string) error {
							var t ChannelType
							err := r.channelType(&t)(what)
							b.Access = append(b.Access, t)
							return err
						})
					}},
				})
				g.RemoteBuffers = append(g.RemoteBuffers, b)
				return err
			})
		}},
		{"semaphores", false, func(what string) error {
			return r.array(what, func(what string) error {
				n := 0
				err := r.object(what, fields{{"init_value", true, r.number(&n, -maxNumber, maxNumber)}})
				g.Semaphores = append(g.Semaphores, n)
				return err
			})
		}},
	})
}

// channel reads a channel of a GPU. The older name of a switch channel's buffer is
// read too, and noted, because the runtime no longer knows it.
func (r *reader) channel(what string, c *Channel) error {
	const none = collective.Buffer(255)
	c.Buffer = none
	older := none
	err := r.object(what, fields{
		{"channel_type", true, r.channelType(&c.Type)},
		{"connected_to", false, r.numbers(&c.Peers)},
		{"buffer_type", false, r.buffer(&c.Buffer)},
		{"buff", false, r.buffer(&older)},
		{"rank_groups", false, func(what string) error {
			return r.array(what, func(what string) error {
				var g Group
				err := r.object(what, fields{
					{"size", true, r.number(&g.Size, 0, maxNumber)},
					{"ranks", true, r.numbers(&g.Ranks)},
				})
				c.Groups = append(c.Groups, g)
				return err
			})
		}},
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
		return func(what string) error {
			return r.array(what, func(what string) error {
				var c Refs
				var older collective.Buffer
				err := r.object(what, fields{
					{kind, true, r.channelType(&c.Type)},
					{ids, true, r.numbers(&c.IDs)},
					{"buff", false, r.buffer(&older)},
				})
				*into = append(*into, c)
				return err
			})
		}
	}
	return r.object(what, fields{
		{"id", true, r.number(&tb.ID, 0, maxNumber)},
		{"ops", true, r.ops(&tb.Ops, false)},
		{"channels", false, refs(&tb.Channels, "channel_type", "channel_ids")},
		{"remote_buffer_refs", false, refs(&tb.Buffers, "access_channel_type", "remote_buffer_ids")},
	})
}

func (r *reader) ops(into *[]Op, inside bool) func(string) error {
	return func(what string) error {
		return r.array(what, func(what string) error {
			op := Op{Slices: 1}
			err := r.op(what, &op, inside)
			*into = append(*into, op)
			return err
		})
	}
}

func (r *reader) op(what string, op *Op, inside bool) error {
	var name string
	err := r.object(what, fields{
		{"name", true, r.word(&name)},
		{"src_buff", false, r.refs(&op.Src)},
		{"dst_buff", false, r.refs(&op.Dst)},
		{"channel_ids", false, r.numbers(&op.Channels)},
		{"channel_type", false, r.channelType(&op.Type)},
		{"tbg_info", false, func(what string) error {
			return r.object(what, fields{
				{"tb_id", true, r.number(&op.Slice, 0, maxNumber)},
				{"tbg_size", true, r.number(&op.Slices, 1, maxNumber)},
			})
		}},
		{"barrier_id", false, r.number(&op.Barrier, 0, maxNumber)},
		{"num_threadblocks", false, r.number(&op.Members, 1, maxNumber)},
		{"semaphore_ids", false, r.numbers(&op.Semaphores)},
		{"reduce_op", false, r.word(&op.Reduction)},
		{"iter_context", false, func(what string) error {
			return r.object(what, fields{
				{"unit_size", true, r.number(&op.Unit, 1, maxNumber)},
				{"num_chunks", true, r.number(&op.Chunks, 1, maxNumber)},
			})
		}},
		{"ops", false, func(what string) error {
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
	return func(what string) error {
		return r.array(what, func(what string) error {
			var ref Ref
			forms := 0
			as := func(place Place, read func(string) error) func(string) error {
				return func(what string) error { ref.Place = place; forms++; return read(what) }
			}
			err := r.object(what, fields{
				{"type", false, as(Local, r.buffer(&ref.Buffer))},
				{"buffer_id", false, as(Remote, r.number(&ref.ID, 0, maxNumber))},
				{"switch_channel_id", false, as(OnSwitch, r.number(&ref.ID, 0, maxNumber))},
				{"index", true, r.number(&ref.Index, 0, maxNumber)},
				{"size", true, r.number(&ref.Size, 0, maxNumber)},
			})
			if err == nil && forms != 1 {
				err = r.errorf("%s: want one of type, buffer_id, switch_channel_id", what)
			}
			*into = append(*into, ref)
			return err
		})
	}
}
