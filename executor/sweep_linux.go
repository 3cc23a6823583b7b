package executor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/internal/child"
)

// An executor that is built with this package ends its whole group when its host
// dies (dieWithHost), provided that it is told by a signal it can catch. The
// setting belongs to the main thread, on which init runs.
func init() {
	if startedByHost() {
		child.AdoptOrphans()
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0)
	}
}

// sweep ends every process whose environment, as it was started, contains a
// string: those that a dead executor has started in groups of their own. They are
// asked first, since a launcher has something to end elsewhere: srun, killed
// without warning, keeps its nodes. It returns how many it found alive.
func sweep(marker string) (found int) {
	found = signalAll(marker, unix.SIGTERM)
	for end := time.Now().Add(terminateGrace); signalAll(marker, 0) > 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	signalAll(marker, unix.SIGKILL)
	return found
}

// signalAll sends a signal to every process whose environment, as it was started,
// contains a string. It looks only at our user's processes, and never at this one.
// It returns how many it found alive.
func signalAll(marker string, s unix.Signal) (found int) {
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
		if env, err := os.ReadFile("/proc/" + e.Name() + "/environ"); err == nil && hasVariable(env, marker) {
			_ = unix.PidfdSendSignal(fd, s, nil, 0)
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
