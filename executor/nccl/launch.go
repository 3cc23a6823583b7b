package nccl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/internal/child"
)

// maxOutput is how many bytes of a launch's output are kept; the rest is read and dropped.
// The log of many ranks is long, but the table is short.
const maxOutput = 32 << 20

// maxQuoted is how many bytes of the output an error quotes.
const maxQuoted = 1500

// output keeps a launch's output on both streams, in order of arrival.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p[:min(len(p), maxOutput-o.buf.Len())])
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// launch runs a command behind the launcher, with variables added to the environment at its
// far end: the program env sets them, whether or not a launcher passes its own on. It
// returns the output, also with an error: ctx's, or the program's exit status.
//
// When ctx is done the launcher is asked to end, so that it ends its processes on other
// hosts, and two seconds later its whole group is killed.
func launch(ctx context.Context, launcher, env []string, program string, args ...string) (string, error) {
	words := append([]string{}, launcher...)
	if len(env) > 0 {
		words = append(append(words, "env"), env...)
	}
	words = append(append(words, program), args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	group := child.Group{Cmd: cmd, Graceful: true}
	cmd.Cancel = func() error { group.TerminateAll(); return nil }
	cmd.WaitDelay = 2 * time.Second
	err := group.Start()
	if err != nil {
		return "", fmt.Errorf("%s: %w", words[0], err)
	}
	group.AwaitEnd()
	group.Kill() // what the launcher left behind
	err = group.Reap()
	switch {
	case ctx.Err() != nil:
		return said.String(), ctx.Err()
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it succeeded, but something that it left behind held its output open
	case err != nil:
		err = fmt.Errorf("%s %w", programName(program), err)
	}
	return said.String(), err
}

func programName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// tail returns the end of the output, as a suffix for an error.
func tail(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return ", and printed nothing"
	}
	if len(said) > maxQuoted {
		said = said[len(said)-maxQuoted:]
		if i := strings.IndexByte(said, '\n'); i >= 0 {
			said = said[i+1:]
		}
	}
	return "; it printed:\n\t" + strings.ReplaceAll(said, "\n", "\n\t")
}
