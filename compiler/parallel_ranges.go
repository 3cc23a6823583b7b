package compiler

import (
	"runtime"
	"sync"
)

// worthSharing is the amount of work from which several processors pay off.
var minParallelWork = 1 << 16

// sideBySide calls do for the numbers below n in parallel runs, one for each
// processor, or in a single run if there is little work. A run must write only
// what is its own; the result then does not depend on how many runs there are.
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
