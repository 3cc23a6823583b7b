package main

import (
	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
)

// elementFlags adds the flags of what a collective computes with.
func elementFlags(cmd *cobra.Command) {
	choiceFlag(cmd, "dtype", "", "f32", collective.DTypes(), "element type (nccl-tests' names work too)")
	cmd.Flags().Lookup("dtype").Value.(*choice).also = dtypesElsewhere()
	choiceFlag(cmd, "op", "", "sum", data.Operations(), "reduction")
}

// trialFlags adds the flags of a measurement.
func trialFlags(cmd *cobra.Command) {
	cmd.Flags().IntP("iters", "n", 20, "timed iterations of a trial")
	cmd.Flags().IntP("warmup-iters", "w", 5, "untimed warm-up iterations of a trial")
	cmd.Flags().Int64("seed", 1, "seed of everything random")
}

// dtypesElsewhere maps nccl-tests' and NumPy's names of element types to ours.
func dtypesElsewhere() map[string]string {
	also := map[string]string{}
	for _, name := range collective.DTypes() {
		also[collective.NCCLTests.OfDType(name)], also[collective.NumPy.OfDType(name)] = name, name
	}
	return also
}

// trialOf reads the flags of elementFlags and trialFlags: a trial without program and size.
func trialOf(cmd *cobra.Command) (executor.Trial, error) {
	t := executor.Trial{DType: flagValue(cmd, "dtype"), Op: flagValue(cmd, "op")}
	t.Iters, _ = cmd.Flags().GetInt("iters")
	t.Warmup, _ = cmd.Flags().GetInt("warmup-iters")
	t.Seed, _ = cmd.Flags().GetInt64("seed")
	switch {
	case t.Iters < 1 || t.Iters > 1_000_000:
		return t, usagef("--iters %d: want 1 to 1000000", t.Iters)
	case t.Warmup < 0 || t.Warmup > 1_000_000:
		return t, usagef("--warmup-iters %d: want 0 to 1000000", t.Warmup)
	}
	return t, nil
}

// checkTileBytes refuses a tile that is smaller than an element.
func checkTileBytes(tile int64, dtype string) error {
	elem, err := collective.ElemBytes(dtype)
	if err != nil {
		return usage(err)
	}
	if tile > 0 && tile < elem {
		return usagef("--tile-bytes %d: want at least the %d bytes of an element (%s)", tile, elem, dtype)
	}
	return nil
}

// checkOp refuses a typed --op for a collective that does not reduce.
func checkOp(cmd *cobra.Command, c collective.Collective) error {
	if op := flagValue(cmd, "op"); typed(cmd, "op") && op != "sum" && !c.Reduces() {
		return usagef("--op %s: %s reduces nothing", op, c.Name)
	}
	return nil
}
