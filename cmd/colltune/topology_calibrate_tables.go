package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

// measuredTable is a table of --measured: each size with what the library would
// have run.
type measuredTable struct {
	calibrate.Table
	file, collective string
}

// name tells a table from others.
func (t *measuredTable) name() string {
	return fmt.Sprintf("%s, %s", t.collective, units.Count(t.Topology.Nodes, "node"))
}

// measuredSet are the tables of --measured.
type measuredSet []measuredTable

func (all measuredSet) fitted() (tables []calibrate.Table) {
	for _, t := range all {
		tables = append(tables, t.Table)
	}
	return tables
}

func (all measuredSet) files() string {
	var names []string
	for _, t := range all {
		names = append(names, t.file)
	}
	return strings.Join(names, ", ")
}

// widest is the system of most nodes, which has every kind of link.
func (all measuredSet) widest() *topologies.Topology {
	return slices.MaxFunc(all, func(a, b measuredTable) int { return a.Topology.Nodes - b.Topology.Nodes }).Topology
}

// maxPoints is more sizes than anybody measures: each is simulated a hundred times.
const maxPoints = 4096

// readMeasured reads the tables of --measured.
func readMeasured(cmd *cobra.Command, name string) (all measuredSet, elem int64, err error) {
	given, _ := cmd.Flags().GetStringArray("measured")
	if len(given) == 0 {
		return nil, 0, usagef("--measured is missing: want a file of what nccl-tests printed on this system")
	}
	if elem, err = collective.ElemBytes(flagValue(cmd, "dtype")); err != nil {
		return nil, 0, usage(err)
	}
	sizes := 0
	for _, one := range given {
		t, err := readMeasuredFile(cmd, name, one)
		if err != nil {
			return nil, 0, err
		}
		if sizes += len(t.Points); sizes > maxPoints {
			return nil, 0, usagef("--measured: times at %d sizes that count: want at most %d (--min-bytes and --max-bytes narrow them)", sizes, maxPoints)
		}
		all = append(all, t)
	}
	return all, elem, nil
}

// readMeasuredFile reads one [COLLECTIVE=]FILE.
func readMeasuredFile(cmd *cobra.Command, name, given string) (t measuredTable, err error) {
	path := given
	if coll, rest, ok := strings.Cut(given, "="); ok && slices.Contains(collective.Names(), coll) {
		t.collective, path = coll, rest
	}
	text, err := readFile(cmd.Context(), path, maxBaseline)
	if err != nil {
		return t, err
	}
	t.file = filepath.Base(path)
	file := &search.BaselineFile{Name: t.file, Text: string(text)}
	told, ranks, err := file.Tells()
	if err != nil {
		return t, usage(err)
	}
	switch {
	case t.collective != "":
	case flagValue(cmd, "collective") != "" || told == "":
		if t.collective, err = collectiveName(cmd); err != nil {
			return t, err
		}
	default:
		t.collective = told
	}
	if t.Topology, err = topologyForRanks(cmd, name, ranks); err != nil {
		return t, err
	}
	return t, t.read(cmd, file, path)
}

// topologyForRanks is the system with as many nodes as --nodes says, or as that many ranks
// fill.
func topologyForRanks(cmd *cobra.Command, name string, ranks int) (*topologies.Topology, error) {
	t, err := topology(cmd, name)
	if err != nil || cmd.Flags().Changed("nodes") || ranks == 0 || len(t.Ranks)%t.Nodes != 0 {
		return t, err
	}
	each := len(t.Ranks) / t.Nodes
	if ranks == len(t.Ranks) || ranks%each != 0 {
		return t, nil // what does not fit is told with the table
	}
	o, err := topologyOptions(cmd)
	if err != nil {
		return nil, err
	}
	o.Nodes = ranks / each
	t, err = abandonable(cmd.Context(), func() (*topologies.Topology, error) { return topologies.Resolve(name, o) })
	return t, usage(err)
}

// read takes the file's times that count, each with what the library would have run.
func (t *measuredTable) read(cmd *cobra.Command, file *search.BaselineFile, path string) error {
	root, _ := cmd.Flags().GetInt("root")
	inPlace := collective.DefaultInPlace(t.collective)
	if p := flagValue(cmd, "placement"); p != "" {
		inPlace = p == "in"
	}
	p := search.Problem{Topology: t.Topology, Call: collective.Call{Collective: t.collective, Root: root, Op: flagValue(cmd, "op"), DType: flagValue(cmd, "dtype")}, InPlace: inPlace}
	measured, err := file.All(&p)
	if err != nil {
		return usage(err)
	}
	placement := map[bool]string{true: "in", false: "out"}[inPlace]
	most := sizeOf(cmd, "max-bytes")
	for _, n := range measured.Sizes() {
		if us, ok := measured.At(n, placement); ok && us > 0 && n >= sizeOf(cmd, "min-bytes") && (n <= most || most == 0) {
			p.Sizes = append(p.Sizes, n)
		}
	}
	if len(p.Sizes) < 2 {
		return usagef("%s: times at %s that count: want two or more", path, units.Count(len(p.Sizes), "size"))
	}
	if len(p.Sizes) > maxPoints {
		return usagef("%s: times at %d sizes that count: want at most %d (--min-bytes and --max-bytes narrow them)", path, len(p.Sizes), maxPoints)
	}
	calls, err := search.LibraryCalls(cmd.Context(), p, search.Options{Observer: search.Observer{Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }}})
	if err != nil {
		return usage(err)
	}
	left := 0
	for _, c := range calls {
		if c.StandIn { // its times are not those that were measured
			left++
			continue
		}
		us, _ := measured.At(c.Bytes, placement)
		t.Points = append(t.Points, calibrate.Point{LibraryCall: c, MeasuredUS: us})
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: nothing is fitted to the times at these %s\n", path, units.Count(left, "size"))
	}
	if len(t.Points) < 2 {
		return &nothingError{fmt.Errorf("%s over %s: the library's choice has no program here", t.collective, t.Topology.Name)}
	}
	return nil
}
