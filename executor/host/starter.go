package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/executor"
)

// Starter starts processes of one executor. Host is a Starter that decides when; package
// conform has another use for it.
type Starter struct {
	Options Options // with defaults, and with what the executor's settings say

	command executor.Command
	sockets *sockets
}

// NewStarter finds the executor called name, and makes a folder for its sockets, which
// Close removes. ErrNotFound: there is none of that name.
func NewStarter(name string, o Options) (*Starter, error) {
	o = o.withDefaults()
	cmd, err := executor.Find(name, o.Dirs)
	if err != nil {
		return nil, err
	}
	if cmd.StartTimeout > 0 {
		o.StartTimeout = cmd.StartTimeout
	}
	if cmd.Memory != 0 {
		o.Memory = cmd.Memory
	}
	o.Env = append(slices.Clone(o.Env), cmd.Env...)
	sockets, err := newSockets(socketRoot())
	if err != nil {
		return nil, fmt.Errorf("executor %s: folder for its socket: %w", name, err)
	}
	return &Starter{o, cmd, sockets}, nil
}

// Name is what the executor's trials call it.
func (s *Starter) Name() string { return s.command.Name }

// Pause waits before another start, after failures in a row: Options.Backoff, doubled
// with each of them. Its error is that of ctx.
func (s *Starter) Pause(ctx context.Context, failures int) error {
	t := time.NewTimer(backoff(s.Options.Backoff, failures))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backoff is the pause before another start, after n failures in a row.
func backoff(first time.Duration, n int) time.Duration {
	const most = 5 * time.Second
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	return min(d, most)
}

// Close removes the folder of the sockets. Call it after the processes have ended. An
// error is that of removing the folder.
func (s *Starter) Close() error { return s.sockets.close() }
