package lang

import "sync"

// opList holds the operations traced so far, in blocks, so that growing it
// moves none.
type opList struct {
	blocks [][]Op
	n      int
}

// opBlock is the number of operations of a block.
const opBlock = 1 << 10

func (l *opList) add(op Op) {
	if l.n%opBlock == 0 {
		l.blocks = append(l.blocks, spare.Get().(*[opBlock]Op)[:0])
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, op)
	l.n++
}

func (l *opList) at(n int32) *Op { return &l.blocks[n/opBlock][n%opBlock] }

// all returns the operations as one slice, of which the blocks become parts. It
// copies in two halves in parallel, because much of the time goes to first
// touching the memory.
func (l *opList) all() []Op {
	ops := takeDiscarded(l.n)
	move := func(from, to int) {
		for i := from; i < to; i++ {
			block, first := l.blocks[i], i*opBlock
			end := first + copy(ops[first:], block)
			l.blocks[i] = ops[first:end:end]
			spare.Put((*[opBlock]Op)(block[:opBlock]))
		}
	}
	var other sync.WaitGroup
	half := len(l.blocks) / 2
	other.Go(func() { move(half, len(l.blocks)) })
	move(0, half)
	other.Wait()
	return ops
}

// A search traces hundreds of large programs, one after the other: the blocks of finished
// lists, and the operations of discarded programs, are used again.
var (
	spare     = sync.Pool{New: func() any { return new([opBlock]Op) }}
	discarded sync.Pool // of *[]Op
)

func takeDiscarded(n int) []Op {
	ops, ok := discarded.Get().(*[]Op)
	switch {
	case ok && cap(*ops) >= n && cap(*ops)/2 <= n: // a program that is kept holds at most twice its size
		return (*ops)[:n]
	case ok:
		discarded.Put(ops)
	}
	return make([]Op, n)
}

// Discard gives the memory of a program's operations to the next one that is traced. The
// program must not be used afterwards.
func (p *Program) Discard() {
	ops := p.Ops
	discarded.Put(&ops)
	p.Ops = nil
}
