package compiler

import (
	"sync"

	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/lang"
)

// Operation is an operation of a program whose local copies were eliminated. A
// reduction from another rank may take its operand from elsewhere than its destination.
type Operation struct {
	Kind     lang.Kind
	Src, Dst lang.Span
	Operand  lang.Span // on Dst's rank: what a Reduce adds Src to; of a Copy, Dst
	Channel  int32     // as in lang.Op
	Scope    int32     // as in lang.Op
}

// EliminateCopies returns the operations of p after the passes expand, propagate copies
// and sink copies, in program order. Parallelize scopes are not replicated. An error is
// one that Compile would give, too.
func EliminateCopies(p *lang.Program) ([]Operation, error) {
	prog := newProgram(p, Options{Instances: 1, MaxChannels: DefaultMaxChannels})
	pool := pools.Get().(*container.SlicePool)
	defer pools.Put(pool)
	prog.pool, *pool = *pool, container.SlicePool{}
	defer func() {
		prog.pool.Keep(maxKept)
		*pool = prog.pool
	}()
	for _, run := range [...]func(*program) error{expand, propagateCopies, sinkCopies} {
		if err := run(prog); err != nil {
			return nil, err
		}
	}
	all := make([]Operation, len(prog.ops))
	for i := range prog.ops {
		all[i] = prog.ops[i].exported()
	}
	return all, nil
}

// maxKept is the most elements that a pool keeps from one program to the next: 256 MiB.
const maxKept = 1 << 26

// pools are slices of one program for the next: a search estimates hundreds of programs
// over thousands of ranks.
var pools = sync.Pool{New: func() any { return new(container.SlicePool) }}

// exported returns the operation as other packages read it.
func (o *op) exported() Operation {
	src, dst := o.ends()
	e := Operation{Src: src.span(o.src), Dst: dst.span(o.dst), Operand: o.with().span(o.dst), Channel: o.channel, Scope: o.scope}
	if o.reduce {
		e.Kind = lang.Reduce
	}
	return e
}

func (c chunks) span(rank int32) lang.Span {
	return lang.Span{Rank: rank, Buf: c.buf, Index: c.off, Count: c.count, Stride: c.stride}
}
