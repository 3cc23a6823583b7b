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
		l.blocks = append(l.blocks, make([]Op, 0, opBlock))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, op)
	l.n++
}

// at returns the n-th operation.
func (l *opList) at(n int32) *Op { return &l.blocks[n/opBlock][n%opBlock] }

// all returns the operations as one slice, of which the blocks become parts. It
// copies in two halves in parallel, because much of the time goes to first
// touching the memory.
func (l *opList) all() []Op {
	ops := make([]Op, l.n)
	move := func(from, to int) {
		for i := from; i < to; i++ {
			first := i * opBlock
			end := first + copy(ops[first:], l.blocks[i])
			l.blocks[i] = ops[first:end:end]
		}
	}
	var other sync.WaitGroup
	half := len(l.blocks) / 2
	other.Go(func() { move(half, len(l.blocks)) })
	move(0, half)
	other.Wait()
	return ops
}
