package memory

import (
	"runtime"
	"runtime/debug"
)

// usualPercent is GOGC where nobody has set it.
const usualPercent = 100

// CollectLater has the first collection of garbage wait for a heap of 32 MiB instead of
// 4, so that a short command ends without one. Later collections come as always. Where
// GOGC is set, nothing changes.
func CollectLater() {
	before := debug.SetGCPercent(8 * usualPercent)
	if before != usualPercent {
		debug.SetGCPercent(before)
		return
	}
	collected := new([32]byte) // unreachable, and so gone with the first collection
	runtime.AddCleanup(collected, func(percent int) { debug.SetGCPercent(percent) }, before)
}
