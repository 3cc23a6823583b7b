package compiler

import "github.com/colltune/colltune/compiler/ir"

// The fusions (GC3 4.2) keep a value in registers between its arrival and its
// departure. Each is a row: which receive, and what it becomes together with a
// send of exactly what it stored.
//
//	1 r   rank 1 sc[0]  ← 0                 1 rcs rank 1 sc[0]  ← 0 → 2
//	2 s   rank 1 sc[0]  → 2   after 1
//
// A send is a candidate when the receive is all it waits for and both name the
// same chunks: then the receive wrote every one of them, and nothing has since.
// Of several candidates the one with the longest way to go is taken. Whatever
// waited for the send waits for the fused instruction.
//
// Fusing binds two connections to one threadblock, and with them to one channel:
// a chain of fused instructions is of one instance and has at most one channel
// directive. Whether the connections can be had is for pass channels, and
// whether their slots suffice for pass order; both may undo a fusion.

func fuseRCS(u *unit) error { return u.fuseSends(ir.Recv, ir.RecvCopySend) }

func fuseRRCS(u *unit) error { return u.fuseSends(ir.RecvReduceCopy, ir.RecvReduceCopySend) }

func (u *unit) fuseSends(from, to ir.Op) error {
	var best, height []int32 // by receive: its candidate; by instruction, where several are
	for i := range u.ins {
		b := int32(i)
		s := &u.ins[b]
		if s.op != ir.Send || !u.live(b) {
			continue
		}
		waits := u.preds.row(b)
		if len(waits) != 1 {
			continue
		}
		a := waits[0]
		r := &u.ins[a]
		if r.op != from || r.dst() != s.src() || !u.sameRoute(r.get, s.put) {
			continue
		}
		if best == nil {
			best = u.room.take(len(u.ins))
			for i := range best {
				best[i] = none
			}
		}
		if best[a] != none && height == nil {
			height = u.heights(u.room.take(len(u.ins)))
		}
		if best[a] == none || height[b] > height[best[a]] {
			best[a] = b
		}
	}
	var routes *chains // all may be of one where there is but one directive
	if best != nil && u.directives() > 1 {
		routes = u.routes()
	}
	for a, b := range best {
		if b != none && (routes == nil || routes.join(u.ins[a].get, u.ins[b].put)) {
			u.fuse(int32(a), b, to)
		}
	}
	u.room.give(best, height)
	return nil
}

// directives is how many channels the program names, as far as 2.
func (u *unit) directives() int {
	one := int32(none)
	for m := range u.msgs {
		switch c := u.msgs[m].channel; {
		case c == none || c == one:
		case one != none:
			return 2
		default:
			one = c
		}
	}
	if one == none {
		return 0
	}
	return 1
}

// sameRoute tells whether two messages may be of one chain, as far as they alone
// go.
func (u *unit) sameRoute(m, n int32) bool {
	a, b := &u.msgs[m], &u.msgs[n]
	return a.key == b.key && (a.channel == b.channel || a.channel == none || b.channel == none)
}

// chains is the set of chains under construction: messages that have come to
// share a channel, and which directive they are under.
type chains struct {
	parent  []int32
	channel []int32 // by root
}

// routes is the chains that the fusions so far have made.
func (u *unit) routes() *chains {
	c := &chains{parent: make([]int32, len(u.msgs)), channel: make([]int32, len(u.msgs))}
	for m := range u.msgs {
		c.parent[m], c.channel[m] = int32(m), u.msgs[m].channel
	}
	for i := range u.ins {
		if in := &u.ins[i]; in.fused != none {
			c.join(in.get, in.put)
		}
	}
	return c
}

func (c *chains) root(m int32) int32 {
	for c.parent[m] != m {
		c.parent[m] = c.parent[c.parent[m]]
		m = c.parent[m]
	}
	return m
}

// join makes one chain of two, unless they are under different directives.
func (c *chains) join(m, n int32) bool {
	a, b := c.root(m), c.root(n)
	switch {
	case c.channel[a] == none:
		c.channel[a] = c.channel[b]
	case c.channel[b] != none && c.channel[a] != c.channel[b]:
		return false
	}
	c.parent[b] = a
	return true
}

// fuseRRS drops the store of a fused reduction that nobody needs:
//
//	1 rrcs rank 1 in[0]  ← 0 → 2            1 rrs rank 1 in[0]  ← 0 → 2
//	5 r    rank 1 in[0]  ← 0  after 1       5 r   rank 1 in[0]  ← 0  after 1
//
// Nobody does where no other instruction reads any of the chunks before they
// are overwritten, and none of them holds a part of the collective's result at
// the end. Chunks that were dropped keep what they held; that is nobody's
// concern for the same reason.
func fuseRRS(u *unit) error {
	read := make([]bool, len(u.ins)) // by instruction: another reads what it stored
	for i := range u.ins {
		x := &u.ins[i]
		for _, p := range u.preds.row(int32(i)) {
			w := &u.ins[p]
			if w.op == ir.RecvReduceCopySend && w.fused != int32(i) && x.reads(w.dst()) {
				read[p] = true
			}
		}
	}
	for i := range u.ins {
		if in := &u.ins[i]; in.op == ir.RecvReduceCopySend && !read[i] && !u.final[in.of] {
			in.op = ir.RecvReduceSend
		}
	}
	return nil
}
