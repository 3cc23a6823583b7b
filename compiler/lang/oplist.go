package lang

import "sync"

// opList is the operations traced so far, in blocks, so that none is ever moved
// while the program grows.
type opList struct {
	blocks [][]Op
	n      int
}

// opBlock is how many operations a block has.
const opBlock = 1 << 10

func (l *opList) add(op Op) {
	if l.n%opBlock == 0 {
		l.blocks = append(l.blocks, make([]Op, 0, opBlock))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, op)
	l.n++
}

// at is an operation by number.
func (l *opList) at(n int32) *Op { return &l.blocks[n/opBlock][n%opBlock] }

// all is one slice of them, which the blocks are then parts of. Half of them is
// copied beside the other: much of it is memory that is touched for the first time.
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
