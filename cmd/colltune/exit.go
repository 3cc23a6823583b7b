package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/templates"
)

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFailed      = 1   // I/O, internal; unwritable, locked
	exitUsage       = 2   // usage, unknown or missing name or file, or input that can't be parsed
	exitNothing     = 3   // proved infeasible, or nothing found
	exitLimit       = 4   // a limit was reached: partial results kept, resumable
	exitWrong       = 5   // a program or a measurement failed verification
	exitLost        = 6   // the executor was lost after retries, or can't be had here
	exitInterrupted = 130 // interrupted, saved
)

// exitCodes gives the exit code for each error. The first row that matches counts;
// other errors are exitFailed.
var exitCodes = []struct {
	code int
	is   func(error) bool
}{
	{exitLimit, as[*memory.Exceeded]},
	{exitInterrupted, is(context.Canceled)},
	{exitInterrupted, is(autotune.ErrInterrupted)},
	{exitLimit, is(autotune.ErrLimit)},
	{exitLimit, as[*limitError]},
	{exitLost, is(executor.ErrLost)},
	{exitLost, is(executor.ErrUnavailable)},
	{exitLimit, is(executor.ErrTimeout)}, // of run, after the sizes that were done
	{exitWrong, isWrongProgram},
	{exitWrong, as[*wrongError]},
	{exitWrong, isWrongMeasured},
	{exitNothing, as[*autotune.UnansweredError]},
	{exitNothing, as[*nothingError]},
	{exitNothing, as[*search.NothingFound]},
	{exitNothing, is(export.ErrNothingFits)},
	{exitFailed, is(syscall.EIO)}, // of a file that is there, and broken
	{exitUsage, as[*usageError]},
	{exitUsage, is(executor.ErrNotFound)},
	{exitUsage, is(executor.ErrUnsupported)},
	{exitUsage, as[*constraints.UnavailableError]},
	{exitUsage, as[*search.UnknownFamily]},
	{exitUsage, as[*search.SameName]},
	{exitUsage, as[*search.ParameterError]},
	{exitUsage, as[*templates.LargeGridError]},
	{exitUsage, as[*script.Error]},
	{exitUsage, as[*lang.Error]},
	{exitUsage, as[*results.OtherPlanError]},
	{exitUsage, as[*results.LineError]},
	{exitUsage, as[*msccl.FolderError]},
	{exitUsage, as[*results.ProgramError]},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// wrongProgram: a template's program computes something else than its collective.
func isWrongProgram(err error) bool {
	var at *lang.Error
	return errors.As(err, &at) && at.Wrong
}

// wrongMeasured: at some size of a search, everything measured was wrong.
func isWrongMeasured(err error) bool {
	var none *autotune.UnansweredError
	return errors.As(err, &none) && none.Wrong()
}

// exitCode is the exit code of a command that ended with err.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	for _, row := range exitCodes {
		if row.is(err) {
			return row.code
		}
	}
	return exitFailed
}

// usageError is a mistake in what the user wrote: a flag, a name, a file.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// wrongError is a program or a measurement that failed verification. What is wrong
// has been printed already; with quiet, nothing is added to it.
type wrongError struct{ error }

func (e *wrongError) Unwrap() error { return e.error }

// nothingError says that what was searched for does not exist.
type nothingError struct{ error }

func (e *nothingError) Unwrap() error { return e.error }

// limitError says that a limit was reached before there was an answer.
type limitError struct{ error }

func (e *limitError) Unwrap() error { return e.error }

// withInterrupts makes a context that ends with the first Ctrl-C, SIGTERM or
// SIGHUP, so that the command saves what it has and returns. The next one ends the
// process at once, with everything it has started. Under nohup SIGHUP is ignored,
// and remains so.
func withInterrupts(stderr io.Writer) (context.Context, func()) {
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
		if secondInterrupt(signals, done, time.Now) {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// repeatWindow is how long after an interrupt another one still counts as the
// same. timeout sends its signal to the command and then to its group; when a
// terminal is closed, the shell and the system both send one.
const repeatWindow = 500 * time.Millisecond

// secondInterrupt waits for an interrupt that is not the first one sent twice. It is false
// if the command is done before one comes.
func secondInterrupt(signals <-chan os.Signal, done <-chan struct{}, now func() time.Time) bool {
	for first := now(); ; {
		select {
		case <-signals:
			if now().Sub(first) >= repeatWindow {
				return true
			}
		case <-done:
			return false
		}
	}
}

// abandonable calls f, but gives up with the context's error as soon as the context
// ends. What f still computes then ends with the process.
func abandonable[T any](ctx context.Context, f func() (T, error)) (T, error) {
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

// abandonableRun is for a command that has nothing to save: an interrupt ends it, whatever
// it is computing.
func abandonableRun(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		_, err := abandonable(cmd.Context(), func() (struct{}, error) { return struct{}{}, run(cmd, args) })
		return err
	}
}
