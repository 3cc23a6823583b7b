//go:build unix

package executortest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor/host"
)

// hostToBeKilled starts an executor that has a child of its own, says so in
// dir, and waits for its end.
func hostToBeKilled(dir string, frozen bool, name string) {
	h, err := host.Start(context.Background(), name, host.Options{Env: []string{State + "=" + dir}})
	if err == nil {
		_, err = h.Run(context.Background(), Trial(&testing.T{}, 8))
	}
	if err != nil {
		_ = os.WriteFile(filepath.Join(dir, "failed"), []byte(err.Error()), 0o600)
		os.Exit(1)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "executor")); err == nil && frozen {
		pid, _ := strconv.Atoi(string(b))
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		for !stopped(pid) {
			time.Sleep(time.Millisecond)
		}
	}
	leave2(dir, "ready")
	select {}
}

// stopped reports whether all threads of a process stand still, as far as the
// system tells. Its orphans are woken where they do, and not where they are about
// to.
func stopped(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat")
	for _, thread := range threads {
		b, _ := os.ReadFile(thread)
		if _, after, _ := strings.Cut(string(b), ") "); !strings.HasPrefix(after, "T") {
			return false
		}
	}
	return true
}

func leave2(dir, name string) { _ = os.WriteFile(filepath.Join(dir, name), nil, 0o600) }
