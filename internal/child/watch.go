package child

import "time"

// How often the memory of a process, and of all that it started, is measured.
const (
	watchOne = 50 * time.Millisecond
	watchAll = time.Second
)

// WatchMemory returns the bytes in use as soon as a group's command, or it and all its
// descendants, use more than limit bytes, and 0 once ended is closed. It costs nothing
// with a limit of 0, which means none. A limit on the address space would not do, because
// device drivers reserve far more than they use.
func (g *Group) WatchMemory(limit int64, ended <-chan struct{}) int64 {
	if limit <= 0 {
		<-ended
		return 0
	}
	pid := g.Cmd.Process.Pid
	tick := time.NewTicker(watchOne)
	defer tick.Stop()
	for all := time.Now().Add(watchAll); ; {
		select {
		case <-ended:
			return 0
		case now := <-tick.C:
			used := usage(pid)
			if now.After(all) {
				all = now.Add(watchAll)
				used = max(used, treeUsage(pid))
			}
			if used > limit {
				return used
			}
		}
	}
}
