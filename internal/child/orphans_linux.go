package child

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
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

// ours are the processes that Spawn has started and Reap not reaped. Every other child
// with our mark, and in another process group, is an orphan that we adopted: what
// os/exec starts by itself stays in our group.
var ours = struct {
	sync.Mutex
	pids   map[int]bool
	adopts bool // AdoptOrphans was called
}{pids: map[int]bool{}}

// AdoptOrphans makes this process the parent of what its descendants leave behind,
// from now on. In a process that does so, children with a process group of their own
// are started by Spawn.
func AdoptOrphans() {
	ours.Lock()
	defer ours.Unlock()
	ours.adopts = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil
}

// Reap reaps a process that Spawn started, once AwaitEnd has returned. It returns the
// error of exec.Cmd.Wait.
func Reap(cmd *exec.Cmd) error {
	ours.Lock()
	defer ours.Unlock()
	defer delete(ours.pids, cmd.Process.Pid)
	return cmd.Wait()
}

// hopeless limits how long EndOrphans kills processes that do not end: stuck in the
// kernel, or forking as fast.
const hopeless = 5 * time.Second

// EndOrphans kills and reaps the orphans of Spawn's processes that this process has
// adopted, and their descendants. It returns the number that were alive.
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

// Ours reports whether Spawn started this child of this process, or an ancestor of it.
func Ours(pid int) bool {
	ours.Lock()
	defer ours.Unlock()
	return ours.pids[pid] || mark() != 0 && markOf(pid) == mark()
}

// EndDescendants kills the processes that this process has started or adopted, and
// their descendants, and reaps none. A process that Spawn started calls it before it
// ends. A child without the mark is left alone, with its descendants.
func EndDescendants() {
	for end := time.Now().Add(hopeless); time.Now().Before(end); time.Sleep(time.Millisecond) {
		children := map[int][]procStat{}
		for _, p := range processes() {
			children[p.parent] = append(children[p.parent], p)
		}
		found := false
		queue := slices.DeleteFunc(children[os.Getpid()], func(p procStat) bool {
			return (inherited == 0 || markOf(p.pid) != inherited) && !Ours(p.pid)
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

// procStat is part of /proc/PID/stat.
type procStat struct {
	pid, parent, group int
	state              byte   // 'Z': ended, and not reaped
	began              string // since the system's start, in clock ticks: distinguishes two processes of one number
}

// processes lists all processes that are there.
func processes() (all []procStat) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := statOf(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// statOf reads /proc/PID/stat: the number, the name in brackets, which may hold
// anything, and fields of no blanks, of which the first three are the state, the
// parent and the group, and the twentieth when it began.
func statOf(pid int) (p procStat, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return p, false
	}
	parent, err1 := strconv.Atoi(string(fields[1]))
	group, err2 := strconv.Atoi(string(fields[2]))
	return procStat{pid, parent, group, fields[0][0], string(fields[19])}, err1 == nil && err2 == nil
}

// pidfdOpen is unix.PidfdOpen. Kernels before 5.3, and some sandboxes, refuse it.
var pidfdOpen = unix.PidfdOpen

// kill kills the process, but not another that has its number by now. Without pidfd
// there is a moment in which the number may be reused.
func (p procStat) kill() {
	fd, err := pidfdOpen(p.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, ok := statOf(p.pid); !ok || now.began != p.began {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if err != nil {
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}
