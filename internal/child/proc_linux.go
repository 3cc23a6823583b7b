package child

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

// descendants lists the children of a process that are wanted, or all (nil), and their
// descendants. The kernel lists the children of each thread; where it was built without
// that, all processes of the machine are read, of which there may be thousands.
func descendants(root int, wanted func(child int) bool) (all []int) {
	children := childrenOf
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		known := allChildren()
		children = func(pid int) []int { return known[pid] }
	}
	for _, pid := range children(root) {
		if wanted == nil || wanted(pid) {
			all = append(all, pid)
		}
	}
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// childrenOf lists the children of a process, by those of its threads.
func childrenOf(pid int) (all []int) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		text, _ := os.ReadFile(tasks + thread.Name() + "/children")
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

func allChildren() map[int][]int {
	children := map[int][]int{}
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	return children
}

// statm returns the columns of /proc/PID/statm in bytes: the address space, what of it is
// in memory, and what of that may be shared with others.
func statm(pid int) (sizes [3]int64, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return sizes, false
	}
	fields := bytes.Fields(text)
	if len(fields) < len(sizes) {
		return sizes, false
	}
	for i := range sizes {
		pages, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return sizes, false
		}
		sizes[i] = pages * int64(os.Getpagesize())
	}
	return sizes, true
}
