package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
)

// minMemory is the least limit that commands can keep: Go and its solvers need some.
const minMemory = 256 << 20

// memoryFlag adds --memory to all commands.
func memoryFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&size{}, "memory", "the most memory that the command may use, with the executors and solvers it starts (default: three quarters of the machine's)")
}

// memoryLimit is what a command may use, in bytes.
func memoryLimit(cmd *cobra.Command) int64 {
	if f := cmd.Flags().Lookup("memory"); f != nil && f.Changed { // there is none without the root
		return sizeOf(cmd, "memory")
	}
	return max(memory.Default(), minMemory)
}

// limitMemory ends the command's context, with the reason as its cause, when it and
// what it has started use more memory than they may. If it goes on taking memory, or
// does not end soon, the process ends, and all that it has started with it.
func limitMemory(cmd *cobra.Command) error {
	limit := memoryLimit(cmd)
	if limit < minMemory {
		return usagef("--memory %v: want at least %v", units.Bytes(limit), units.Bytes(minMemory))
	}
	whole := cmd.Context()
	ctx, cancel := context.WithCancelCause(whole)
	stop := memory.Guard(limit, func(e *memory.Exceeded) { cancel(e) }, func(e *memory.Exceeded) {
		if whole.Err() == nil { // it is not about to end
			fmt.Fprintf(os.Stderr, "colltune: %v; what was measured is kept\n", e)
			os.Exit(exitLimit)
		}
	})
	context.AfterFunc(whole, stop)
	cmd.SetContext(ctx)
	return nil
}

// endError is the error of a command whose context has ended: why it did, where memory is
// the reason; otherwise it was interrupted.
func endError(ctx context.Context, interrupted error) error {
	var over *memory.Exceeded
	if errors.As(context.Cause(ctx), &over) {
		return over
	}
	return interrupted
}

// solverMemory is what each solver of a command may use, in bytes.
func solverMemory(cmd *cobra.Command) int64 { return search.SolverMemory(memoryLimit(cmd)) }

// keepMemoryLimit has a campaign refuse what it refused when it was begun, whatever this
// command may use, and says so.
func (a *searchRequest) keepMemoryLimit(cmd *cobra.Command, c *results.Campaign) {
	a.options.Memory = c.Plan().Memory
	if limit := memoryLimit(cmd); a.options.Memory != 0 && a.options.Memory != limit {
		fmt.Fprintf(cmd.ErrOrStderr(), "the campaign was begun with a memory limit of %v, and refuses what that refused; this command may use %v\n", units.Bytes(a.options.Memory), units.Bytes(limit))
	}
}
