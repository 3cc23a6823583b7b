package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/topologies"
)

// passFlags adds the flags that print or skip passes of the compiler.
func passFlags(cmd *cobra.Command) {
	choiceFlag(cmd, "dump-after", "", "", append(passNames(), "all"), "print the program as this pass leaves it; the result then goes to --out only")
	cmd.Flags().StringSlice("disable-pass", nil, "skip the optional passes `NAMES`, separated by commas")
	_ = cmd.RegisterFlagCompletionFunc("disable-pass", completeList(optionalPasses))
	cmd.Flags().Int("slots", 0, "FIFO slots of a connection that the program may rely on (default: the fewest that a protocol of the system has, at most 2)")
	cmd.Flags().Bool("time-passes", false, "print how long each pass took, to standard error")
}

// passNames returns the names of all passes, in order.
func passNames() []string {
	return lists.Map(compiler.Passes(), func(p compiler.Pass) string { return p.Name })
}

// optionalPasses returns the names of the passes that can be skipped.
func optionalPasses() []string {
	var names []string
	for _, p := range compiler.Passes() {
		if !p.Required {
			names = append(names, p.Name)
		}
	}
	return names
}

// dumps collects the output of --dump-after.
type dumps struct {
	texts []string
	all   bool
}

// passOptions sets o from the flags of passFlags, and from the limits of the runtime
// that --runtime names. dumps is nil unless --dump-after is set.
func passOptions(cmd *cobra.Command, o *compiler.Options) (*dumps, error) {
	o.Disable, _ = cmd.Flags().GetStringSlice("disable-pass")
	optional := optionalPasses()
	for _, p := range o.Disable {
		switch {
		case slices.Contains(optional, p):
		case slices.Contains(passNames(), p):
			return nil, usagef("--disable-pass: pass %q is required: want some of %s", p, strings.Join(optional, ", "))
		default:
			return nil, usagef("--disable-pass %q%s: want some of %s", p, suggest.DidYouMean(p, optional), strings.Join(optional, ", "))
		}
	}
	if flagValue(cmd, "to") == "msccl-xml" {
		rt, err := msccl.Lookup(flagValue(cmd, "runtime"))
		if err != nil {
			return nil, usage(err)
		}
		o.Limits, o.MaxChannels, o.MaxThreadblocks = rt.Limits(), rt.MaxChannels, rt.MaxThreadblocks
	}
	o.DumpAfter = flagValue(cmd, "dump-after")
	if o.DumpAfter == "" {
		return nil, nil
	}
	d := &dumps{all: o.DumpAfter == "all"}
	o.Dump = func(pass, text string) {
		if !d.all {
			d.texts = d.texts[:0] // keep only the last run of a pass
		}
		d.texts = append(d.texts, fmt.Sprintf("# after %s\n%s\n", pass, strings.TrimRight(text, "\n")))
	}
	return d, nil
}

// slotsOf returns the number of FIFO slots of a connection that the program may rely
// on: --slots, otherwise as in a search the fewest that a protocol of the system has,
// at most the compiler's default.
func slotsOf(cmd *cobra.Command, t *topologies.Topology) (int, error) {
	if typed(cmd, "slots") {
		n, _ := cmd.Flags().GetInt("slots")
		if n < 1 {
			return 0, usagef("--slots %d: want at least 1", n)
		}
		return n, nil
	}
	fewest := compiler.DefaultSlots
	for _, p := range t.HasProtocols() {
		fewest = min(fewest, t.Protocols[p].Slots)
	}
	return fewest, nil
}

// slotsToVerify returns the number of slots to verify the program with; 0 (any number)
// if the pass slots is skipped.
func slotsToVerify(o compiler.Options) int {
	if slices.Contains(o.Disable, "slots") {
		return 0
	}
	return o.Slots
}

func (d *dumps) write(w io.Writer) error {
	_, err := io.WriteString(w, strings.Join(d.texts, ""))
	return err
}

// printPassTimes prints the time of each pass, with --time-passes.
func printPassTimes(cmd *cobra.Command, times []compiler.PassTime) {
	if timed, _ := cmd.Flags().GetBool("time-passes"); timed {
		for _, p := range times {
			fmt.Fprintf(cmd.ErrOrStderr(), "%12s  %s\n", p.Elapsed, p.Name)
		}
	}
}
