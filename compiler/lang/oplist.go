package lang

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

// all is one slice of them, which the blocks are then parts of.
func (l *opList) all() []Op {
	ops := make([]Op, 0, l.n)
	for i, b := range l.blocks {
		from := len(ops)
		ops = append(ops, b...)
		l.blocks[i] = ops[from:len(ops):len(ops)]
	}
	return ops
}
