package child

import (
	"math/rand/v2"
	"sync"

	"golang.org/x/sys/unix"
)

// A process carries a mark of the host that it descends from: its soft limit on the
// bytes of POSIX message queues, which colltune does not use. Fork, exec and setsid
// keep it, and so does an empty environment. Other children of the host have none:
// those that a shell started before it became the host (exec), and their orphans.

// leastHard is the least hard limit, in bytes, that leaves room for a mark.
const leastHard = 1 << 12

// mark is the soft limit that groups get: the mark of this process or, if it has none, an
// odd number between half the hard limit and the hard limit, which nobody sets by hand.
// 0: the hard limit is too small for one.
var mark = sync.OnceValue(func() uint64 {
	if inherited != 0 {
		return inherited
	}
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, nil, &limit) != nil || limit.Max < leastHard {
		return 0
	}
	half := limit.Max / 2
	return half + rand.Uint64N(half-1) | 1
})

// inherited is the mark that this process was started with; 0: none.
var inherited = markOf(0)

// markOf is the mark of a process, or of this one (0); 0: it has none.
func markOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_MSGQUEUE, nil, &limit) != nil || limit.Max < leastHard ||
		limit.Cur < limit.Max/2 || limit.Cur >= limit.Max || limit.Cur%2 == 0 {
		return 0
	}
	return limit.Cur
}

// marking calls start, which starts a process, while this process has the mark: there
// is no moment at which the new one lacks it. What another goroutine starts meanwhile
// has it too, but stays in our process group, where EndOrphans ends nothing.
func marking(start func() error) error {
	var was unix.Rlimit
	if m := mark(); m != 0 && unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, nil, &was) == nil {
		with := unix.Rlimit{Cur: m, Max: was.Max}
		if unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, &with, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, &was, nil) }()
		}
	}
	return start()
}
