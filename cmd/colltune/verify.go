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
	"github.com/colltune/colltune/compiler/verify"
)

func verifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check programs, whoever wrote them: right result? deadlock? race? who runs them?",
		Long: `verify executes programs step by step and reports what is wrong with them: a
result that is not the collective's, a deadlock, a race; and for each runtime
whether it would load and run the program, and if not, why.

FILE is colltune's IR in JSON, or MSCCL XML. With -t, transfers must also follow
links that exist.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactly("a FILE")(cmd, args)
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
	topologyFlags(cmd, false)
	outputFlags(cmd)
	return cmd
}

// verified is what was found out about a file.
type verified struct {
	File         string                      `json:"file"`
	Format       string                      `json:"format"`
	OK           bool                        `json:"ok"`
	Collective   string                      `json:"collective"`
	Ranks        int                         `json:"ranks"`
	Protocol     string                      `json:"protocol,omitempty"`
	Channels     int                         `json:"channels"`
	Threadblocks int                         `json:"threadblocks_max"`
	Steps        int                         `json:"steps_max"`
	Instructions map[string]int              `json:"instructions"`
	Slots        int                         `json:"slots_needed"`
	Findings     []verify.Finding            `json:"findings"`
	Runtimes     map[string]msccl.Acceptance `json:"runtimes"`
}

func verifyFiles(cmd *cobra.Command, names []string, linked func(a, b int) bool, ranks int) error {
	all := []verified{}
	var unread []error
	var wrong []string
	for _, name := range names {
		f, err := readProgram(name)
		if err == nil && linked != nil && f.program.Ranks() != ranks {
			err = usagef("%s is for %d ranks, the topology has %d", name, f.program.Ranks(), ranks)
		}
		if err != nil {
			unread = append(unread, err)
			continue
		}
		v := verifyFile(f, linked)
		if !v.OK {
			wrong = append(wrong, name)
		}
		all = append(all, v)
	}
	if len(all) > 0 {
		if err := printVerified(cmd, all); err != nil {
			return err
		}
	}
	switch {
	case len(unread) > 0:
		return usage(errors.Join(unread...))
	case len(wrong) > 0:
		return &wrongError{fmt.Errorf("wrong: %s", strings.Join(wrong, ", "))}
	}
	return nil
}

// verifyFile checks one program: one in a runtime's file as that file says, an
// IR with any number of slots.
func verifyFile(f *programFile, linked func(a, b int) bool) verified {
	o := verify.Options{Linked: linked}
	v := verified{File: f.name, Format: f.format, Protocol: f.protocol, Ranks: f.program.Ranks(), Collective: f.program.Collective.Name}
	var r *verify.Report
	if f.xml != nil {
		verdict := msccl.Verify(f.xml, o)
		r, v.Findings, v.Runtimes = verdict.Report, verdict.Findings, verdict.Runtimes
	} else {
		r = verify.Check(f.program, o)
		v.Findings, v.Runtimes = r.Findings, map[string]msccl.Acceptance{}
		for _, name := range msccl.Runtimes() {
			v.Runtimes[name] = acceptedBy(f.program, name)
		}
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

// acceptedBy asks a runtime about a program with each protocol in turn: an IR
// names none.
func acceptedBy(p *ir.Program, runtime string) msccl.Acceptance {
	var a msccl.Acceptance
	for _, proto := range msccl.Protocols {
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

func printVerified(cmd *cobra.Command, all []verified) error {
	s := sheet{columns: []column{text("file"), text("format"), text("ok"), text("collective"), number("ranks"), text("protocol"), number("channels"), number("threadblocks"), number("steps"), number("findings"), text("accepted by")}}
	for _, v := range all {
		var by []string
		for _, name := range runtimeNames() {
			if v.Runtimes[name].Accepts {
				by = append(by, name)
			}
		}
		s.add(v.File, v.Format, yes(v.OK), v.Collective, strconv.Itoa(v.Ranks), v.Protocol, strconv.Itoa(v.Channels), strconv.Itoa(v.Threadblocks), strconv.Itoa(v.Steps), strconv.Itoa(len(v.Findings)), strings.Join(by, " "))
	}
	if flagValue(cmd, "format") != "table" {
		return emit(cmd, "verify", struct {
			Files []verified `json:"files"`
		}{all}, s)
	}
	return deliver(cmd, func(w io.Writer) error {
		if err := s.writeTable(w); err != nil {
			return err
		}
		for _, v := range all {
			for _, f := range v.Findings {
				fmt.Fprintf(w, "%s: %s: %s\n", v.File, f.Severity, f)
			}
			for _, name := range runtimeNames() {
				for _, why := range v.Runtimes[name].Why {
					fmt.Fprintf(w, "%s: refused by %s: %s\n", v.File, name, why)
				}
			}
		}
		return nil
	})
}
