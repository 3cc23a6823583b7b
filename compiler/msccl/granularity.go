package msccl

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Granularity returns the smallest number of bytes, as nccl-tests prints sizes,
// that divides into the program's chunks with elements of this size; a runtime
// uses the program at multiples of it. It is 0 if the program's collective is
// invalid.
func Granularity(p *ir.Program, elemSize int64) int64 {
	col, err := collective.New(p.Collective)
	if err != nil {
		return 0
	}
	return granularity(col.Name, col.Ranks, col.LoopChunks(), elemSize)
}

func (f *File) granularity(elemSize int64) int64 {
	return granularity(f.Computes(), f.NGPUs, f.NChunksPerLoop, elemSize)
}

// granularity is Granularity for a collective's name in a file and loop chunks.
// A runtime divides the number of elements by loop: those of the whole call, or
// for collectives it does not know of one rank's part.
func granularity(coll string, ranks, loop int, elemSize int64) int64 {
	return elemSize * int64(loop) * perRank(coll, ranks)
}

// CallChunks returns the number of chunks of a step that one primitive call
// carries at a size in bytes: as many as fill a tile, from 1 to 71. It is 1 if
// nchunksperloop is 0 or the protocol unknown.
func (r *Runtime) CallChunks(protocol string, bytes int64, nchunksperloop int) int {
	if nchunksperloop < 1 {
		return 1
	}
	chunk := max(1, (bytes-1)/int64(nchunksperloop)+1)
	return int(min(max(r.Tiles[protocol]/chunk, 1), maxCount))
}
