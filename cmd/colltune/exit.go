package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/templates"
)

// How a command ends: exit codes, the errors that select them, and interrupts.

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFailed      = 1   // I/O, internal; unwritable, locked
	exitUsage       = 2   // usage, unknown or missing name or file, or input that can't be parsed
	exitNothing     = 3   // proved infeasible, or nothing found
	exitLimit       = 4   // a limit that was not asked for, or one before any result: what there is is kept, resumable
	exitWrong       = 5   // a program or a measurement failed verification
	exitLost        = 6   // the executor was lost after retries, or is not available here
	exitInterrupted = 130 // interrupted, saved
)

// exitCodes maps errors to exit codes. The first row that matches counts; an
// error that matches none is exitFailed.
var exitCodes = []struct {
	code    int
	matches func(error) bool
}{
	{exitLimit, as[*memory.Exceeded]},
	{exitInterrupted, is(context.Canceled)},
	{exitInterrupted, is(autotune.ErrInterrupted)},
	{exitLimit, is(autotune.ErrLimit)},
	{exitLimit, as[*limitError]},
	{exitLost, is(executor.ErrLost)},
	{exitLost, is(executor.ErrUnavailable)},
	{exitLimit, is(executor.ErrTimeout)}, // of run, which has printed the sizes before
	{exitWrong, isWrongProgram},
	{exitWrong, as[*wrongError]},
	{exitWrong, isWrongMeasured},
	{exitWrong, as[*calibrate.WrongProgram]},
	{exitNothing, as[*calibrate.NoProgram]},
	{exitNothing, as[*autotune.UnansweredError]},
	{exitNothing, as[*nothingError]},
	{exitNothing, as[*search.NothingFound]},
	{exitNothing, is(export.ErrNothingFits)},
	{exitFailed, is(syscall.EIO)}, // the file exists, but cannot be read
	{exitUsage, as[*usageError]},
	{exitUsage, is(executor.ErrNotFound)},
	{exitUsage, is(executor.ErrSettings)},
	{exitUsage, is(executor.ErrUnsupported)},
	{exitUsage, as[*solver.UnavailableError]},
	{exitUsage, as[*search.UnknownFamily]},
	{exitUsage, as[*search.SameName]},
	{exitUsage, as[*search.StrategyError]},
	{exitUsage, as[*search.ParameterError]},
	{exitUsage, as[*templates.LargeGridError]},
	{exitUsage, as[*script.Error]},
	{exitUsage, as[*lang.Error]},
	{exitUsage, as[*results.OtherPlanError]},
	{exitUsage, as[*results.MapError]},
	{exitUsage, as[*results.LineError]},
	{exitUsage, as[*msccl.FolderError]},
	{exitUsage, as[*results.ProgramError]},
}

// is returns a predicate for errors that wrap target.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// as reports whether err wraps an error of type E.
func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isWrongProgram reports whether a template's program computes something other
// than its collective.
func isWrongProgram(err error) bool {
	var at *lang.Error
	return errors.As(err, &at) && at.Wrong
}

// isWrongMeasured reports whether a search has only wrong results at some size.
func isWrongMeasured(err error) bool {
	var none *autotune.UnansweredError
	return errors.As(err, &none) && none.Wrong()
}

// exitCode returns the exit code of a command that ended with err.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	for _, row := range exitCodes {
		if row.matches(err) {
			return row.code
		}
	}
	return exitFailed
}

// usageError is a mistake in what the user wrote: a flag, a name, a file.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usage makes err a usageError; nil stays nil.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// wrongError is a program or a measurement that failed verification.
type wrongError struct{ error }

func (e *wrongError) Unwrap() error { return e.error }

// nothingError means that what was asked for does not exist or was not found.
type nothingError struct{ error }

func (e *nothingError) Unwrap() error { return e.error }

// limitError means that a limit was reached before there was an answer.
type limitError struct{ error }

func (e *limitError) Unwrap() error { return e.error }

// withInterrupts returns a context that the first Ctrl-C, SIGTERM or SIGHUP
// cancels, so that the command saves its results and returns. A second signal
// exits at once; children end with the process. A SIGHUP that nohup ignores
// stays ignored. The returned function releases the signals.
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
		fmt.Fprintln(stderr, "\ninterrupted; interrupt again to exit at once")
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

// repeatWindow is the time after an interrupt within which another one counts as
// the same. timeout signals the command and then its group; when a terminal
// closes, the shell and the kernel both send a signal.
const repeatWindow = 500 * time.Millisecond

// secondInterrupt waits for an interrupt after repeatWindow, and reports whether
// one came before the command was done.
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

// abandonable calls f, but returns the context's error as soon as the context
// ends. f then goes on in the background until the process ends.
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

// saving are the commands that save what they have when they are interrupted.
var saving = []string{"search", "resume", "export"}

// abandonTime is how long an interrupted command that saves nothing may take to remove
// its temporary files and end its children.
const abandonTime = 500 * time.Millisecond

// endAtInterrupt makes the commands below one that save nothing end when they are
// interrupted, whatever they do then. What they had begun goes on in the background
// until the process ends.
func endAtInterrupt(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		endAtInterrupt(c)
		run := c.RunE
		if run == nil || c.Parent() == c.Root() && slices.Contains(saving, c.Name()) {
			continue
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			late, stop := context.WithCancel(context.WithoutCancel(ctx))
			defer stop()
			defer context.AfterFunc(ctx, func() { time.AfterFunc(abandonTime, stop) })()
			_, err := abandonable(late, func() (struct{}, error) { return struct{}{}, run(cmd, args) })
			if err != nil && ctx.Err() != nil {
				return ctx.Err() // instead of the errors that the interrupt caused
			}
			return err
		}
	}
}
