package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

func compileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compile PROGRAM -t TOPOLOGY [-c COLLECTIVE]",
		Short: "Compile a family or a .star file for a system, and verify the result",
		Long: `compile traces an algorithm for a system, compiles it and verifies the result.
PROGRAM is a family's name or a .star file. Parameters that -p does not set have their
defaults. Holes, such as a ring's order or a choice of NICs, are filled
for the system if the family does not fit it without.

  colltune compile ring -t dgx-1 -c allreduce -p channels=4 --out ring.json
  colltune compile mine.star -t ring:4 --to msccl-xml --protocol LL
  colltune compile hierarchical -t dgx-a100 --nodes 2 -c allreduce --to mscclpp-json
  colltune compile all-pairs -t dgx-a100 -c allreduce --dump-after emit`,
		Args:              exactArgs("the PROGRAM"),
		RunE:              func(cmd *cobra.Command, args []string) error { return compileProgram(cmd, args[0]) },
		ValidArgsFunction: firstArg(completeFamily),
	}
	topologyFlags(cmd)
	collectiveFlag(cmd)
	countsFlag(cmd)
	rootFlag(cmd)
	placementFlag(cmd, "in place or out of place", "in", "out")
	paramFlag(cmd, "set")
	cmd.Flags().Int("instances", 1, "number of parallel instances of the whole program")
	choiceFlag(cmd, "solver", "", "auto", solver.Names, "which solver fills the holes of templates")
	targetFlags(cmd)
	passFlags(cmd)
	outFlag(cmd)
	return cmd
}

// compileProgram compiles PROGRAM: a family or a .star file.
func compileProgram(cmd *cobra.Command, name string) error {
	if err := checkTargetFlags(cmd); err != nil {
		return err
	}
	t, err := topology(cmd)
	if err != nil {
		return err
	}
	if err := checkSolver(flagValue(cmd, "solver")); err != nil {
		return err
	}
	f, coll, err := findFamily(cmd, name)
	if err != nil {
		return err
	}
	request := script.Request{Collective: coll, InPlace: inPlaceOf(cmd, coll)}
	request.Root, _ = cmd.Flags().GetInt("root")
	if request.Counts, err = countsOf(cmd, coll, len(t.Ranks)); err != nil {
		return err
	}
	o := compiler.Options{}
	if o.Instances, _ = cmd.Flags().GetInt("instances"); o.Instances < 1 {
		return usagef("--instances %d: want at least 1", o.Instances)
	}
	limit := program.Memory(memoryLimit(cmd))
	request.MaxOps = int(min(max(limit.Operations()/int64(o.Instances), 1), lang.MaxOps))
	traced, params, err := traceFamily(cmd, f, t, request)
	if large := (*lang.Error)(nil); errors.As(err, &large) && large.Large {
		n := int64(max(large.Ops, request.MaxOps+1)) * int64(o.Instances)
		return &limitError{fmt.Errorf("%s on %s: %s", name, t.Name, limit.NoRoom(n))}
	}
	if err != nil {
		return err
	}
	comment := strings.TrimSpace(fmt.Sprintf("%s on %s %s", coll, t.Name, params))
	return compileAndWrite(cmd, t, name, comment, o, traced)
}

// compileAndWrite compiles a program, verifies the result and writes it. name is PROGRAM,
// for errors; comment goes into the result.
func compileAndWrite(cmd *cobra.Command, t *topologies.Topology, name, comment string, o compiler.Options, traced *lang.Program) error {
	dumps, err := passOptions(cmd, &o)
	if err != nil {
		return err
	}
	if o.Slots, err = slotsOf(cmd, t); err != nil {
		return err
	}
	r, err := compiler.Compile(traced, o)
	if err != nil {
		return usagef("%s on %s: %w", name, t.Name, err)
	}
	printPassTimes(cmd, r.Times)
	if err := verify.Check(r.Program, verify.Options{Slots: slotsToVerify(o), Linked: t.Linked}).Err(); err != nil {
		return &wrongError{fmt.Errorf("%s on %s: %w", name, t.Name, err)}
	}
	r.Program.Comment = comment
	write, err := targetOf(cmd).convert(cmd, t, r.Program)
	if err != nil {
		return err
	}
	if dumps == nil {
		return writeOut(cmd, write)
	}
	if err := dumps.write(cmd.OutOrStdout()); err != nil || flagValue(cmd, "out") == "" {
		return err
	}
	return writeOut(cmd, write)
}

