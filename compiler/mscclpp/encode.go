package mscclpp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/safe"
)

// letters are the names of buffers in plans.
var letters = [...]string{collective.In: "i", collective.Out: "o", collective.Scratch: "s"}

// Write writes a plan as JSON, an operation a line; Read reads it back. comments are put
// under a key that the runtime does not read. The error is that of w.
func Write(w io.Writer, p *Plan, comments []string) error {
	e := &encoder{w: bufio.NewWriter(w)}
	e.line(0, "{")
	if len(comments) > 0 {
		e.line(1, `"provenance": %s,`, quote(comments))
	}
	e.line(1, `"name": %s,`, quote(p.Name))
	e.line(1, `"collective": %s,`, quote(p.Collective))
	e.line(1, `"protocol": %s,`, quote(p.Protocol))
	e.line(1, `"inplace": %t,`, p.InPlace)
	e.line(1, `"reuse_resources": %t,`, p.ReuseResources)
	e.line(1, `"use_double_scratch_buffer": %t,`, p.DoubleScratch)
	e.line(1, `"num_threads_per_block": %d,`, p.Threads)
	e.line(1, `"buffer_alignment": %d,`, p.Alignment)
	e.line(1, `"min_message_size": %d,`, p.MinBytes)
	e.line(1, `"max_message_size": %d,`, p.MaxBytes)
	e.line(1, `"gpus": [`)
	for g := range p.GPUs {
		e.gpu(&p.GPUs[g], comma(g, len(p.GPUs)))
	}
	e.line(1, "]")
	e.line(0, "}")
	return e.w.Flush()
}

// encoder writes lines; the buffered writer keeps the first error.
type encoder struct{ w *bufio.Writer }

func (e *encoder) line(indent int, format string, args ...any) {
	for range indent {
		e.w.WriteByte(' ')
	}
	fmt.Fprintf(e.w, format, args...)
	e.w.WriteByte('\n')
}

func (e *encoder) gpu(g *GPU, end string) {
	e.line(2, "{")
	e.line(3, `"id": %d, "input_chunks": %d, "output_chunks": %d, "scratch_chunks": %d,`, g.ID, g.In, g.Out, g.Scratch)
	e.line(3, `"channels": %s,`, array(g.Channels, func(c Channel) string {
		if c.Type != Switch {
			return fmt.Sprintf(`{"channel_type": "%s", "connected_to": %s}`, c.Type, numbers(c.Peers))
		}
		return fmt.Sprintf(`{"channel_type": "switch", "buffer_type": "%s", "rank_groups": %s}`, letters[c.Buffer], array(c.Groups, func(g Group) string {
			return fmt.Sprintf(`{"size": %d, "ranks": %s}`, g.Size, numbers(g.Ranks))
		}))
	}))
	e.line(3, `"remote_buffers": [`)
	for i, b := range g.RemoteBuffers {
		types := make([]string, len(b.Access))
		for j, t := range b.Access {
			types[j] = t.String()
		}
		e.line(4, `{"rank": %d, "type": "%s", "access_channel_types": %s}%s`, b.Rank, letters[b.Buffer], quote(types), comma(i, len(g.RemoteBuffers)))
	}
	e.line(3, "],")
	e.line(3, `"semaphores": %s,`, array(g.Semaphores, func(v int) string { return fmt.Sprintf(`{"init_value": %d}`, v) }))
	e.line(3, `"threadblocks": [`)
	for t := range g.Threadblocks {
		e.threadblock(&g.Threadblocks[t], comma(t, len(g.Threadblocks)))
	}
	e.line(3, "]")
	e.line(2, "}%s", end)
}

func (e *encoder) threadblock(tb *Threadblock, end string) {
	e.line(4, "{")
	refs := func(lists []Refs, kind, ids string) string {
		return array(lists, func(l Refs) string { return fmt.Sprintf(`{"%s": "%s", "%s": %s}`, kind, l.Type, ids, numbers(l.IDs)) })
	}
	e.line(5, `"id": %d,`, tb.ID)
	e.line(5, `"channels": %s,`, refs(tb.Channels, "channel_type", "channel_ids"))
	e.line(5, `"remote_buffer_refs": %s,`, refs(tb.Buffers, "access_channel_type", "remote_buffer_ids"))
	e.line(5, `"ops": [`)
	e.ops(6, tb.Ops)
	e.line(5, "]")
	e.line(4, "}%s", end)
}

func (e *encoder) ops(indent int, ops []Op) {
	for i := range ops {
		o := &ops[i]
		if o.Kind.effect != pipelines {
			e.line(indent, "{%s}%s", o.text(), comma(i, len(ops)))
			continue
		}
		e.line(indent, `{"name": "%s", "iter_context": {"unit_size": %d, "num_chunks": %d}, "ops": [`, o.Kind.Name, o.Unit, o.Chunks)
		e.ops(indent+1, o.Ops)
		e.line(indent, "]}%s", comma(i, len(ops)))
	}
}

func (o *Op) text() string {
	parts := []string{fmt.Sprintf(`"name": %s`, quote(o.Kind.Name))}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(o.Src) > 0 {
		add(`"src_buff": %s`, places(o.Src))
	}
	if len(o.Dst) > 0 {
		add(`"dst_buff": %s`, places(o.Dst))
	}
	if len(o.Channels) > 0 {
		add(`"channel_ids": %s`, numbers(o.Channels))
	}
	if o.Type != NoChannel {
		add(`"channel_type": "%s"`, o.Type)
	}
	if o.Slices > 1 {
		add(`"tbg_info": {"tb_id": %d, "tbg_size": %d}`, o.Slice, o.Slices)
	}
	if o.Kind.effect == meets {
		add(`"barrier_id": %d, "num_threadblocks": %d`, o.Barrier, o.Members)
	}
	if len(o.Semaphores) > 0 {
		add(`"semaphore_ids": %s`, numbers(o.Semaphores))
	}
	if o.Reduction != "" {
		add(`"reduce_op": %s`, quote(o.Reduction))
	}
	return strings.Join(parts, ", ")
}

func places(refs []Ref) string {
	return array(refs, func(r Ref) string {
		of := fmt.Sprintf(`"type": "%s"`, letters[r.Buffer])
		switch r.Place {
		case Remote:
			of = fmt.Sprintf(`"buffer_id": %d`, r.ID)
		case OnSwitch:
			of = fmt.Sprintf(`"switch_channel_id": %d`, r.ID)
		}
		return fmt.Sprintf(`{%s, "index": %d, "size": %d}`, of, r.Index, r.Size)
	})
}

// array returns a JSON array on one line, of elements that text returns.
func array[T any](list []T, text func(T) string) string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = text(v)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func numbers(list []int) string {
	return strings.ReplaceAll(fmt.Sprint(list), " ", ", ")
}

func quote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings
	}
	return string(safe.JSON(text))
}

func comma(i, n int) string {
	if i+1 < n {
		return ","
	}
	return ""
}
