package results

// maxCallChunks is the most chunks that a runtime moves in one primitive call
// (MSCCL_MAX_COUNT - 1).
const maxCallChunks = 71

// SameTile tells whether a program runs alike with tiles a and b: one loop over
// the data with either, and every step in as many primitive calls. maxCount is
// the largest count of any step; chunk is the bytes of one chunk. A runtime
// moves as many whole chunks a call as the tile has room for.
func SameTile(chunk int64, maxCount int, a, b int64) bool {
	if a == b {
		return true
	}
	if chunk > a || chunk > b {
		return false
	}
	return callChunks(chunk, maxCount, a) == callChunks(chunk, maxCount, b)
}

// callChunks is how many chunks of a step go in one call, as far as it matters
// to a program whose largest count is maxCount.
func callChunks(chunk int64, maxCount int, tile int64) int64 {
	return min(max(tile/max(chunk, 1), 1), maxCallChunks, int64(max(maxCount, 1)))
}

// ChunkBytes is the bytes of one chunk of a call of that many bytes: whole
// elements, rounded up, as the runtimes cut it.
func ChunkBytes(bytes, elem int64, loopChunks int) int64 {
	elems := (bytes + elem - 1) / elem
	n := int64(loopChunks)
	return (elems + n - 1) / n * elem
}
