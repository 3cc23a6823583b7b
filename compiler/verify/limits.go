package verify

// Limits of Check: about 30 times the largest programs for 2,048 ranks. A
// program beyond a limit is refused, so that time and memory are bounded for
// untrusted files.
const (
	maxSteps        = 1 << 27
	maxThreadblocks = 1 << 24
	maxPlaces       = 1 << 28 // chunks of all buffers of all ranks
	maxMoved        = 1 << 30 // chunks moved by all steps together
	maxIdle         = 1 << 20 // chunks that no step moves
	maxRanks        = 1 << 16
)

// raceWork bounds the steps visited to decide whether conflicting accesses are
// ordered by a path through other GPUs.
const raceWork = 1 << 32
