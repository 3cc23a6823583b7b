package container

import (
	"runtime"
	"sync"
)

// MinWork is the amount of work, in loop iterations, from which several processors
// pay off. Only tests change it.
var MinWork = 1 << 16

// Ranges divides the numbers below n into one range for each processor,
// or a single range if work is small, and calls do for all ranges in parallel.
// A call must write only data of its own range; the result then does not depend
// on the number of ranges.
func Ranges(n, work int, do func(from, to int)) {
	runs := min(n, runtime.GOMAXPROCS(0))
	if work < MinWork || runs < 2 {
		do(0, n)
		return
	}
	var all sync.WaitGroup
	for r := range runs {
		all.Go(func() { do(n*r/runs, n*(r+1)/runs) })
	}
	all.Wait()
}
