package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// untilInterrupted is a context that ends with the first Ctrl-C (or SIGTERM):
// the command saves what it has and returns. The second ends the process on
// the spot; what it has started ends with it.
func untilInterrupted(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-done:
			return
		}
		fmt.Fprintln(stderr, "\ninterrupted; once more to leave at once")
		cancel()
		select {
		case <-signals:
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
