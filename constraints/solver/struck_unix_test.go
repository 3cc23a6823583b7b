//go:build unix

package solver

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

// strikeOnce names a file: a worker that can remove it gets Ctrl-C as it starts.
const strikeOnce = "COLLTUNE_TEST_STRIKE"

func init() {
	child.Register(workerName("struck"), func(c *child.Conn) error {
		if os.Remove(os.Getenv(strikeOnce)) == nil {
			signal.Reset(os.Interrupt)
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			select {}
		}
		return serve(openPB)(c)
	})
}

func TestStartedAgainAfterCtrlC(t *testing.T) {
	if signal.Ignored(os.Interrupt) {
		t.Skip("Ctrl-C is ignored, as of a script's background jobs: it ends no worker")
	}
	mark := filepath.Join(t.TempDir(), "strike")
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv(strikeOnce, mark)
	s := with(t, func(n string) { t.Errorf("told of: %s", n) }, "struck")
	a, err := s.Solve(context.Background(), oneOfTwo())
	if err != nil || a.Status != Sat {
		t.Fatalf("%+v, %v", a, err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("no worker was struck")
	}
}
