package msccl

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Granularity is the least number of bytes, as nccl-tests prints sizes, that
// the program's chunks divide at this size of an element; the sizes a runtime
// uses it at are the multiples. 0 where the program's collective is none.
func Granularity(p *ir.Program, elemSize int64) int64 {
	col, err := collective.New(p.Collective)
	if err != nil {
		return 0
	}
	return granularity(col.Name, col.Ranks, col.LoopChunks(), elemSize)
}

func (f *File) granularity(elemSize int64) int64 {
	return granularity(f.collective(), f.NGPUs, f.NChunksPerLoop, elemSize)
}

// granularity: a runtime divides the number of elements of the whole call, or
// of one rank's part where it does not know better, by the chunks of a loop.
func granularity(coll string, ranks, loop int, elemSize int64) int64 {
	return elemSize * int64(loop) * perRank(coll, ranks)
}

// Fits tells whether a runtime would use the program for a call of this size,
// range aside, rather than fall back in silence: whether the chunks divide the
// call's elements.
func Fits(p *ir.Program, runtime, dtype string, bytes int64) bool {
	rt, err := Lookup(runtime)
	if err != nil {
		return false
	}
	elemSize, err := collective.ElemBytes(dtype)
	if err != nil {
		return false
	}
	if _, ok := rt.collective(p.Collective); !ok {
		return false
	}
	g := Granularity(p, elemSize)
	return g > 0 && bytes > 0 && bytes%g == 0
}

// CallChunks is how many chunks of a step one primitive call carries at a size:
// as many as fill a tile, 71 at most and 1 at least. nchunksperloop 0 or an
// unknown protocol give 1.
func (r *Runtime) CallChunks(protocol string, bytes int64, nchunksperloop int) int {
	if nchunksperloop < 1 {
		return 1
	}
	chunk := max(1, (bytes-1)/int64(nchunksperloop)+1)
	return int(min(max(r.Tiles[protocol]/chunk, 1), maxCount))
}
