package compiler

import (
	"runtime"
	"sync"
)

// minParallelWork is the amount of work, in loop iterations, from which several
// processors pay off.
var minParallelWork = 1 << 16

// parallelRanges divides the numbers below n into one range for each processor,
// or a single range if work is small, and calls do for all ranges in parallel.
// A call must write only data of its own range; the result then does not depend
// on the number of ranges.
func parallelRanges(n, work int, do func(from, to int)) {
	runs := min(n, runtime.GOMAXPROCS(0))
	if work < minParallelWork || runs < 2 {
		do(0, n)
		return
	}
	var all sync.WaitGroup
	for r := range runs {
		all.Go(func() { do(n*r/runs, n*(r+1)/runs) })
	}
	all.Wait()
}
