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

// untilInterrupted is a context that ends with the first Ctrl-C, SIGTERM or
// SIGHUP: the command saves what it has and returns. The next one ends the process
// on the spot; what it has started ends with it. Under nohup, which has SIGHUP
// ignored, it stays so.
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

// sameInterrupt is how long what comes after an interrupt is that one still: timeout
// sends its signal to the command and then to its group, and a closed terminal's
// comes from the shell and from the system.
const sameInterrupt = 500 * time.Millisecond

// another waits for an interrupt that is not the first one sent twice; false where
// the command is done before.
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

// until is what f returns, or the context's error as soon as that ends: what f is
// still computing then ends with the process.
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

// atOnce is a command that has nothing to save: an interrupt ends it, whatever it
// is computing.
func atOnce(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		_, err := until(cmd.Context(), func() (struct{}, error) { return struct{}{}, run(cmd, args) })
		return err
	}
}
