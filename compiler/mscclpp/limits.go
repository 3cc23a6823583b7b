package mscclpp

// Limits of Verify, about a hundred times the runtime's own. A plan that
// exceeds one is refused, so that time and memory are bounded for untrusted
// files.
const (
	maxRanks  = 1 << 12
	maxClocks = 1 << 14 // threadblocks and port channels
	maxCells  = 1 << 22 // of all buffers
	maxMoved  = 1 << 26 // cells read and written
	maxWork   = 1 << 31 // entries of clocks, and packets, examined
	stepWork  = 256     // the part of maxWork for each step
	maxPlaces = 1 << 26 // places of operations, counted for every rank of a group
	maxChain  = 1 << 12 // packets examined to decide one order
	maxCut    = 1 << 12 // cells of a chunk
	maxPasses = 80      // of a pipeline
)
