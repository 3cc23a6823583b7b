package cpu

import (
	"fmt"
	"runtime"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu/mpi"
	"github.com/colltune/colltune/internal/units"
)

// Needs returns, for doctor, this machine's processors, memory and MPI.
func Needs() []executor.Finding {
	all := []executor.Finding{{What: "processors", Found: true, Detail: fmt.Sprintf("%d of %s; threadblocks beyond that take turns", runtime.GOMAXPROCS(0), model())}}
	if limit, err := memoryLimit(1); err != nil {
		all = append(all, executor.Finding{What: "memory", Detail: err.Error()})
	} else {
		all = append(all, executor.Finding{What: "memory", Found: true, Detail: fmt.Sprintf("a trial may take %v", units.Bytes(limit&^(1<<20-1)))}) // whole MiB
	}
	library, version, err := mpi.Find()
	if err != nil {
		return append(all, executor.Finding{What: "MPI", Detail: "only needed for several processes: " + err.Error()})
	}
	return append(all, executor.Finding{What: "MPI", Found: true, Detail: fmt.Sprintf("for several processes: %s (%s)", version, library)})
}
