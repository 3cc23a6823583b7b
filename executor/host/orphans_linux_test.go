package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/executor/executortest"
)

// However an executor or its host ends, no process that it started is left, not even one
// with a session and a group of its own and without its environment.
func TestNothingEscapes(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit); err != nil || limit.Max < 4096 {
		t.Skip("no room for the mark by which the host knows its own")
	}
	for _, how := range []string{"escapes", "escapes-and-dies", "escapes-and-is-killed", "its host is killed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name, killed := strings.CutPrefix(how, "its host is killed")
			if killed {
				name = "escapes"
			}
			host := exec.Command(os.Args[0], "escape-host", dir, name)
			host.Stderr = os.Stderr
			if killed {
				host.Env = append(os.Environ(), "ESCAPE_HOST_WAITS=1")
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				executortest.Within(t, 100*time.Second, func() bool {
					_, err := os.Stat(filepath.Join(dir, "ready"))
					return err == nil
				})
				_ = host.Process.Kill()
				_ = host.Wait()
			} else if err := host.Run(); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) < 4*executortest.Escapes {
				t.Fatalf("%d processes were started: %v", len(left), err)
			}
			for _, e := range left {
				if e.Name() != "ready" {
					executortest.Gone(t, dir, e.Name())
				}
			}
		})
	}
}
