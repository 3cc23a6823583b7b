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

// measuredTable is the measured times of a file or a campaign, each with what ran.
type measuredTable struct {
	calibrate.Table
	file, collective string
}

// name describes a table: "allreduce, 2 nodes".
func (t *measuredTable) name() string {
	return fmt.Sprintf("%s, %s", t.collective, units.Count(t.Topology.Nodes, "node"))
}

// measuredSet is all tables to calibrate with.
type measuredSet []measuredTable

// fitted returns the tables to fit.
func (all measuredSet) fitted() (tables []calibrate.Table) {
	for _, t := range all {
		tables = append(tables, t.Table)
	}
	return tables
}

// from says where the numbers are from: the tables' files, and whether they are times of
// programs, which topologies.SettledBy reads again.
func (all measuredSet) from() string {
	var names []string
	for _, t := range all {
		if name := t.file; t.Origin == calibrate.Program {
			names = append(names, "programs of "+name)
		} else {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// widest returns the system with most nodes, which has every kind of link.
func (all measuredSet) widest() *topologies.Topology {
	return slices.MaxFunc(all, func(a, b measuredTable) int { return a.Topology.Nodes - b.Topology.Nodes }).Topology
}

// maxPoints is the most times in all tables. Each is simulated a hundred times.
const maxPoints = 4096

// sources are the flags that name measured times, each with what reads one of its values.
var sources = []struct {
	flag string
	read func(cmd *cobra.Command, topology, given string) (measuredTable, error)
}{
	{"measured", readMeasured},
	{"runs", readRuns},
	{"campaign", readCampaign},
}

// readSources reads all measured times for the topology name.
func readSources(cmd *cobra.Command, name string) (all measuredSet, err error) {
	points := 0
	for _, s := range sources {
		given, _ := cmd.Flags().GetStringArray(s.flag)
		for _, one := range given {
			t, err := s.read(cmd, name, one)
			if err != nil {
				return nil, err
			}
			if points += len(t.Points); points > maxPoints {
				return nil, usagef("--%s %s: %d usable times with it: want at most %d (--min-bytes and --max-bytes narrow them)", s.flag, one, points, maxPoints)
			}
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, usagef("--measured is missing: want a file of nccl-tests' output on this system, or --runs or --campaign with times of programs")
	}
	if points < calibrate.LeastRows {
		return nil, usagef("%s in all: want at least %d, half to fit to and half to judge by", units.Count(points, "usable time"), calibrate.LeastRows)
	}
	return all, nil
}

// inRange reports whether a size is within --min-bytes and --max-bytes.
func inRange(cmd *cobra.Command, bytes int64) bool {
	most := sizeOf(cmd, "max-bytes")
	return bytes >= sizeOf(cmd, "min-bytes") && (bytes <= most || most == 0)
}

// readMeasured reads one [COLLECTIVE=]FILE of --measured.
func readMeasured(cmd *cobra.Command, name, given string) (t measuredTable, err error) {
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
	named, ranks, err := file.Names()
	if err != nil {
		return t, usage(err)
	}
	switch {
	case t.collective != "":
	case flagValue(cmd, "collective") != "" || named == "":
		if t.collective, err = collectiveName(cmd); err != nil {
			return t, err
		}
	default:
		t.collective = named
	}
	if t.Topology, err = topologyForRanks(cmd, name, ranks); err != nil {
		return t, err
	}
	return t, t.readLibrary(cmd, file, path)
}

// topologyForRanks returns the system with the nodes of --nodes, otherwise with as many
// nodes as have that many ranks. ranks is 0 if the table does not name it.
func topologyForRanks(cmd *cobra.Command, name string, ranks int) (*topologies.Topology, error) {
	t, err := topology(cmd, name)
	if err != nil || cmd.Flags().Changed("nodes") || ranks == 0 || len(t.Ranks)%t.Nodes != 0 {
		return t, err
	}
	each := len(t.Ranks) / t.Nodes
	if ranks == len(t.Ranks) || ranks%each != 0 {
		return t, nil // the reader reports the mismatch
	}
	nodes, _ := cmd.Flags().GetInt("nodes")
	o, err := topologyOptions(cmd, nodes)
	if err != nil {
		return nil, err
	}
	o.Nodes = ranks / each
	t, err = abandonable(cmd.Context(), func() (*topologies.Topology, error) { return topologies.Resolve(name, o) })
	return t, usage(err)
}

// readLibrary sets the points of a table of the library's calls: the times of the flags'
// sizes and placement, each with the library's choice at that size.
func (t *measuredTable) readLibrary(cmd *cobra.Command, file *search.BaselineFile, path string) error {
	root, _ := cmd.Flags().GetInt("root")
	inPlace := inPlaceOf(cmd, t.collective)
	call := collective.Call{Collective: t.collective, Root: root, Op: flagValue(cmd, "op"), DType: flagValue(cmd, "dtype")}
	p := search.Problem{Topology: t.Topology, Call: call, InPlace: inPlace}
	measured, err := file.All(&p)
	if err != nil {
		return usage(err)
	}
	if t.Elem, err = collective.ElemBytes(call.DType); err != nil {
		return usage(err)
	}
	placement := map[bool]string{true: "in", false: "out"}[inPlace]
	for _, n := range measured.Sizes() {
		if us, ok := measured.At(n, placement); ok && us > 0 && inRange(cmd, n) {
			p.Sizes = append(p.Sizes, n)
		}
	}
	if len(p.Sizes) < 2 {
		return usagef("%s: %s with usable times: want at least 2", path, units.Count(len(p.Sizes), "size"))
	}
	if len(p.Sizes) > maxPoints {
		return usagef("%s: %d sizes with usable times: want at most %d (--min-bytes and --max-bytes narrow them)", path, len(p.Sizes), maxPoints)
	}
	calls, err := search.LibraryCalls(cmd.Context(), p, search.Options{Observer: search.Observer{Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }}})
	if err != nil {
		return usage(err)
	}
	left := 0
	for _, c := range calls {
		if c.StandIn || c.ClockUS > 0 { // another algorithm, so its times are not comparable
			left++
			continue
		}
		us, _ := measured.At(c.Bytes, placement)
		t.Points = append(t.Points, calibrate.Point{LibraryCall: c, MeasuredUS: us})
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the times at these %s are not used\n", path, units.Count(left, "size"))
	}
	if len(t.Points) < 2 {
		return &nothingError{fmt.Errorf("%s on %s: there is no program for the library's choices", t.collective, t.Topology.Name)}
	}
	return nil
}
