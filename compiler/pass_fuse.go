package compiler

import "github.com/colltune/colltune/compiler/ir"

// The fusions (GC3 4.2) keep a value in registers between its arrival and its
// departure. Each names a kind of receive and the instruction that results from
// merging it with a send of exactly the chunks it stored.
//
//	1 r   rank 1 sc[0]  ← 0                 1 rcs rank 1 sc[0]  ← 0 → 2
//	2 s   rank 1 sc[0]  → 2   after 1
//
// A send can be merged if it waits only for the receive and both name the same
// chunks: then the receive wrote all of them, and nothing has written them since.
// Of several candidates the one with the longest path to the end is taken.
// Instructions that waited for the send then wait for the fused instruction.
//
// Fusion assigns two connections to one threadblock, and so to one channel: a
// chain of fused instructions belongs to one instance and has at most one
// channel directive. Pass channels decides whether the connections are
// available, and pass order whether their slots suffice; both can undo a
// fusion.

func fuseRCS(prog *program) error { return prog.fuseSends(ir.Recv, ir.RecvCopySend) }

func fuseRRCS(prog *program) error { return prog.fuseSends(ir.RecvReduceCopy, ir.RecvReduceCopySend) }

func (prog *program) fuseSends(from, to ir.Op) error {
	var best, height []int32 // by receive: the best send so far; height is computed if there are several
	for i := range prog.ins {
		b := int32(i)
		s := &prog.ins[b]
		if s.op != ir.Send || !prog.live(b) {
			continue
		}
		waits := prog.preds.row(b)
		if len(waits) != 1 {
			continue
		}
		a := waits[0]
		r := &prog.ins[a]
		if r.op != from || r.dst() != s.src() || !prog.canShareChannel(r.get, s.put) {
			continue
		}
		if best == nil {
			best = fill(prog.pool.Take(len(prog.ins)), none)
		}
		if best[a] != none && height == nil {
			height = prog.computeHeights(prog.pool.Take(len(prog.ins)))
		}
		if best[a] == none || height[b] > height[best[a]] {
			best[a] = b
		}
	}
	var routes *channelSets // nil if the program names at most one channel: any messages can share it
	if best != nil && prog.severalDirectives() {
		routes = prog.channelSets()
	}
	for a, b := range best {
		if b != none && (routes == nil || routes.join(prog.ins[a].get, prog.ins[b].put)) {
			prog.fuse(int32(a), b, to)
		}
	}
	prog.pool.Give(best, height)
	return nil
}

// severalDirectives reports whether the program names more than one channel.
func (prog *program) severalDirectives() bool {
	one := int32(none)
	for m := range prog.msgs {
		if c := prog.msgs[m].channel; c != none {
			if one != none && c != one {
				return true
			}
			one = c
		}
	}
	return false
}

// canShareChannel reports whether two messages could be in one chain, as far as
// instances and directives of these two go.
func (prog *program) canShareChannel(m, n int32) bool {
	a, b := &prog.msgs[m], &prog.msgs[n]
	return a.instance == b.instance && (a.channel == b.channel || a.channel == none || b.channel == none)
}

// channelSets divides the messages into sets that must share a channel, each
// with its directive. It is a union-find structure.
type channelSets struct {
	parent  []int32
	channel []int32 // by root: the directive, or none
}

// channelSets returns the sets of the fusions made so far.
func (prog *program) channelSets() *channelSets {
	c := &channelSets{parent: make([]int32, len(prog.msgs)), channel: make([]int32, len(prog.msgs))}
	for m := range prog.msgs {
		c.parent[m], c.channel[m] = int32(m), prog.msgs[m].channel
	}
	for i := range prog.ins {
		if in := &prog.ins[i]; in.fused != none {
			c.join(in.get, in.put)
		}
	}
	return c
}

func (c *channelSets) root(m int32) int32 { return rootOf(c.parent, m) }

// rootOf returns the representative of i's set in a union-find forest, with
// path halving.
func rootOf(parent []int32, i int32) int32 {
	for parent[i] != i {
		parent[i] = parent[parent[i]]
		i = parent[i]
	}
	return i
}

// join merges two sets. It reports false if they have different directives.
func (c *channelSets) join(m, n int32) bool {
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

// fuseRRS drops the store of a fused reduction if the stored value is not needed:
//
//	1 rrcs rank 1 in[0]  ← 0 → 2            1 rrs rank 1 in[0]  ← 0 → 2
//	5 r    rank 1 in[0]  ← 0  after 1       5 r   rank 1 in[0]  ← 0  after 1
//
// It is not needed if no other instruction reads any of the chunks before they
// are overwritten, and none of them holds part of the collective's result at
// the end. The chunks then keep their old value, which is not read either.
func fuseRRS(prog *program) error {
	read := make([]bool, len(prog.ins)) // by instruction: another one reads what it stored
	for i := range prog.ins {
		x := &prog.ins[i]
		for _, p := range prog.preds.row(int32(i)) {
			w := &prog.ins[p]
			if w.op == ir.RecvReduceCopySend && w.fused != int32(i) && x.reads(w.dst()) {
				read[p] = true
			}
		}
	}
	for i := range prog.ins {
		if in := &prog.ins[i]; in.op == ir.RecvReduceCopySend && !read[i] && !prog.writesResult[in.of] {
			in.op = ir.RecvReduceSend
		}
	}
	return nil
}