// findFamily returns the family that PROGRAM names, built-in or in a file, and the
// collective of -c. A family with only one collective needs no -c.
func findFamily(cmd *cobra.Command, name string) (*templates.Family, string, error) {
	var coll string
	var err error
	var defined []string
	find := templates.FindBuiltin
	if strings.HasSuffix(name, ".star") || strings.ContainsRune(name, '/') {
		families, err := loadFamilies(cmd, name)
		if err != nil {
			return nil, "", usage(err)
		}
		if len(families) != 1 {
			return nil, "", usagef("%s: %d templates: want one", name, len(families))
		}
		name = families[0].Name
		for _, c := range families[0].Collectives {
			if families[0].Defines(c) {
				defined = append(defined, c)
			}
		}
		find = func(name, coll string) (*templates.Family, error) { return templates.Find(families, name, coll) }
	}
	if isSet(cmd, "collective") {
		if coll, err = collectiveName(cmd, defined...); err != nil {
			return nil, "", err
		}
	}
	f, err := find(name, coll)
	if err != nil {
		return nil, "", usage(err)
	}
	if coll == "" {
		if len(f.Collectives) != 1 {
			return nil, "", usagef("-c/--collective is missing: %s does %s", f.Name, strings.Join(f.Collectives, ", "))
		}
		coll = f.Collectives[0]
	}
	return f, coll, nil
}

// traceFamily traces a family's program on a system, with the parameters of -p. It fills
// holes without a value only if the family does not apply without them.
func traceFamily(cmd *cobra.Command, f *templates.Family, t *topologies.Topology, q script.Request) (*lang.Program, script.Params, error) {
	m := program.MachineOf(t)
	given := map[string]any{}
	assignments, _ := cmd.Flags().GetStringArray("param")
	for _, a := range assignments {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return nil, nil, usagef("-p %q: want NAME=VALUE", a)
		}
		p, err := f.Parameter(name)
		if err != nil {
			return nil, nil, usage(err)
		}
		if given[name], err = p.ParseValue(value); err != nil {
			return nil, nil, usagef("-p %s: %w", a, err)
		}
		if why := p.Mismatch(given[name], m); why != "" {
			return nil, nil, usagef("-p %s: %s", a, why)
		}
	}
	params, err := f.Bind(given)
	if err != nil {
		return nil, nil, usage(err)
	}
	fits, why, err := f.Admits(m, q, params)
	if err == nil && !fits {
		for _, hole := range openHoles(f, params) {
			if params[hole.Name], err = fillHole(cmd, t, q, hole, params); err != nil {
				return nil, nil, err
			}
		}
		fits, why, err = f.Admits(m, q, params)
	}
	switch {
	case err != nil:
		return nil, nil, usage(err)
	case !fits:
		return nil, nil, &nothingError{fmt.Errorf("%s has no %s on %s: %s", f.Name, q.Collective, t.Name, why)}
	}
	traced, err := f.Trace(m, q, params)
	if err != nil {
		return nil, nil, usage(err) // exitWrong if the result is wrong: see exitCodes
	}
	if refused := constraints.CheckRouting(traced, t); len(refused) > 0 {
		return nil, nil, &wrongError{fmt.Errorf("%s: %s", refused[0].Pos, refused[0].Detail)}
	}
	return traced, params, nil
}
