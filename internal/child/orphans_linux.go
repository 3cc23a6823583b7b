package child

import (
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A process that leaves its group, its session and its environment is still found by
// its parent: once that has ended, the next ancestor that adopts orphans is its
// parent. A host adopts those of its executors, and an executor its own, for when the
// host is killed.
//
//	host ──▶ executor ──▶ x ──▶ daemon        x ends:            the executor's child
//	                                          the executor ends: the host's child

// ours are the heads of groups that are not reaped. Every other child with our mark, and
// in another process group, is an orphan that we adopted: what os/exec starts by itself
// stays in our group.
var ours = struct {
	sync.Mutex
	pids   map[int]bool
	adopts bool // AdoptOrphans was called
}{pids: map[int]bool{}}

// AdoptOrphans makes this process the parent of what its descendants leave behind,
// from now on. A process that does so starts children with a process group of their own
// as a Group only.
func AdoptOrphans() {
	ours.Lock()
	defer ours.Unlock()
	ours.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// hopeless limits how long EndOrphans kills processes that do not end: stuck in the
// kernel, or forking as fast.
const hopeless = 5 * time.Second

// EndOrphans kills and reaps the orphans of groups that this process has adopted, and
// their descendants. It returns the number that were alive.
func EndOrphans() int {
	ours.Lock()
	defer ours.Unlock()
	if !ours.adopts || mark() == 0 {
		return 0
	}
	self, group := os.Getpid(), unix.Getpgrp()
	alive := map[int]bool{}
	for end := time.Now().Add(hopeless); time.Now().Before(end); time.Sleep(time.Millisecond) {
		found := false
		for _, p := range processes() {
			if p.parent != self || p.group == group || ours.pids[p.pid] || markOf(p.pid) != mark() {
				continue
			}
			found = true // its children become ours when it ends: look again
			if p.state != 'Z' {
				alive[p.pid] = true
				_ = unix.Kill(p.pid, unix.SIGKILL) // our child: its number is nobody else's
			}
			_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		}
		if !found {
			break
		}
	}
	return len(alive)
}

// isOurs reports whether a child of this process heads a Group, or descends from one.
func isOurs(pid int) bool {
	ours.Lock()
	defer ours.Unlock()
	return ours.pids[pid] || mark() != 0 && markOf(pid) == mark()
}

// endDescendants kills the processes that this process has started or adopted, and
// their descendants, and reaps none. The head of a Group calls it before it ends. A
// child without the mark is left alone, with its descendants.
func endDescendants() {
	for end := time.Now().Add(hopeless); time.Now().Before(end); time.Sleep(time.Millisecond) {
		children := map[int][]procStat{}
		for _, p := range processes() {
			children[p.parent] = append(children[p.parent], p)
		}
		found := false
		queue := slices.DeleteFunc(children[os.Getpid()], func(p procStat) bool {
			return (inherited == 0 || markOf(p.pid) != inherited) && !isOurs(p.pid)
		})
		for ; len(queue) > 0; queue = queue[1:] {
			p := queue[0]
			queue = append(queue, children[p.pid]...)
			if p.state != 'Z' {
				found = true
				p.kill()
			}
		}
		if !found {
			return
		}
	}
}
