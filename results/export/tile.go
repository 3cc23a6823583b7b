package export

// maxCallChunks is how many chunks a runtime moves at most in one primitive call
// (MSCCL_MAX_COUNT - 1).
const maxCallChunks = 71

// SameTile tells whether a program runs in the same way with tiles a and b: with
// one loop over the data, and every step in equally many primitive calls. maxCount
// is the largest count of any step, chunk the bytes of a chunk. A runtime moves as
// many whole chunks in a call as fit the tile.
func SameTile(chunk int64, maxCount int, a, b int64) bool {
	if a == b {
		return true
	}
	if chunk > a || chunk > b {
		return false
	}
	return callChunks(chunk, maxCount, a) == callChunks(chunk, maxCount, b)
}

// callChunks is how many chunks go in one call, capped at maxCount, above which
// the difference doesn't matter.
func callChunks(chunk int64, maxCount int, tile int64) int64 {
	return min(max(tile/max(chunk, 1), 1), maxCallChunks, int64(max(maxCount, 1)))
}

// ChunkBytes is the size of a chunk in a call of so many bytes: whole elements,
// rounded up, as the runtimes do.
func ChunkBytes(bytes, elem int64, loopChunks int) int64 {
	elems := (bytes + elem - 1) / elem
	n := int64(loopChunks)
	return (elems + n - 1) / n * elem
}
