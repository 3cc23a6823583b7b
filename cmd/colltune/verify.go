package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
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

// verifyResult is the verdict on one file, in JSON.
type verifyResult struct {
	File         string                      `json:"file"`
	Format       string                      `json:"format"`
	OK           bool                        `json:"ok"`
	Collective   string                      `json:"collective"`
	Ranks        int                         `json:"ranks"`
	Protocol     string                      `json:"protocol"` // empty if the file names none
	Channels     int                         `json:"channels"`
	Threadblocks int                         `json:"threadblocks_max"`
	Steps        int                         `json:"steps_max"`
	Instructions map[string]int              `json:"instructions"`
	Slots        int                         `json:"slots_needed"`
	Findings     []verify.Finding            `json:"findings"`
	Runtimes     map[string]msccl.Acceptance `json:"runtimes"`
}

// verifyFiles verifies files and the programs of folders, and prints the verdicts. linked
// and ranks are those of -t; without it, linked is nil.
func verifyFiles(cmd *cobra.Command, names []string, linked func(a, b int) bool, ranks int) error {
	ctx := cmd.Context()
	all := []verifyResult{}
	var folders []folderResult
	var unread, others []error
	var wrong []string
	check := func(name string, f *programFile, err error) {
		if err == nil && linked != nil && f.ranks() != ranks {
			err = usagef("%s is for %d ranks, the topology has %d", name, f.ranks(), ranks)
		}
		if errors.Is(err, errNotProgram) {
			others = append(others, err)
			return
		}
		if err != nil {
			unread = append(unread, err)
			return
		}
		v := verifyFile(f, linked)
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

// ranks returns the number of ranks of a program.
func (f *programFile) ranks() int {
	if f.plan != nil {
		return len(f.plan.GPUs)
	}
	return f.program.Ranks()
}

// verifyFile verifies one program for the protocol that it names. An IR that names none is
// checked with any number of FIFO slots.
func verifyFile(f *programFile, linked func(a, b int) bool) verifyResult {
	o := verify.Options{Linked: linked}
	v := verifyResult{File: f.name, Format: f.format, Protocol: f.protocol, Ranks: f.ranks(), Runtimes: map[string]msccl.Acceptance{}}
	var r *verify.Report
	switch {
	case f.plan != nil:
		verdict := mscclpp.Verify(f.plan, o)
		r, v.Collective, v.Findings = verdict.Report, f.plan.Collective, verdict.Report.Findings
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Accepts: verdict.Accepts, Why: verdict.Why}
		for _, name := range msccl.Runtimes() {
			v.Runtimes[name] = msccl.Acceptance{Why: []string{"it loads MSCCL XML, and this is an MSCCL++ execution plan"}}
		}
	case f.xml != nil:
		verdict := msccl.Verify(f.xml, o)
		r, v.Collective, v.Findings, v.Runtimes = verdict.Report, f.xml.Computes(), verdict.Findings, verdict.Runtimes
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Why: mscclpp.Lacks(f.program, "MSCCL XML", f.protocol)}
	default:
		protocols := ir.Protocols
		if f.protocol != "" {
			protocols, o.Slots = []string{f.protocol}, msccl.Slots(f.protocol)
		}
		r = verify.Check(f.program, o)
		v.Collective, v.Findings = f.program.Collective.Name, r.Findings
		if n, simple := max(r.SlotsNeeded, r.SlotsNeededSplit), msccl.Slots("Simple"); n > simple {
			v.Findings = append(v.Findings, verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1,
				Message: fmt.Sprintf("needs %d slots a connection, %d where each step is one call: Simple has %d, LL and LL128 have %d", n, r.SlotsNeeded, simple, msccl.Slots("LL"))})
		}
		for _, name := range msccl.Runtimes() {
			v.Runtimes[name] = acceptedBy(f.program, name, protocols)
		}
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Why: mscclpp.Lacks(f.program, "an IR", f.protocol)}
	}
	v.OK, v.Channels, v.Threadblocks, v.Steps = r.OK(), r.Channels, r.ThreadblocksMax, r.StepsMax
	v.Instructions, v.Slots = r.Instructions, r.SlotsNeeded
	if v.Findings == nil {
		v.Findings = []verify.Finding{}
	}
	for name, a := range v.Runtimes {
		if a.Why == nil {
			a.Why = []string{}
			v.Runtimes[name] = a
		}
	}
	return v
}

// verdictRuntimes returns the runtimes whose verdicts are printed.
func verdictRuntimes() []string { return append(msccl.Runtimes(), mscclpp.Name) }

// acceptedBy returns whether a runtime accepts an IR with any of some protocols, and
// otherwise why not.
func acceptedBy(p *ir.Program, runtime string, protocols []string) msccl.Acceptance {
	var a msccl.Acceptance
	for _, proto := range protocols {
		ok, why := msccl.Accepts(p, runtime, proto)
		if ok {
			return msccl.Acceptance{Accepts: true}
		}
		for _, w := range why {
			if !slices.Contains(a.Why, w) {
				a.Why = append(a.Why, w)
			}
		}
	}
	return a
}

// printVerified prints verdicts in the format of -o; as a table, with findings and
// refusals below it.
func printVerified(cmd *cobra.Command, all []verifyResult, folders []folderResult) error {
	s := sheet{columns: []column{text("file"), text("format"), text("ok"), text("collective"), number("ranks"), text("protocol"), number("channels"), number("threadblocks"), number("steps"), number("findings"), text("accepted by")}}
	for _, v := range all {
		var by []string
		for _, name := range verdictRuntimes() {
			if v.OK && v.Runtimes[name].Accepts { // whatever loads a wrong program
				by = append(by, name)
			}
		}
		s.add(v.File, v.Format, yesNo(v.OK), v.Collective, strconv.Itoa(v.Ranks), v.Protocol, strconv.Itoa(v.Channels), strconv.Itoa(v.Threadblocks), strconv.Itoa(v.Steps), strconv.Itoa(len(v.Findings)), strings.Join(by, " "))
	}
	if flagValue(cmd, "format") != "table" {
		return printResult(cmd, "verify", struct {
			Files   []verifyResult `json:"files"`
			Folders []folderResult `json:"folders,omitempty"`
		}{all, folders}, s)
	}
	return writeOut(cmd, func(w io.Writer) error {
		if err := s.writeTable(w); err != nil {
			return err
		}
		for _, v := range all {
			for _, f := range v.Findings {
				fmt.Fprintf(w, "%s: %s: %s\n", v.File, f.Severity, f)
			}
			for _, name := range verdictRuntimes() {
				// Leave out that a runtime does not load the other's format.
				if (name == mscclpp.Name) != (v.Format == "mscclpp-json") {
					continue
				}
				for _, why := range v.Runtimes[name].Why {
					fmt.Fprintf(w, "%s: refused by %s: %s\n", v.File, name, why)
				}
			}
		}
		for _, d := range folders {
			for _, f := range d.Findings {
				fmt.Fprintf(w, "%s: %s: %s\n", d.Name, f.Severity, f)
			}
		}
		return nil
	})
}
