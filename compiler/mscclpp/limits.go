package mscclpp

// What a plan may be at most to be executed: some hundred times the largest
// that the runtime itself takes. Over a limit it is refused, so that a file from
// anywhere is judged in bounded time and memory.
const (
	maxRanks  = 1 << 12
	maxClocks = 1 << 14 // threadblocks and port channels
	maxCells  = 1 << 22 // of all buffers
	maxMoved  = 1 << 26 // cells read and written
	maxWork   = 1 << 31 // entries of clocks and packets looked at
	stepWork  = 256     // of it for each step
	maxPlaces = 1 << 26 // places of operations, over each rank of a group
	maxChain  = 1 << 12 // packets looked at to decide one order
	maxCut    = 1 << 12 // cells of a chunk
	maxPasses = 80      // of a pipeline
)
