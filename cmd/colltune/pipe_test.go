package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in place of a file is refused at once; /dev/stdin, which is already open, is
// read.
func TestPipesAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, pipe := range []string{"pipe", "pipe.star", "pipe.toml"} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Skip(err)
		}
	}
	for _, args := range [][]string{
		{"verify", "pipe"},
		{"run", "pipe", "-t", "ring:4"},
		{"compile", "./pipe.star", "-t", "ring:4"},
		{"compile", "ring", "-t", "./pipe.toml", "-c", "allreduce"},
		{"search", "-t", "ring:4", "-c", "allreduce", "--template", "pipe.star"},
		{"search", "-t", "ring:4", "-c", "allreduce", "--baseline", "pipe"},
		{"search", "-t", "ring:4", "-c", "allgatherv", "--counts", "pipe"},
		{"template", "check", "pipe.star"},
		{"template", "list", "--template", "pipe.star"},
		{"topology", "show", "./pipe.toml"},
		{"topology", "import", "pipe"},
	} {
		var stderr strings.Builder
		code := Main(args, strings.NewReader(""), io.Discard, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), "is a pipe: want a regular file") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
	if left, _ := filepath.Glob("campaigns"); left != nil {
		t.Error("a campaign was left behind")
	}
}

// An interrupt ends the wait for input.
func TestInterruptEndsReading(t *testing.T) {
	t.Chdir(t.TempDir())
	endless, feed := io.Pipe()
	defer feed.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	for _, args := range [][]string{{"verify", "-"}, {"run", "-", "-t", "ring:4"}, {"topology", "import", "-"}} {
		started := false
		root := newRoot(&started)
		root.SetArgs(args)
		root.SetIn(endless)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		if code := exitCode(root.ExecuteContext(ctx)); code != exitInterrupted {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
