package mscclpp

import "slices"

// joinWaiters merges the parts of a GPU that do nothing but wait for messages
// which land where they are needed. Each would occupy a threadblock with
// nothing to do; and since nothing waits for these parts, they can wait in any
// order.
//
//	tb 4: rlxsignal 0   wait 0              tb 4: rlxsignal 0, 1, 2
//	tb 5: rlxsignal 0   wait 0      ──▶           wait      0, 1, 2
//	tb 6: rlxsignal 0   wait 0
func (l *lowering) joinWaiters() {
	into := make([]int, len(l.parts)) // by part: the part it was merged into
	open := map[int]int{}             // by GPU: the part that can still take more
	lanes := make([]map[[2]int]bool, len(l.parts))
	for i := range l.parts {
		into[i] = i
		p := &l.parts[i]
		mine := l.waited(p)
		if mine == nil {
			continue
		}
		lanes[i] = mine
		to, ok := open[p.gpu]
		if !ok || len(lanes[to])+len(mine) > MaxChannels || len(l.parts[to].ops)+len(p.ops)+len(l.parts[to].prologue)+len(p.prologue) >= MaxOperations {
			open[p.gpu] = i
			continue
		}
		q := &l.parts[to]
		q.prologue, q.ops = append(q.prologue, p.prologue...), append(q.ops, p.ops...)
		for lane := range mine {
			lanes[to][lane] = true
		}
		into[i] = to
	}
	var parts []part
	at := make([]int, len(l.parts))
	for i := range l.parts {
		if into[i] == i {
			at[i] = len(parts)
			p := l.parts[i]
			p.prologue = l.mergeAdjacent(p.prologue)
			if lanes[i] != nil { // two threads of a part must not wait on the same channel
				p.ops = l.mergeAdjacent(p.ops)
			}
			parts = append(parts, p)
		}
	}
	for s, i := range l.partOf {
		l.partOf[s] = at[into[i]]
	}
	l.parts = parts
}

// waited lists the messages' channels of a part that only waits for messages, by
// sending part. It is nil if the part does anything else.
func (l *lowering) waited(p *part) map[[2]int]bool {
	lanes := map[[2]int]bool{}
	for _, ops := range [...][]draft{p.prologue, p.ops} {
		for _, o := range ops {
			if o.kind != "wait" && o.kind != "rlxsignal" {
				return nil
			}
			for _, m := range o.messages {
				lanes[[2]int{l.partOf[l.g.msgs[m].send], l.partOf[l.g.msgs[m].recv]}] = true
			}
		}
	}
	return lanes
}

// mergeAdjacent merges consecutive operations of the same kind into one: waits, and
// signals, over different channels.
func (l *lowering) mergeAdjacent(ops []draft) (out []draft) {
	for _, o := range ops {
		if n := len(out) - 1; n >= 0 && (o.kind == "wait" || o.kind == "rlxsignal") && out[n].kind == o.kind {
			if both := l.lanes(slices.Concat(out[n].messages, o.messages)); len(both) == 1 {
				out[n].messages = both[0]
				continue
			}
		}
		out = append(out, o)
	}
	return out
}
