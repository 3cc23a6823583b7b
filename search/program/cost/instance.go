package cost

import (
	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// instance is one instance of a program as the cost model reads it, without the local
// copies that the compiler eliminates.
type instance struct {
	program *lang.Program
	ops     []compiler.Operation
	factors []float64 // by scope: the number of replicas of its operations
	batched []bool    // by operation: a reduction that runs as one with the one before it
}

// newInstance has no operations if the compiler would refuse the program. It is then
// ranked first, and refused when it is compiled.
func newInstance(p *lang.Program) *instance {
	ops, err := compiler.EliminateCopies(p)
	if err != nil {
		ops = nil
	}
	return &instance{program: p, ops: ops, factors: scopeFactors(p), batched: batchedReductions(ops)}
}

// chunks returns the chunks that each replica of operation i moves.
func (n *instance) chunks(i int32) float64 {
	return float64(n.ops[i].Src.Count) / n.factors[n.ops[i].Scope]
}

// isLocal reports whether an operation stays within a rank.
func isLocal(op *compiler.Operation) bool { return op.Src.Rank == op.Dst.Rank }

// scopeFactors returns the number of replicas of the operations of each scope.
func scopeFactors(p *lang.Program) []float64 {
	factors := make([]float64, len(p.Scopes))
	for i, s := range p.Scopes {
		factors[i] = float64(s.Factor)
		if i > 0 { // a scope's parent comes before it
			factors[i] *= factors[s.Parent]
		}
	}
	return factors
}

// maxBatched is the most reductions that a runtime executes as one.
const maxBatched = 16

// batchedReductions reports for each operation whether it is a local reduction that runs
// as one with the reduction before it into the same place.
func batchedReductions(ops []compiler.Operation) []bool {
	batched, run := make([]bool, len(ops)), map[lang.Span]int{}
	for i := range ops {
		op := &ops[i]
		if op.Kind != lang.Reduce || !isLocal(op) {
			delete(run, op.Dst)
			continue
		}
		n := run[op.Dst]
		batched[i] = n > 0
		run[op.Dst] = (n + 1) % maxBatched
	}
	return batched
}

// lastWriters holds, for every chunk of every buffer, 1 + the last operation that wrote
// it, or 0.
type lastWriters struct {
	first   [][collective.Scratch + 1]int32 // by rank and buffer: index of its first chunk
	writers []int32
}

func newLastWriters(p *lang.Program) *lastWriters {
	w, chunks := &lastWriters{first: make([][collective.Scratch + 1]int32, p.Collective.Ranks)}, 0
	for r := range w.first {
		for b := collective.In; b <= collective.Scratch; b++ {
			w.first[r][b] = int32(chunks)
			chunks += p.Collective.BufferChunks(r, b)
		}
		if r < len(p.Scratch) {
			chunks += p.Scratch[r]
		}
	}
	w.writers = make([]int32, chunks)
	return w
}

// of returns the entries of a span's buffer from the span's first chunk on.
func (w *lastWriters) of(s *lang.Span) []int32 { return w.writers[w.first[s.Rank][s.Buf]+s.Index:] }
