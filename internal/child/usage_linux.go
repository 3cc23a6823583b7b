package child

import (
	"os"
	"strconv"
)

// own returns the memory of this process in bytes, with that of C libraries.
func own() int64 { return usage(os.Getpid()) }

// Usage returns the bytes in use by this process, and by its groups and their
// descendants. Other children are not counted: a shell started them before it became this
// process. Of shared memory only the largest share of one process is counted, because
// processes may share the same.
func Usage() (own, others int64) {
	all, shared := resident(os.Getpid())
	own = all - shared
	for _, pid := range descendants(os.Getpid(), isOurs) {
		more, theirs := resident(pid)
		others += more - theirs
		shared = max(shared, theirs)
	}
	return own, others + shared
}

// treeUsage returns the bytes in use by a process and all its descendants, without shared
// memory.
func treeUsage(root int) int64 {
	all, shared := resident(root)
	sum := all - shared
	for _, pid := range descendants(root, nil) {
		all, shared := resident(pid)
		sum += all - shared
	}
	return sum
}

// usage returns the bytes that a process has in memory; 0: there is no such process.
func usage(pid int) int64 {
	used, _ := resident(pid)
	return used
}

// resident returns the bytes of a process in memory, and how many of them may be shared.
func resident(pid int) (all, shared int64) {
	sizes, _ := statm(pid)
	return sizes[1], sizes[2]
}

// PreferOOMKill makes the system kill a process rather than this one when memory runs
// out.
func PreferOOMKill(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}
