package compiler

import (
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/lang"
)

// maxOps bounds the size to which replication may expand a program.
const maxOps = 1 << 25

// expand converts the traced program to operations.
//
//	copy rank 0 in[0:4:3] → rank 1 sc[0:2]      copy rank 0 in[0:4:3] → rank 1 sc[0:2]
//	copy rank 0 in[0:2]   → rank 0 in[1:3]      copy rank 0 in[1] → rank 0 in[2]
//	                                            copy rank 0 in[0] → rank 0 in[1]
//
// A reference is one operation, contiguous or not. But a local operation that
// writes chunks that it reads is split into single chunks, ordered so that none
// is read after it was overwritten. A copy onto itself is removed.
//
// Places that do not exist are errors, since later passes use them as indices.
func expand(prog *program) error {
	p := prog.in
	prog.col = p.Collective
	prog.instances, prog.scopeInstances = 1, 1
	if p.Collective.Ranks < 1 {
		return fmt.Errorf("program %q has no collective", p.Name)
	}
	if len(p.Scratch) > p.Collective.Ranks {
		return fmt.Errorf("scratch of %d ranks, in a collective over %d", len(p.Scratch), p.Collective.Ranks)
	}
	prog.scratch = make([]int32, p.Collective.Ranks)
	for r, n := range p.Scratch {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("rank %d has %d chunks of scratch: want 0 to %d", r, n, math.MaxInt32)
		}
		prog.scratch[r] = int32(n)
	}
	for i, s := range p.Scopes {
		if s.Factor < 1 || i > 0 && (s.Parent < 0 || int(s.Parent) >= i) {
			return fmt.Errorf("scope %d has factor %d and parent %d: want at least 1, and an earlier scope", i, s.Factor, s.Parent)
		}
	}
	if err := prog.expandOps(); err != nil {
		return err
	}
	// The traced operations take more memory than these, and no later pass reads
	// them.
	prog.in = &lang.Program{Name: p.Name, Protocol: p.Protocol, Collective: p.Collective, Scopes: p.Scopes}
	return nil
}

// expandOps converts the operations in parts, in parallel. Each part has
// capacity for one operation per traced one. That is usually exactly the number
// it produces, and then the results need no copying.
func (prog *program) expandOps() error {
	const parts = 16
	n, sizes := len(prog.in.Ops), prog.sizes()
	room := make([]op, n)
	var found [parts][]op
	var failed [parts]error
	container.Ranges(parts, n, func(from, to int) {
		for k := from; k < to; k++ {
			first, end := n*k/parts, n*(k+1)/parts
			found[k], failed[k] = prog.expandPart(room[first:first:end], prog.in.Ops[first:end], sizes)
		}
	})
	total, inPlace := 0, true
	for k, ops := range found {
		if failed[k] != nil {
			return failed[k]
		}
		total += len(ops)
		inPlace = inPlace && len(ops) == n*(k+1)/parts-n*k/parts
	}
	switch {
	case total > maxOps:
		return fmt.Errorf("more than %d operations", maxOps)
	case inPlace:
		prog.ops = room
	default:
		prog.ops = slices.Concat(found[:]...)
	}
	return nil
}

// expandPart appends the operations of some traced ones.
func (prog *program) expandPart(ops []op, traced []lang.Op, sizes [][collective.Scratch + 1]int32) ([]op, error) {
	p := prog.in
	for i := range traced {
		t := &traced[i]
		for _, s := range [2]*lang.Span{&t.Src, &t.Dst} {
			if err := inside(s, sizes); err != nil {
				return nil, &lang.Error{Pos: p.Pos(t), Msg: err.Error()}
			}
		}
		switch {
		case t.Src.Count != t.Dst.Count:
			return nil, &lang.Error{Pos: p.Pos(t), Msg: fmt.Sprintf("%d chunks to %d: the counts differ", t.Src.Count, t.Dst.Count)}
		case t.Channel < none || t.Channel >= math.MaxInt16:
			return nil, &lang.Error{Pos: p.Pos(t), Msg: fmt.Sprintf("channel %d: want 0 to %d", t.Channel, prog.opt.MaxChannels-1)}
		case t.Scope != 0 && (t.Scope < 0 || int(t.Scope) >= len(p.Scopes)):
			return nil, &lang.Error{Pos: p.Pos(t), Msg: fmt.Sprintf("scope %d, of %d", t.Scope, len(p.Scopes))}
		}
		if ops = expandOp(ops, t); len(ops) > maxOps {
			return nil, fmt.Errorf("more than %d operations", maxOps)
		}
	}
	return ops, nil
}

// sizes returns the number of chunks in each buffer, by rank.
func (prog *program) sizes() [][collective.Scratch + 1]int32 {
	all := make([][collective.Scratch + 1]int32, prog.col.Ranks)
	for r := range all {
		for b := collective.In; b < collective.Scratch; b++ {
			all[r][b] = int32(prog.col.BufferChunks(r, b))
		}
		all[r][collective.Scratch] = prog.scratch[r]
	}
	return all
}

// inside returns an error if a span lies outside the buffers.
func inside(s *lang.Span, sizes [][collective.Scratch + 1]int32) error {
	if s.Rank < 0 || int(s.Rank) >= len(sizes) {
		return fmt.Errorf("rank %d: want 0 to %d", s.Rank, len(sizes)-1)
	}
	if s.Buf > collective.Scratch || s.Count < 1 || s.Stride < 1 {
		return fmt.Errorf("%d chunks, %d apart, of buffer %d: want at least 1, of a buffer there is", s.Count, s.Stride, s.Buf)
	}
	size := sizes[s.Rank][s.Buf]
	if s.Index < 0 || s.Index >= size || s.Count-1 > (size-1-s.Index)/s.Stride {
		return fmt.Errorf("%v is outside the buffer of %d chunks", s, size)
	}
	return nil
}

// expandOp appends the operations of a traced one.
func expandOp(ops []op, t *lang.Op) []op {
	o := op{
		reduce: t.Kind == lang.Reduce,
		srcBuf: t.Src.Buf, dstBuf: t.Dst.Buf,
		src: t.Src.Rank, dst: t.Dst.Rank,
		srcOff: t.Src.Index, dstOff: t.Dst.Index,
		srcStride: t.Src.Stride, dstStride: t.Dst.Stride,
		count: t.Src.Count, channel: t.Channel, scope: t.Scope,
	}
	if o.count == 1 {
		o.srcStride, o.dstStride = 1, 1
	}
	src, dst := o.ends()
	if o.local() && src == dst && !o.reduce {
		return ops
	}
	if !o.local() || !src.intersects(dst) {
		return append(ops, o)
	}
	// Every chunk must be read before a write lands on it. That holds if the
	// chunks that move up are copied from the last to the first, and then those
	// that move down from the first to the last.
	single := func(k int32) {
		o.setPlaces(src.nth(k), dst.nth(k))
		ops = append(ops, o)
	}
	moves := func(k int32) int32 { return dst.nth(k).off - src.nth(k).off }
	for k := src.count - 1; k >= 0; k-- {
		if d := moves(k); d > 0 || d == 0 && o.reduce {
			single(k)
		}
	}
	for k := range src.count {
		if moves(k) < 0 {
			single(k)
		}
	}
	return ops
}
