package msccl

import "github.com/colltune/colltune/compiler"

// Limits returns the runtime's limits for compiler.Options. Scratch is only
// limited by memory.
func (r *Runtime) Limits() compiler.Limits {
	return compiler.Limits{
		Threadblocks: r.MaxThreadblocks,
		Steps:        r.MaxSteps,
		Channels:     r.MaxChannels,
		Count:        maxCount,
		Connections:  maxPerChannel,
		Contiguous:   true,
	}
}
