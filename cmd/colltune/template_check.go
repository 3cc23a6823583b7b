package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// systemSpec is a system to try without -t: a catalogue name or a generator, and its
// number of nodes.
type systemSpec struct {
	name  string
	nodes int
}

// checkSystems are the systems of template check: a small one of every shape, and some
// of the catalogue, as one node and as several.
var checkSystems = []systemSpec{
	{"fullmesh:2", 1}, {"fullmesh:3", 1}, {"fullmesh:8", 1}, {"ring:4", 1}, {"mesh:2x3", 1}, {"hypercube:3", 1}, {"hub:8", 1},
	{"dgx-1", 1}, {"mi300x", 1}, {"dgx-a100", 1}, {"dgx-a100", 2}, {"dgx-a100", 3}, {"dgx-a100", 4},
	{"dgx-1", 2}, {"ndv2", 2}, {"frontier", 2}, {"lassen", 2}, {"perlmutter", 4},
}

// templateCheckRow is the result for a collective of a template on a system, in JSON.
type templateCheckRow struct {
	Topology   string         `json:"topology"`
	Nodes      int            `json:"nodes"`
	Collective string         `json:"collective"`
	Right      int            `json:"right"`   // compileAndWrite and verified
	Refused    map[string]int `json:"refused"` // by reason
	Why        string         `json:"why"`     // of the first refusal
}

func templateCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Test a template on a grid of systems",
		Long: `check traces, compiles and verifies a template's programs: for every collective that
it declares, on a grid of systems, with every set of its parameters. The first
mistake is reported at its line; a system without a link that it uses is refused, and
the check goes on. -t checks that system only, -p those values only.`,
		Args: exactArgs("the template's FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			families, err := loadFamilies(cmd, args[0])
			if _, builtin := templates.FindBuiltin(args[0], ""); errors.Is(err, fs.ErrNotExist) && builtin == nil {
				return usagef("%s is a built-in family: want a .star file (template show %s prints its program)", args[0], args[0])
			}
			if err != nil {
				return usage(err)
			}
			var systems []*topologies.Topology
			for t, err := range systemsOf(cmd, checkSystems) {
				if err != nil {
					return err
				}
				systems = append(systems, t)
			}
			assignments, _ := cmd.Flags().GetStringArray("param")
			var rows []templateCheckRow
			for _, f := range families {
				some, err := checkTemplate(cmd.Context(), f, systems, assignments)
				if err != nil {
					return usage(err)
				}
				rows = append(rows, some...)
			}
			s := sheet{columns: []column{text("topology"), number("nodes"), text("collective"), number("right"), text("refused"), text("why")}}
			for _, r := range rows {
				var refused []string
				for _, reason := range program.Reasons(r.Refused) {
					refused = append(refused, fmt.Sprintf("%s %d", reason, r.Refused[reason]))
				}
				s.add(r.Topology, strconv.Itoa(r.Nodes), r.Collective, strconv.Itoa(r.Right), strings.Join(refused, ", "), r.Why)
			}
			return printResult(cmd, "template-check", struct {
				Checks []templateCheckRow `json:"checks"`
			}{rows}, s)
		},
	}
	topologyFlags(cmd)
	paramFlag(cmd, "fix")
	outputFlags(cmd)
	return cmd
}

// systemsOf returns the system of -t, otherwise those of specs, and resolves each when
// its turn comes.
func systemsOf(cmd *cobra.Command, specs []systemSpec) iter.Seq2[*topologies.Topology, error] {
	return func(yield func(*topologies.Topology, error) bool) {
		if flagValue(cmd, "topology") != "" {
			yield(topology(cmd))
			return
		}
		for _, name := range []string{"nodes", "gpus"} {
			if isSet(cmd, name) {
				yield(nil, usagef("--%s: want -t too", name))
				return
			}
		}
		for _, on := range specs {
			if !yield(topologies.Resolve(on.name, topologies.Options{Nodes: on.nodes})) {
				return
			}
		}
	}
}

// checkTemplate enumerates a family's candidates on each system, as a search does.
func checkTemplate(ctx context.Context, f *templates.Family, systems []*topologies.Topology, assignments []string) ([]templateCheckRow, error) {
	text, err := f.Text()
	if err != nil {
		return nil, err
	}
	o := search.Options{
		Families: []string{f.Name}, Instances: 1, Uncapped: true, Executor: sim.Name, RefuseMissingLinks: true,
		Templates: []search.Template{{Name: filepath.Base(f.Source), Text: text}},
	}
	if err := o.Assign(assignments); err != nil {
		return nil, err
	}
	var rows []templateCheckRow
	for _, t := range systems {
		for _, c := range f.Collectives {
			row := templateCheckRow{Topology: t.Name, Nodes: t.Nodes, Collective: c, Refused: map[string]int{}}
			p := search.Problem{Topology: t, Call: collective.Call{Collective: c, Op: "sum", DType: "f32"}, InPlace: collective.DefaultInPlace(c), Sizes: []int64{1 << 20}}
			space, err := search.Enumerate(ctx, p, o)
			var none *search.NothingFound
			switch {
			case errors.As(err, &none):
				row.Why = none.Why
			case err != nil:
				return nil, fmt.Errorf("%s on %s: %w", c, t.Name, err)
			default:
				row.Refused = program.ByReason(space.Refusals)
				row.Right = space.Enumerated() - len(space.Refusals)
				if len(space.Refusals) > 0 {
					row.Why = space.Refusals[0].Detail
				}
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
