package child

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// TermWithParent has the kernel ask this process to end (SIGTERM) when its parent ends,
// instead of killing it, so that EndWithParent can clean up. Call it from an init
// function: the setting belongs to the main thread.
func TermWithParent() { _ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0) }

// EndMarked ends every other process of our user whose environment, as it was started,
// has the given NAME=VALUE: those that a dead process has started in groups of their own.
// They are asked first (SIGTERM), since a launcher has something to end elsewhere, and
// killed after grace. It returns how many it found alive.
func EndMarked(variable string, grace time.Duration) (found int) {
	found = signalMarked(variable, unix.SIGTERM)
	for end := time.Now().Add(grace); signalMarked(variable, 0) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	signalMarked(variable, unix.SIGKILL)
	return found
}

// signalMarked sends a signal to every process of EndMarked, and returns their number.
func signalMarked(variable string, s unix.Signal) (found int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Opened before it is looked at, so that the pid can't become another's
		// meanwhile.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if env, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && hasVariable(env, variable) {
			_ = unix.PidfdSendSignal(fd, s, nil, 0)
			found++
		}
		unix.Close(fd)
	}
	return found
}

func hasVariable(environ []byte, variable string) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if string(v) == variable {
			return true
		}
	}
	return false
}
