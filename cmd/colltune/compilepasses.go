package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/topologies"
)

// dumpSuffix marks a PROGRAM that is a dump of an earlier compilation.
const dumpSuffix = ".dump"

// maxDump is how many bytes of a dump are read.
const maxDump = 1 << 30

// passFlags are those that reach between the compiler's passes.
func passFlags(cmd *cobra.Command) {
	choiceFlag(cmd, "dump-after", "", "", append(passNames(), "all"), "print the program after this pass; the result then goes to --out only; a "+dumpSuffix+" file of it can be compiled")
	choiceFlag(cmd, "dot", "", "", compiler.Graphs(), "print this graph for Graphviz; the result then goes to --out only")
	cmd.Flags().StringSlice("disable-pass", nil, "leave out this optional pass `NAME,…`")
	cmd.Flags().Bool("blocked", false, "give each of --instances a block of the buffers of its own, not a part of every chunk")
	cmd.Flags().Bool("time-passes", false, "say on standard error how long each pass took")
}

func passNames() []string {
	var names []string
	for _, p := range compiler.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// lastPass is an example of a pass.
func lastPass() string {
	names := passNames()
	return names[len(names)-1]
}

// dumps are the texts that passes left, as --dump-after or --dot ask for.
type dumps struct {
	graph bool
	texts []string
	all   bool
}

// passOptions reads passFlags, and the limits of the runtime written for; dumps is nil where the result is wanted.
func passOptions(cmd *cobra.Command, o *compiler.Options) (*dumps, error) {
	o.Disable, _ = cmd.Flags().GetStringSlice("disable-pass")
	for _, p := range o.Disable {
		if !slices.Contains(passNames(), p) {
			return nil, usagef("--disable-pass %q%s: want some of %s", p, script.DidYouMean(p, passNames()), strings.Join(passNames(), ", "))
		}
	}
	if flagValue(cmd, "to") == "msccl-xml" {
		rt, err := msccl.Lookup(flagValue(cmd, "runtime"))
		if err != nil {
			return nil, usage(err)
		}
		o.Limits, o.MaxChannels, o.MaxThreadblocks = rt.Limits(), rt.MaxChannels, rt.MaxThreadblocks
	}
	o.Blocked, _ = cmd.Flags().GetBool("blocked")
	o.DumpAfter = flagValue(cmd, "dump-after")
	d := &dumps{all: o.DumpAfter == "all"}
	if graph := flagValue(cmd, "dot"); graph != "" {
		if o.DumpAfter != "" {
			return nil, usagef("--dot and --dump-after: want one of them")
		}
		var err error
		if o.DumpAfter, err = compiler.GraphPass(graph); err != nil {
			return nil, usage(err)
		}
		d.graph = true
	}
	if o.DumpAfter == "" {
		return nil, nil
	}
	o.Dump = func(pass, text string) {
		if !d.all {
			d.texts = d.texts[:0] // of a pass that runs again, the last counts
		}
		d.texts = append(d.texts, fmt.Sprintf("# after %s\n%s\n", pass, strings.TrimRight(text, "\n")))
	}
	return d, nil
}

// write writes the dumps, or the graph.
func (d *dumps) write(w io.Writer) error {
	if !d.graph {
		_, err := io.WriteString(w, strings.Join(d.texts, ""))
		return err
	}
	dump, err := compiler.ParseDump(d.texts[0])
	if err != nil {
		return err
	}
	return dump.DOT(w)
}

// timePasses says how long each pass took, if asked.
func timePasses(cmd *cobra.Command, times []compiler.PassTime) {
	if timed, _ := cmd.Flags().GetBool("time-passes"); timed {
		for _, p := range times {
			fmt.Fprintf(cmd.ErrOrStderr(), "%12s  %s\n", p.Elapsed, p.Name)
		}
	}
}

// compileDump goes on from a dump.
func compileDump(cmd *cobra.Command, t *topologies.Topology, name string) error {
	for _, own := range []string{"collective", "counts", "param", "root", "placement", "instances", "blocked"} {
		if typed(cmd, own) {
			return usagef("--%s: a dump has its own", own)
		}
	}
	text, err := readFile(cmd.Context(), name, maxDump)
	if err != nil {
		return err
	}
	d, err := compiler.ParseDump(string(text))
	if err != nil {
		return usagef("%s: %w", name, err)
	}
	return compiled(cmd, t, name, name, compiler.Options{}, d.Compile)
}
