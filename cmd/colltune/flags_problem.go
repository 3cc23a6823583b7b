package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

// topologyFlags adds -t, --nodes and --gpus.
func topologyFlags(cmd *cobra.Command) {
	topologyFlag(cmd)
	topologyPartFlags(cmd)
}

func topologyFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("topology", "t", "", "the system: a catalogue name, a .toml `FILE`, or a generator such as ring:8@50GB/s")
	_ = cmd.RegisterFlagCompletionFunc("topology", completeTopology)
}

// topologyPartFlags adds --nodes and --gpus, for commands whose argument is the
// topology.
func topologyPartFlags(cmd *cobra.Command) {
	cmd.Flags().Int("nodes", 0, "number of nodes (default: as many as the topology says)")
	gpusFlag(cmd)
}

func gpusFlag(cmd *cobra.Command) {
	cmd.Flags().IntSlice("gpus", nil, "only these GPUs of each node, by rising local number")
}

// topology resolves the system that the argument, or else -t, names.
func topology(cmd *cobra.Command, args ...string) (*topologies.Topology, error) {
	nodes, _ := cmd.Flags().GetInt("nodes")
	return topologyOn(cmd, nodes, args...)
}

// topologyOn is topology on a number of nodes; 0: as many as it says.
func topologyOn(cmd *cobra.Command, nodes int, args ...string) (*topologies.Topology, error) {
	var name string
	if len(args) > 0 {
		name = args[0]
	} else if name, _ = cmd.Flags().GetString("topology"); name == "" {
		return nil, usagef("-t/--topology is missing: want one of %s, a .toml file, or a generator such as ring:8@50GB/s", strings.Join(topologies.Names(), ", "))
	}
	o, err := topologyOptions(cmd, nodes)
	if err != nil {
		return nil, err
	}
	t, err := abandonable(cmd.Context(), func() (*topologies.Topology, error) { return topologies.Resolve(name, o) })
	return t, usage(err)
}

// topologyOptions reads the flags of topologyPartFlags, of which --nodes has that value.
func topologyOptions(cmd *cobra.Command, nodes int) (o topologies.Options, err error) {
	o.Nodes = nodes
	if isSet(cmd, "gpus") {
		o.GPUs, _ = cmd.Flags().GetIntSlice("gpus")
	}
	if o.Nodes < 0 || o.Nodes == 0 && isSet(cmd, "nodes") {
		return o, usagef("--nodes %d: want at least 1", o.Nodes)
	}
	return o, nil
}

// isGenerator reports whether a topology's name is a generator, such as ring:8.
func isGenerator(name string) bool {
	kind, _, ok := strings.Cut(name, ":")
	return ok && slices.Contains(generators, kind+":")
}

// generators are the first words of generators.
var generators = []string{"ring:", "mesh:", "torus:", "hypercube:", "fullmesh:", "hub:"}

func collectiveFlag(cmd *cobra.Command) {
	cmd.Flags().StringP("collective", "c", "", "the collective: "+strings.Join(collective.Names(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("collective", cobra.FixedCompletions(collective.Names(), cobra.ShellCompDirectiveNoFileComp))
}

// collectiveName returns the collective that -c names: a built-in one, or one of
// custom. It accepts spellings such as AllReduce and all_reduce.
func collectiveName(cmd *cobra.Command, custom ...string) (string, error) {
	written, _ := cmd.Flags().GetString("collective")
	names := append(collective.Names(), custom...)
	if written == "" {
		return "", usagef("-c/--collective is missing: want one of %s", strings.Join(names, ", "))
	}
	if slices.Contains(custom, written) {
		return written, nil
	}
	plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(written))
	if !slices.Contains(names, plain) {
		return "", usagef("unknown collective %q%s: want one of %s", written, suggest.DidYouMean(plain, names), strings.Join(names, ", "))
	}
	return plain, nil
}

// countsFlag adds --counts, for the vector forms of collectives.
func countsFlag(cmd *cobra.Command) {
	cmd.Flags().String("counts", "", "element counts of a vector form ("+strings.Join(collective.VectorForms(), ", ")+"): a `FILE` with one number for each rank; for alltoallv, a row of numbers for each rank; or skew:F, where rank 0 has F times the mean (default: 1 each)")
}

// maxCounts is the largest file of counts, in bytes.
const maxCounts = 64 << 20

// countsOf reads --counts for a collective over n ranks.
func countsOf(cmd *cobra.Command, coll string, n int) ([]int, error) {
	path := flagValue(cmd, "counts")
	if path == "" {
		return nil, nil
	}
	want := collective.CountsOf(coll, n)
	if want == 0 {
		return nil, usagef("--counts: %s takes no counts: want one of %s", coll, strings.Join(collective.VectorForms(), ", "))
	}
	if strings.HasPrefix(path, "skew:") {
		counts, err := collective.Traffic(coll, n, path)
		if err != nil {
			return nil, usagef("--counts: %w", err)
		}
		return counts, nil
	}
	text, err := readFile(cmd.Context(), path, maxCounts)
	if err != nil {
		return nil, err
	}
	counts, err := collective.ParseCounts(path, text)
	if err == nil && len(counts) != want {
		err = usagef("%s: %d counts, for %s over %d ranks: want %d", path, len(counts), coll, n, want)
	}
	return counts, usage(err)
}

// rootFlag adds --root.
func rootFlag(cmd *cobra.Command) {
	cmd.Flags().Int("root", 0, "the root `RANK`, of a collective that has a root")
}

// placementFlag adds --placement with the values of. usage says what they mean.
func placementFlag(cmd *cobra.Command, usage string, of ...string) {
	choiceFlag(cmd, "placement", "", "", of, usage+" (default: in for allreduce, reduce, broadcast; out for others)")
}

// inPlaceOf reports whether --placement asks for a collective in place; for both
// placements, it is true.
func inPlaceOf(cmd *cobra.Command, coll string) bool {
	if p := flagValue(cmd, "placement"); p != "" {
		return p != "out"
	}
	return collective.DefaultInPlace(coll)
}

// sizeFlags adds the sizes, as nccl-tests spells them.
func sizeFlags(cmd *cobra.Command) {
	cmd.Flags().VarP(&size{1 << 10}, "min-bytes", "b", "smallest size; suffixes K, M, G are binary")
	cmd.Flags().VarP(&size{1 << 30}, "max-bytes", "e", "largest size")
	cmd.Flags().IntP("step-factor", "f", 2, "multiply the size by this from one to the next")
}

// sizesOf reads the flags of sizeFlags: the sizes to run, rising, in bytes.
func sizesOf(cmd *cobra.Command) ([]int64, error) {
	step, _ := cmd.Flags().GetInt("step-factor")
	sizes, err := search.Sizes(sizeOf(cmd, "min-bytes"), sizeOf(cmd, "max-bytes"), step)
	return sizes, usage(err)
}
