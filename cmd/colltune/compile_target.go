package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// target is a file format that compile writes.
type target struct {
	name  string   // the value of --to
	what  string   // its name in errors
	flags []string // the flags of targetFlags that it uses
	// convert checks and converts a verified program, and returns a function that
	// writes the result.
	convert func(*cobra.Command, *topologies.Topology, *ir.Program) (func(io.Writer) error, error)
}

// targets are the file formats, the default first.
var targets = []target{
	{"ir", "the program as colltune's own JSON", nil, convertIR},
	{"msccl-xml", "MSCCL XML", []string{"runtime", "protocol", "min-bytes", "max-bytes"}, convertXML},
	{"mscclpp-json", "execution plans of MSCCL++", []string{"protocol", "min-bytes", "max-bytes", "tile-bytes"}, convertPlan},
}

// targetFlags adds --to, and the flags that only some targets use.
func targetFlags(cmd *cobra.Command) {
	var names []string
	for _, f := range targets {
		names = append(names, f.name)
	}
	choiceFlag(cmd, "to", "", targets[0].name, names, "what to write")
	choiceFlag(cmd, "runtime", "", "msccl", msccl.Runtimes(), "the runtime whose dialect of MSCCL XML to write")
	choiceFlag(cmd, "protocol", "", "", topologies.ProtocolNames(), "wire protocol of the MSCCL XML or MSCCL++ plan (default: the program's own, else Simple)")
	cmd.Flags().VarP(&size{}, "min-bytes", "b", "smallest message size for which a runtime is to use the file")
	cmd.Flags().VarP(&size{}, "max-bytes", "e", "largest message size for which a runtime is to use the file (default: no limit)")
	cmd.Flags().Var(&size{}, "tile-bytes", "pipeline an MSCCL++ plan's steps over parts of a chunk of this size (default: whole chunks)")
}

// targetOf returns the target that --to names.
func targetOf(cmd *cobra.Command) target {
	name := flagValue(cmd, "to")
	return targets[slices.IndexFunc(targets, func(f target) bool { return f.name == name })]
}

// checkTargetFlags refuses typed flags that the target does not use.
func checkTargetFlags(cmd *cobra.Command) error {
	mine := targetOf(cmd)
	for _, f := range targets {
		for _, flag := range f.flags {
			if !typed(cmd, flag) || slices.Contains(mine.flags, flag) {
				continue
			}
			var have, to []string
			for _, g := range targets {
				if slices.Contains(g.flags, flag) {
					have, to = append(have, g.what), append(to, g.name)
				}
			}
			return usagef("--%s: only %s: want --to %s", flag, strings.Join(have, " and ")+[]string{" has it", " have it"}[min(len(have)-1, 1)], strings.Join(to, " or "))
		}
	}
	return nil
}

// protocolFor returns the protocol to write a program for: its own or that of --protocol,
// which must not contradict each other, otherwise Simple.
func protocolFor(cmd *cobra.Command, p *ir.Program) (topologies.Proto, error) {
	asked := flagValue(cmd, "protocol")
	if p.Protocol != "" && asked != "" && asked != p.Protocol {
		return 0, fmt.Errorf("--protocol %s: the program names its own, %s", asked, p.Protocol)
	}
	return topologies.ParseProto(cmp.Or(p.Protocol, asked, topologies.Simple.String()))
}

// convertIR returns a program as colltune's own JSON.
func convertIR(_ *cobra.Command, _ *topologies.Topology, p *ir.Program) (func(io.Writer) error, error) {
	return func(w io.Writer) error { return ir.Encode(w, p) }, nil
}

// convertXML returns a program as MSCCL XML, if the runtime would run it.
func convertXML(cmd *cobra.Command, t *topologies.Topology, p *ir.Program) (func(io.Writer) error, error) {
	proto, err := protocolFor(cmd, p)
	if err == nil {
		err = t.CheckProtocol(proto)
	}
	if err != nil {
		return nil, usage(err)
	}
	o := msccl.WriteOptions{
		Runtime: flagValue(cmd, "runtime"), Protocol: proto.String(),
		MinBytes: sizeOf(cmd, "min-bytes"), MaxBytes: sizeOf(cmd, "max-bytes"), Comments: []string{p.Comment},
	}
	if why := msccl.Corrupts(o.Runtime, o.Protocol, func() string { return t.Arch }); why != "" {
		if !typed(cmd, "protocol") {
			return nil, &nothingError{fmt.Errorf("%s: want --protocol %s to write it all the same", why, o.Protocol)}
		}
		o.Comments = append(o.Comments, why)
	}
	if ok, why := msccl.Accepts(p, o.Runtime, o.Protocol); !ok {
		return nil, &nothingError{fmt.Errorf("%s would not run this program: %s", o.Runtime, strings.Join(why, "; "))}
	}
	var text bytes.Buffer
	if err := msccl.Write(&text, p, o); err != nil {
		return nil, usage(err) // writing to a buffer cannot fail
	}
	return func(w io.Writer) error { _, err := text.WriteTo(w); return err }, nil
}

// convertPlan returns a program as an MSCCL++ execution plan. It verifies the plan itself,
// which the verified program does not imply.
func convertPlan(cmd *cobra.Command, t *topologies.Topology, p *ir.Program) (func(io.Writer) error, error) {
	proto, err := protocolFor(cmd, p)
	if err != nil {
		return nil, usage(err)
	}
	o := mscclpp.LowerOptions{
		Protocol: proto.String(), MinBytes: sizeOf(cmd, "min-bytes"), MaxBytes: sizeOf(cmd, "max-bytes"),
		TileBytes: sizeOf(cmd, "tile-bytes"), Node: nodeOf(t),
	}
	if p.Protocol == "" && !slices.Contains(mscclpp.Protocols(), o.Protocol) {
		return nil, usagef("--protocol %s: plans have %s", o.Protocol, strings.Join(mscclpp.Protocols(), " and "))
	}
	plan, err := mscclpp.Lower(p, o)
	if err != nil {
		return nil, &nothingError{fmt.Errorf("this program has no plan: %w", err)}
	}
	v := mscclpp.Verify(plan, verify.Options{Linked: t.Linked})
	if err := v.Report.Err(); err != nil {
		return nil, &wrongError{fmt.Errorf("its plan: %w", err)}
	}
	if !v.Accepts {
		return nil, &nothingError{fmt.Errorf("%s would not run this plan: %s", mscclpp.Name, strings.Join(v.Why, "; "))}
	}
	return func(w io.Writer) error { return mscclpp.Write(w, plan, []string{p.Comment}) }, nil
}

// nodeOf returns a function from a rank to its node, within which ranks reach each
// other's memory.
func nodeOf(t *topologies.Topology) func(rank int) int {
	return func(rank int) int { return t.Ranks[rank].Node }
}
