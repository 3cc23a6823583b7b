package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/templates"
)

func templateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "List, show and check the families of algorithms",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(templateListCommand(), templateShowCommand(), templateCheckCommand())
	return cmd
}

func templateListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the families",
		Long: `list prints the families of algorithms with their collectives, parameters (a ? marks
a hole, which is filled for the topology) and the systems they apply to.

  colltune template list
  colltune template list --template mine.star`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			families, err := familiesOf(cmd)
			if err != nil {
				return err
			}
			rows := []templates.Summary{}
			s := sheet{columns: []column{text("family"), text("collectives"), text("parameters"), text("applies"), text("source")}}
			for _, f := range families {
				r := f.Summary()
				rows = append(rows, r)
				s.add(r.Name, strings.Join(r.Collectives, " "), parameterNames(r.Parameters), r.Applies, r.Source)
			}
			return printResult(cmd, "templates", struct {
				Templates []templates.Summary `json:"templates"`
			}{rows}, s)
		},
	}
	templateFlag(cmd)
	outputFlags(cmd)
	return cmd
}

// parameterNames lists parameters, with a ? after those that are holes.
func parameterNames(ps []script.Parameter) string {
	var all []string
	for _, p := range ps {
		name := p.Name
		if p.Hole != "" {
			name += "?"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// templateFlag adds --template, for the user's own families.
func templateFlag(cmd *cobra.Command) {
	cmd.Flags().StringArray("template", nil, "also the families of this `FILE.star`, or of all files in a folder")
}

// loadFamilies reads the families of a file or a folder. What the files print goes to
// standard error.
func loadFamilies(cmd *cobra.Command, path string) ([]*templates.Family, error) {
	return abandonable(cmd.Context(), func() ([]*templates.Family, error) {
		return templates.Load(path, func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) })
	})
}

// familiesOf returns the built-in families and those of --template.
func familiesOf(cmd *cobra.Command) ([]*templates.Family, error) {
	all := templates.Builtin()
	paths, _ := cmd.Flags().GetStringArray("template")
	for _, p := range paths {
		own, err := loadFamilies(cmd, p)
		if err != nil {
			return nil, usage(err)
		}
		all = append(all, own...)
	}
	return all, nil
}

func templateShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a family: description, parameters, cost, program",
		Long: `show prints a family's description, parameters, cost and program. The cost is that on
the system of -t, or the reason why the family does not apply there.

  colltune template show ring
  colltune template show hierarchical -t dgx-a100 --nodes 2`,
		Args:              exactArgs("the family's NAME"),
		RunE:              showTemplate,
		ValidArgsFunction: firstArg(completeFamily),
	}
	topologyFlags(cmd)
	templateFlag(cmd)
	outputFlags(cmd)
	return cmd
}

// showTemplate prints a family's description, parameters, cost and program.
func showTemplate(cmd *cobra.Command, args []string) error {
	families, err := familiesOf(cmd)
	if err != nil {
		return err
	}
	f, err := templates.Find(families, args[0], "")
	if err != nil && strings.HasSuffix(args[0], ".star") {
		return usagef("%w; want the family's name, with --template %s", err, safe.Path(args[0]))
	}
	if err != nil {
		return usage(err)
	}
	row := f.Summary()
	program, err := f.Text()
	if err != nil {
		return err
	}
	s := sheet{columns: []column{text("parameter"), text("values"), text("default"), text("what it is")}}
	for _, p := range row.Parameters {
		s.add(p.Name, valuesOf(p), defaultOf(p), oneLine(p.Doc))
	}
	costs, err := costsOf(cmd, f)
	if err != nil {
		return err
	}
	if flagValue(cmd, "format") != "table" {
		return printResult(cmd, "template", struct {
			templates.Summary
			Costs   []costRow `json:"costs"`
			Program string    `json:"program"`
		}{row, costs, program}, s)
	}
	return writeOut(cmd, func(w io.Writer) error { return writeTemplate(w, lookOf(cmd), row, s, costs, program) })
}

// writeTemplate writes a family for people.
func writeTemplate(w io.Writer, l look, row templates.Summary, parameters sheet, costs []costRow, program string) error {
	lines := []string{row.Name + ": " + strings.Join(row.Collectives, ", "), ""}
	if doc := strings.TrimSpace(row.Doc); doc != "" {
		lines = append(append(lines, strings.Split(doc, "\n")...), "")
	}
	if err := writeLines(w, l.width(), lines); err != nil {
		return err
	}
	if len(row.Parameters) > 0 {
		if err := parameters.writeTable(w, l); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if err := writeCosts(w, l, costs); err != nil {
		return err
	}
	_, err := io.WriteString(w, program)
	return err
}

// valuesOf describes the values that a parameter takes.
func valuesOf(p script.Parameter) string {
	switch {
	case p.Hole != "":
		return p.Source()
	case p.Values == nil:
		return fmt.Sprintf("%d to %d", p.Min, p.Max)
	}
	var all []string
	for _, v := range p.Values {
		all = append(all, script.FormatValue(v))
	}
	return strings.Join(all, ", ")
}

// defaultOf formats a parameter's default; empty without one.
func defaultOf(p script.Parameter) string {
	if p.Default == nil {
		return ""
	}
	return script.FormatValue(p.Default)
}
