package executor

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// An executor that is built with this package takes its whole group along when
// its host dies (dieWithHost), if it is asked with a signal it can catch. The
// setting belongs to the main thread, which is where init runs.
func init() {
	if startedByHost() {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	}
}

// sweep kills every process that has a string in its environment as it was
// started: those a dead executor started in groups of their own. It looks at
// our user's processes only, and never at this one. It says how many it found
// alive.
func sweep(marker string) (found int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Held before it is looked at: the number can't become another's.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if env, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && hasVariable(env, marker) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			found++
		}
		unix.Close(fd)
	}
	return found
}

func hasVariable(environ []byte, marker string) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if string(v) == marker {
			return true
		}
	}
	return false
}
