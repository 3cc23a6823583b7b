package cpu

import (
	"sync"
	"sync/atomic"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// pieceBytes is how much of a call moves at a time, so that a piece stays in the nearest
// cache while it is received, reduced, stored and sent on: whole lines of LL128, words of
// LL and elements of every type.
const pieceBytes = 64 * lineData

// block is a threadblock, run by a goroutine.
type block struct {
	run  *run
	rank *rank
	id   int
	tb   *ir.Threadblock
	in   *connection
	out  *connection
	// done counts the steps that have set their flag, over all tiles and
	// iterations, so that flags need no reset.
	done semaphore

	sent, received uint64 // calls
	src, dst       cursor
	scratch        [3][pieceBytes]byte

	gate     chan struct{}
	progress atomic.Uint64 // calls and waits that have ended
	place    atomic.Uint64 // tile and step, for reports

	mu      sync.Mutex // guards what follows, which the watchdog reads
	through bool       // the last iteration has ended
	waiting event      // nil: none
	want    uint64
	reason  reason
	dep     ir.Dep // forStep
}

// reason is the kind of event that a threadblock waits for.
type reason uint8

const (
	forStart reason = iota
	forStep
	forMessage
	forSlot
)

// wake makes a sleeping threadblock poll its event again.
func (b *block) wake() {
	select {
	case b.gate <- struct{}{}:
	default: // it has been woken already
	}
}

// await waits until an event has reached want. It returns false if the run was stopped
// first.
func (b *block) await(e event, want uint64, why reason, dep ir.Dep) bool {
	for range b.run.spins {
		if e.reached(want) {
			return true
		}
	}
	b.mu.Lock()
	b.waiting, b.want, b.reason, b.dep = e, want, why, dep
	b.mu.Unlock()
	for !b.run.stopped.Load() {
		e.enlist(b)
		if e.reached(want) {
			break
		}
		<-b.gate
		if e.reached(want) {
			break
		}
	}
	b.mu.Lock()
	b.waiting = nil
	b.mu.Unlock()
	b.progress.Add(1)
	return !b.run.stopped.Load()
}

// look polls a few times for a call's next flag, then sleeps until the whole call has been
// sent. It returns false if the run was stopped.
func (b *block) look(c *connection, call uint64) bool {
	return b.await(&c.tail, call+1, forMessage, ir.Dep{})
}

// work runs the program once for each iteration, when it starts.
func (b *block) work() {
	for i := range b.run.iterations {
		if !b.await(&b.run.start, uint64(i)+1, forStart, ir.Dep{}) || !b.iterate(i) {
			return
		}
		b.rank.finished()
	}
	b.mu.Lock()
	b.through = true
	b.mu.Unlock()
}

// iterate runs the program once, tile by tile and within a tile step by step. It returns
// false if the run was stopped.
func (b *block) iterate(iteration int) bool {
	steps := uint64(len(b.tb.Steps))
	for tile := range b.run.tiles {
		turn := uint64(iteration)*uint64(b.run.tiles) + uint64(tile)
		lo := int64(tile) * b.run.tileElements
		hi := min(lo+b.run.tileElements, b.run.layout.ChunkElements)
		for s := range b.tb.Steps {
			step := &b.tb.Steps[s]
			b.place.Store(uint64(tile)<<32 | uint64(s))
			for _, d := range step.Deps {
				other := b.rank.blocks[d.TB]
				want := turn*uint64(len(other.tb.Steps)) + uint64(d.Step) + 1
				if other.done.reached(want) {
					continue
				}
				if !b.await(&other.done, want, forStep, d) {
					return false
				}
			}
			if step.Op != ir.Nop && !b.step(step, lo, hi) {
				return false
			}
			if step.HasDep {
				b.done.post(turn*steps + uint64(s) + 1)
			}
			b.progress.Add(1)
		}
	}
	return true
}

// step runs an instruction for the elements from lo up to hi of each chunk, in calls that
// fit a slot. It returns false if the run was stopped.
func (b *block) step(s *ir.Step, lo, hi int64) bool {
	count, perCall := int(s.Count), b.run.perCall
	if !s.Op.Sends() && !s.Op.Receives() {
		perCall = count
	}
	for first := 0; first < count; first += perCall {
		n := min(perCall, count-first)
		if s.Op.ReadsSrc() {
			b.src.point(b.rank.buffer(s.Src.Buf), s.Src, first, n, lo, hi)
		}
		if s.Op.WritesDst() {
			b.dst.point(b.rank.buffer(s.Dst.Buf), s.Dst, first, n, lo, hi)
		}
		size := n * int((hi-lo)*int64(b.run.layout.ElemBytes))
		var ok bool
		switch {
		case !s.Op.Sends() && !s.Op.Receives():
			ok = b.pieces(s.Op, 0, size)
		case b.run.proto == topologies.Simple:
			ok = b.callSimple(s.Op, size)
		default:
			ok = b.callFlagged(s.Op, size)
		}
		if !ok || b.run.stopped.Load() {
			return false
		}
	}
	return true
}

// callSimple makes a call slice by slice, and posts each as soon as it is complete.
func (b *block) callSimple(op ir.Op, size int) bool {
	at := 0
	for i, end := range [sliceCount]int{firstSlice(size), size} {
		taken, put := b.received*sliceCount+uint64(i)+1, b.sent*sliceCount+uint64(i)+1
		if op.Receives() && !b.in.tail.reached(taken) && !b.await(&b.in.tail, taken, forMessage, ir.Dep{}) {
			return false
		}
		if op.Sends() && !b.free(put, sliceCount*b.out.slots) {
			return false
		}
		if !b.pieces(op, at, end) {
			return false
		}
		at = end
		if op.Sends() {
			b.out.tail.post(put)
		}
		if op.Receives() {
			b.in.head.post(taken)
		}
		b.progress.Add(1)
	}
	b.made(op)
	return true
}

// callFlagged makes a call of LL or LL128.
func (b *block) callFlagged(op ir.Op, size int) bool {
	if op.Sends() {
		if !b.free(b.sent+1, b.out.slots) {
			return false
		}
	}
	if !b.pieces(op, 0, size) {
		return false
	}
	if op.Sends() {
		b.out.tail.post(b.sent + 1)
	}
	if op.Receives() {
		b.in.head.post(b.received + 1)
	}
	b.made(op)
	return true
}

// made counts a call that is complete.
func (b *block) made(op ir.Op) {
	if op.Sends() {
		b.sent++
	}
	if op.Receives() {
		b.received++
	}
	b.progress.Add(1)
}

// free waits until the send connection has space for the next-th post, of capacity in all.
// It returns false if the run was stopped.
func (b *block) free(next, capacity uint64) bool {
	if next <= capacity || b.out.head.reached(next-capacity) {
		return true
	}
	return b.await(&b.out.head, next-capacity, forSlot, ir.Dep{})
}

// pieces executes an instruction in one pass over the bytes [from, end) of a call. It
// returns false if the run was stopped.
func (b *block) pieces(op ir.Op, from, end int) bool {
	reduce := b.run.reduce
	for at := from; at < end; at += pieceBytes {
		n := min(pieceBytes, end-at)
		var source, target, message []byte
		if op.ReadsSrc() {
			source = b.src.read(at, n, b.scratch[0][:])
		}
		scatter := false
		if op.WritesDst() {
			if target = b.dst.view(at, n); target == nil {
				target, scatter = b.scratch[1][:n], true
			}
		}
		if op.Receives() {
			into := b.scratch[2][:n]
			if !op.ReadsSrc() && !scatter {
				into = target // nothing to reduce it with
			}
			if message = b.take(at, n, into); message == nil {
				return false
			}
		}
		switch op {
		case ir.Send:
			b.put(at, source)
		case ir.Copy:
			copy(target, source)
		case ir.Reduce:
			if scatter {
				b.dst.read(at, n, target)
			}
			reduce(target, target, source)
		case ir.Recv, ir.RecvCopySend:
			if &message[0] != &target[0] {
				copy(target, message)
			}
		case ir.RecvReduceCopy, ir.RecvReduceCopySend:
			reduce(target, message, source)
		case ir.RecvReduceSend:
			target = b.scratch[1][:n]
			reduce(target, message, source)
		}
		if op.Receives() && op.Sends() {
			b.put(at, target)
		}
		if scatter {
			b.dst.write(at, target)
		}
	}
	return true
}

// put sends p as the bytes from at on of the call being made.
func (b *block) put(at int, p []byte) {
	switch c := b.out; c.proto {
	case topologies.LL:
		c.putWords(b.sent, at, p)
	case topologies.LL128:
		c.putLines(b.sent, at, p)
	default:
		copy(c.slotBytes(b.sent)[at:], p)
	}
}

// take returns n bytes, from at on, of the call being received: in its slot, or copied to
// into; nil if the run was stopped.
func (b *block) take(at, n int, into []byte) []byte {
	ok := true
	switch c := b.in; c.proto {
	case topologies.LL:
		ok = c.takeWords(b, b.received, at, into)
	case topologies.LL128:
		ok = c.takeLines(b, b.received, at, into)
	default:
		return c.slotBytes(b.received)[at:][:n]
	}
	if !ok {
		return nil
	}
	return into
}
