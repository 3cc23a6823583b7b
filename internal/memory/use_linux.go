package memory

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/internal/child"
)

// Machine returns the memory of this machine in bytes, or the lowest limit of the
// control groups of this process if that is less; 0: unknown.
func Machine() int64 {
	least := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		least = int64(info.Totalram) * int64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for _, file := range limitFiles(string(groups)) {
		if text, err := os.ReadFile(file); err == nil {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// limitFiles lists the files that may hold limits of our control groups and of those
// around them, in either version. groups is the text of /proc/self/cgroup.
func limitFiles(groups string) (files []string) {
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, name := "/sys/fs/cgroup", "memory.max"
		switch {
		case parts[1] == "memory":
			root, name = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case parts[1] != "":
			continue
		}
		for at := filepath.Clean("/" + parts[2]); ; at = filepath.Dir(at) {
			files = append(files, filepath.Join(root, at, name))
			if at == "/" {
				break
			}
		}
	}
	return files
}

// inUse returns the bytes in use by this process, and by the processes that Spawn
// started and their descendants. Other children are not counted: a shell started them
// before it became this process. Of shared memory only the largest share of one
// process is counted, because processes may share the same.
func inUse() (own, others int64) {
	all, shared := resident(os.Getpid())
	own = all - shared
	for _, pid := range descendants(os.Getpid(), child.Ours) {
		more, theirs := resident(pid)
		others += more - theirs
		shared = max(shared, theirs)
	}
	return own, others + shared
}

// OfTree returns the bytes in use by a process and all its descendants, without shared
// memory.
func OfTree(root int) int64 {
	all, shared := resident(root)
	sum := all - shared
	for _, pid := range descendants(root, nil) {
		all, shared := resident(pid)
		sum += all - shared
	}
	return sum
}

// Of returns the bytes that a process has in memory; 0 if there is no such process.
func Of(pid int) int64 {
	used, _ := resident(pid)
	return used
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
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range bytes.FieldsSeq(text) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// allChildren lists the children of every process there is.
func allChildren() map[int][]int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// resident returns the bytes of a process in memory, and how many of them may be shared.
func resident(pid int) (all, shared int64) {
	statm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 3 {
		return 0, 0
	}
	pages := func(i int) int64 {
		n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
		return n * int64(os.Getpagesize())
	}
	return pages(1), pages(2)
}

func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The process's name, in brackets, may contain anything. Only numbers follow
	// it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
