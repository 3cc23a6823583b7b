package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// untilInterrupted makes a context that ends with the first Ctrl-C, SIGTERM or
// SIGHUP, so that the command saves what it has and returns. The next one ends the
// process at once, with everything it has started. Under nohup SIGHUP is ignored,
// and remains so.
func untilInterrupted(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		fmt.Fprintln(stderr, "\ninterrupted; once more to leave at once")
		cancel()
		if another(signals, done, time.Now) {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// sameInterrupt is how long after an interrupt another one still counts as the
// same. timeout sends its signal to the command and then to its group; when a
// terminal is closed, the shell and the system both send one.
const sameInterrupt = 500 * time.Millisecond

// another waits for an interrupt that is not the first one sent twice. It is false
// if the command is done before one comes.
func another(signals <-chan os.Signal, done <-chan struct{}, now func() time.Time) bool {
	for first := now(); ; {
		select {
		case <-signals:
			if now().Sub(first) >= sameInterrupt {
				return true
			}
		case <-done:
			return false
		}
	}
}

// until calls f, but gives up with the context's error as soon as the context
// ends. What f still computes then ends with the process.
func until[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// atOnce is for a command that has nothing to save: an interrupt ends it, whatever
// it is computing.
func atOnce(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		_, err := until(cmd.Context(), func() (struct{}, error) { return struct{}{}, run(cmd, args) })
		return err
	}
}
