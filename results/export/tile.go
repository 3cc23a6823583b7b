package export

// maxCallChunks is how many chunks a runtime moves at most in one primitive call
// (MSCCL_MAX_COUNT - 1).
const maxCallChunks = 71

// SameTile reports whether a program runs identically with tiles of a and b bytes: one
// loop over the data, and the same number of primitive calls for every step. chunk is
// the size of a chunk in bytes, maxCount the largest count of any step. A runtime moves
// as many whole chunks in a call as fit the tile.
func SameTile(chunk int64, maxCount int, a, b int64) bool {
	if a == b {
		return true
	}
	if chunk > a || chunk > b {
		return false
	}
	return callChunks(chunk, maxCount, a) == callChunks(chunk, maxCount, b)
}

// callChunks returns the chunks per primitive call, capped at maxCount: beyond that the
// tile makes no difference.
func callChunks(chunk int64, maxCount int, tile int64) int64 {
	return min(max(tile/max(chunk, 1), 1), maxCallChunks, int64(max(maxCount, 1)))
}

// ChunkBytes returns the size of a chunk, in bytes, of a call of the given bytes: a
// whole number of elements of elem bytes, rounded up as the runtimes do.
func ChunkBytes(bytes, elem int64, loopChunks int) int64 {
	elems := (bytes + elem - 1) / elem
	n := int64(loopChunks)
	return (elems + n - 1) / n * elem
}
