package executor

import (
	"bytes"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// machineMemory is the memory of this machine, or what our control group may use
// of it.
func machineMemory() int64 {
	least := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		least = int64(info.Totalram) * int64(info.Unit)
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
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

// preferred makes the system kill the executor rather than its host when memory
// runs out.
func preferred(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}

// usedBy is the memory that a process uses.
func usedBy(pid int) int64 {
	used, _ := resident(pid)
	return used
}

// usedByTree is the memory that a process and all its descendants use; what they
// share is left out.
func usedByTree(root int) int64 {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var sum int64
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		used, shared := resident(queue[0])
		sum += used - shared
		queue = append(queue, children[queue[0]]...)
	}
	return sum
}

// resident is how much of a process is in memory, and how much of that may be
// shared with others.
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
