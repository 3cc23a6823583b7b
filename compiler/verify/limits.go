package verify

// What a program may be at most for Check to take it on: some 30 times the
// largest that 2,048 ranks call for. Over a limit the program is refused, so
// that a file from anywhere is judged in bounded time and memory.
const (
	maxSteps        = 1 << 27
	maxThreadblocks = 1 << 24
	maxPlaces       = 1 << 28 // chunks of all buffers of all ranks
	maxMoved        = 1 << 30 // chunks moved by all steps together
	maxIdle         = 1 << 20 // chunks that nothing moves
	maxRanks        = 1 << 16
)

// raceWork bounds the steps looked at to decide whether conflicting accesses
// are ordered by a path through other GPUs.
const raceWork = 1 << 32
