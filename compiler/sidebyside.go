package compiler

import (
	"runtime"
	"sync"
)

// worthSharing is how much work is worth more than one processor.
var worthSharing = 1 << 16

// sideBySide does n things in as many runs of them as there are processors, or in
// one where there is little work in all. What a run writes is its own, so that what
// comes out does not depend on their number.
func sideBySide(n, work int, do func(from, to int)) {
	runs := min(n, runtime.GOMAXPROCS(0))
	if work < worthSharing || runs < 2 {
		do(0, n)
		return
	}
	var all sync.WaitGroup
	for r := range runs {
		all.Go(func() { do(n*r/runs, n*(r+1)/runs) })
	}
	all.Wait()
}
