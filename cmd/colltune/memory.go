package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/program"
)

// minMemory is the smallest --memory, in bytes: Go and the solvers need some.
const minMemory = 256 << 20

// memoryFlag adds --memory to all commands.
func memoryFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&size{}, "memory", "the most memory that the command may use, with the executors and solvers it starts (default: three quarters of the machine's)")
}

// memoryLimit returns the number of bytes that a command may use.
func memoryLimit(cmd *cobra.Command) int64 {
	if f := cmd.Flags().Lookup("memory"); f != nil && f.Changed { // tests run commands without the root
		return sizeOf(cmd, "memory")
	}
	return max(memory.Default(), minMemory)
}

// limitMemory cancels the command's context, with a memory.Exceeded as its cause,
// when the command and its children use more memory than the limit. If the command
// still takes memory or does not return soon, the process exits with all its
// children.
func limitMemory(cmd *cobra.Command) error {
	limit := memoryLimit(cmd)
	if limit < minMemory {
		return usagef("--memory %v: want at least %v", units.Bytes(limit), units.Bytes(minMemory))
	}
	whole := cmd.Context()
	ctx, cancel := context.WithCancelCause(whole)
	stop := memory.Guard(limit, func(e *memory.Exceeded) { cancel(e) }, func(e *memory.Exceeded) {
		if whole.Err() == nil { // otherwise the command is ending already
			fmt.Fprintf(os.Stderr, "colltune: %v; measurements so far are kept\n", e)
			os.Exit(exitLimit)
		}
	})
	context.AfterFunc(whole, stop)
	cmd.SetContext(ctx)
	return nil
}

// endError returns the error of a command whose context has ended: the exceeded
// memory limit if that was the cause, otherwise interrupted.
func endError(ctx context.Context, interrupted error) error {
	var over *memory.Exceeded
	if errors.As(context.Cause(ctx), &over) {
		return over
	}
	return interrupted
}

// solverMemory returns the number of bytes that each solver of a command may use.
func solverMemory(cmd *cobra.Command) int64 { return program.Memory(memoryLimit(cmd)).Solver() }
