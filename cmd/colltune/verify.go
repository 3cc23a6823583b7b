package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/programs"
)

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check programs: right result? deadlock? race? which runtimes run them?",
		Long: `verify executes programs step by step, without a GPU, and reports what is wrong with
them: a wrong result, a deadlock, a race. It also says which runtimes would load and
run each program, and why the others would not.

FILE is colltune's IR in JSON, MSCCL XML or an MSCCL++ execution plan, written by
any tool; - reads one from standard input. For a folder, as a runtime loads it, verify
also says which file serves a call that several files could. With -t, every transfer
needs a link.

  colltune verify ring.json
  colltune verify ring.json -t dgx-a100 -o json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactArgs("a FILE")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var linked func(a, b int) bool
			var ranks int
			if flagValue(cmd, "topology") != "" {
				t, err := topology(cmd)
				if err != nil {
					return err
				}
				linked, ranks = t.Linked, len(t.Ranks)
			}
			return verifyFiles(cmd, args, linked, ranks)
		},
	}
	topologyFlags(cmd)
	outputFlags(cmd)
	return cmd
}

// verifyFiles verifies files and the programs of folders, and prints the verdicts. linked
// and ranks are those of -t; without it, linked is nil.
func verifyFiles(cmd *cobra.Command, names []string, linked func(a, b int) bool, ranks int) error {
	ctx := cmd.Context()
	all := []programs.Verdict{}
	var folders []folderResult
	var unread, others []error
	var wrong []string
	check := func(name string, f *programFile, err error) {
		if err == nil && linked != nil && f.Ranks() != ranks {
			err = usagef("%s is for %d ranks, the topology has %d", name, f.Ranks(), ranks)
		}
		if errors.Is(err, programs.ErrOther) {
			others = append(others, err)
			return
		}
		if err != nil {
			unread = append(unread, err)
			return
		}
		v := f.Verify(linked)
		if !v.OK {
			wrong = append(wrong, name)
		}
		all = append(all, v)
	}
	for _, name := range names {
		if isFolder(name) {
			d, err := readFolder(cmd, name, check)
			if err != nil {
				return err
			}
			folders = append(folders, d)
		} else {
			f, err := readProgram(cmd, name)
			check(name, f, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(all) > 0 {
		if err := printVerified(cmd, all, folders); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		for _, other := range others { // in a folder, such as the ranges beside its programs
			fmt.Fprintln(cmd.ErrOrStderr(), "left out:", other)
		}
	} else {
		unread = append(unread, others...)
	}
	switch {
	case len(unread) > 0:
		return usage(errors.Join(unread...))
	case len(wrong) > 0:
		return &wrongError{fmt.Errorf("wrong: %s", strings.Join(wrong, ", "))}
	}
	return nil
}

// printVerified prints verdicts in the format of -o; as a table, with findings and
// refusals below it.
func printVerified(cmd *cobra.Command, all []programs.Verdict, folders []folderResult) error {
	s := sheet{columns: []column{text("file"), text("format").InWide(), text("ok"), text("collective").OnceAbove(), number("ranks").OnceAbove(), text("protocol"), number("channels").InWide(), number("threadblocks"), number("steps").InWide(), number("findings").InWide(), text("accepted by")}}
	for _, v := range all {
		var by []string
		for _, name := range programs.Runtimes() {
			if v.OK && v.Runtimes[name].Accepts { // whatever loads a wrong program
				by = append(by, name)
			}
		}
		s.add(v.File, v.Format, yesNo(v.OK), v.Collective, strconv.Itoa(v.Ranks), v.Protocol, strconv.Itoa(v.Channels), strconv.Itoa(v.Threadblocks), strconv.Itoa(v.Steps), strconv.Itoa(len(v.Findings)), strings.Join(by, " "))
	}
	if flagValue(cmd, "format") != "table" {
		return printResult(cmd, "verify", struct {
			Files   []programs.Verdict `json:"files"`
			Folders []folderResult     `json:"folders,omitempty"`
		}{all, folders}, s)
	}
	return writeOut(cmd, func(w io.Writer) error {
		l := lookOf(cmd)
		if err := s.writeTable(w, l); err != nil {
			return err
		}
		var lines []string
		for _, v := range all {
			for _, f := range v.Findings {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", v.File, f.Severity, f))
			}
			for _, name := range programs.Runtimes() {
				// Leave out that a runtime does not load the other's format.
				if (name == mscclpp.Name) != (v.Format == "mscclpp-json") {
					continue
				}
				for _, why := range v.Runtimes[name].Why {
					lines = append(lines, fmt.Sprintf("%s: refused by %s: %s", v.File, name, why))
				}
			}
		}
		for _, d := range folders {
			for _, f := range d.Findings {
				lines = append(lines, fmt.Sprintf("%s: %s: %s", d.Name, f.Severity, f))
			}
		}
		return writeLines(w, l.width(), lines)
	})
}
