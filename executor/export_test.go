package executor

import (
	"os"
	"strings"
	"time"
)

// A launcher of a test's is waited for however busy the machine is, and so is an
// executor's goodbye.
func init() { terminateGrace, shutdownGrace = 20*time.Second, 20*time.Second }

// The tests' own process adopts no orphans, or it would end what the hosts and the
// executors that tests start are to end themselves.
func init() {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-test.") {
		adopt = func() {}
	}
}

// SetHostSilence sets how long a far end goes on without a word of its host.
func SetHostSilence(d time.Duration) { hostSilence = d }

// Running reports whether the executor's process is there, as its host knows it.
func (h *Host) Running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.worker != nil && h.worker.process.alive()
}
