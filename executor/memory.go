package executor

import (
	"fmt"
	"time"

	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/units"
)

// An executor that allocates without end is ended by its host, before the system
// runs out and ends a process of its own choice. A limit on the address space
// would not do, because device drivers reserve far more than they use.

// How often the memory of an executor and of all that it started is measured.
const (
	lookAtOne = 50 * time.Millisecond
	lookAtAll = time.Second
)

// defaultMemory is nine tenths of the memory of this machine, or of the container
// we run in. 0: unknown.
func defaultMemory() int64 { return memory.Machine() / 10 * 9 }

// watchMemory ends the process and its group once they use more than limit, and
// records that as the way it ended.
func (p *process) watchMemory(limit int64) {
	if limit <= 0 {
		return
	}
	pid := p.cmd.Process.Pid
	tick := time.NewTicker(lookAtOne)
	defer tick.Stop()
	for all := time.Now().Add(lookAtAll); ; {
		select {
		case <-p.exited:
			return
		case now := <-tick.C:
			used := memory.Of(pid)
			if now.After(all) {
				all = now.Add(lookAtAll)
				used = max(used, memory.OfTree(pid))
			}
			if used > limit && p.alive() {
				p.mu.Lock()
				p.over = fmt.Sprintf("ended by its host: it used %s of memory, its cap is %s", units.Bytes(used>>20<<20), units.Bytes(limit))
				p.mu.Unlock()
				p.killGroup()
				return
			}
		}
	}
}
