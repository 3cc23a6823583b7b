package cpu

import (
	"fmt"
	"runtime"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
)

// Needs returns, for doctor, this machine's processors and memory.
func Needs() []executor.Finding {
	all := []executor.Finding{{What: "processors", Found: true, Detail: fmt.Sprintf("%d of %s; threadblocks beyond that take turns", runtime.GOMAXPROCS(0), model())}}
	if limit, err := memoryLimit(); err != nil {
		all = append(all, executor.Finding{What: "memory", Detail: err.Error()})
	} else {
		all = append(all, executor.Finding{What: "memory", Found: true, Detail: fmt.Sprintf("a trial may take %v", units.Bytes(limit&^(1<<20-1)))}) // whole MiB
	}
	return all
}
