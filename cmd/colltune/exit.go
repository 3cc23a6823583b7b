package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/templates"
)

// Exit codes, as scripts see them.
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

// exits says which error ends the command how; the first row that matches
// counts, and any other error is exitFailed.
var exits = []struct {
	code int
	is   func(error) bool
}{
	{exitInterrupted, is(context.Canceled)},
	{exitInterrupted, is(autotune.ErrInterrupted)},
	{exitLimit, is(autotune.ErrLimit)},
	{exitLimit, as[*limitError]},
	{exitLost, is(executor.ErrLost)},
	{exitLost, is(executor.ErrUnavailable)},
	{exitWrong, wrongProgram},
	{exitWrong, as[*wrongError]},
	{exitWrong, wrongMeasured},
	{exitNothing, as[*autotune.UnansweredError]},
	{exitNothing, as[*nothingError]},
	{exitNothing, as[*search.NothingFound]},
	{exitNothing, is(results.ErrNothingFits)},
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
	{exitUsage, as[*results.JournalError]},
	{exitUsage, as[*results.ProgramError]},
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// wrongProgram is a template whose program computes something else than its
// collective.
func wrongProgram(err error) bool {
	var at *lang.Error
	return errors.As(err, &at) && at.Wrong
}

// wrongMeasured is a search in which what was measured at some size is wrong, and
// nothing else is there.
func wrongMeasured(err error) bool {
	var none *autotune.UnansweredError
	return errors.As(err, &none) && none.Wrong()
}

// exitCode is how a command that ended with err ends.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	for _, row := range exits {
		if row.is(err) {
			return row.code
		}
	}
	return exitFailed
}

// usageError is something wrong with what the user wrote: a flag, a name, a
// file.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usage(err error) error {
	if err == nil {
		return nil
	}
	return &usageError{err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// wrongError is a program or a measurement that is not right. What is wrong
// has been printed; quiet says that nothing is to be added.
type wrongError struct{ error }

func (e *wrongError) Unwrap() error { return e.error }

// nothingError is a search whose answer is that there is none.
type nothingError struct{ error }

func (e *nothingError) Unwrap() error { return e.error }
