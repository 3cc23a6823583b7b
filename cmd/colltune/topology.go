package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/draw"
)

func topologyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "List, show, check, import and calibrate GPU systems, and bound what they can do",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(topologyListCommand(), topologyShowCommand(), topologyCheckCommand(), topologyCalibrateCommand(), topologyBoundsCommand(), topologyImportCommand())
	return cmd
}

// topologyRow describes a system in a table or in JSON.
type topologyRow struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Ranks   int    `json:"ranks"`
	SMs     int    `json:"sms"` // of the GPU with the fewest
	Links   string `json:"links"`
	Arch    string `json:"arch"`
	Runtime string `json:"runtime"`
}

// topologyRowOf summarises a system.
func topologyRowOf(t *topologies.Topology) topologyRow {
	return topologyRow{Name: t.Name, Nodes: t.Nodes, Ranks: len(t.Ranks), SMs: t.MinSMs(), Links: strings.Join(linkSummary(t), ", "), Arch: t.Arch, Runtime: t.Runtime}
}

// linkSummary counts a system's edges by kind and bandwidth, in order of appearance:
// "8 x nvlink 300 GB/s".
func linkSummary(t *topologies.Topology) []string {
	type class struct {
		kind topologies.LinkKind
		bw   string
	}
	count := map[class]int{}
	var order []class
	for _, e := range t.Edges {
		s := class{e.Kind, e.Bandwidth.String()}
		if count[s] == 0 {
			order = append(order, s)
		}
		count[s]++
	}
	var all []string
	for _, s := range order {
		all = append(all, fmt.Sprintf("%d x %s %s", count[s], s.kind, s.bw))
	}
	return all
}

func topologyListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the catalogue",
		Long: `list prints the catalogue of GPU systems, which -t accepts by name.

  colltune topology list`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []topologyRow
			for _, name := range topologies.Names() {
				t, err := topologies.Resolve(name, topologies.Options{})
				if err != nil {
					return err
				}
				rows = append(rows, topologyRowOf(t))
			}
			return printResult(cmd, "topologies", struct {
				Topologies []topologyRow `json:"topologies"`
				Generators []string      `json:"generators"`
			}{rows, generators}, topologySheet(rows))
		},
	}
	outputFlags(cmd)
	return cmd
}

// topologySheet returns systems as a table.
func topologySheet(rows []topologyRow) sheet {
	s := sheet{columns: []column{text("topology"), number("nodes"), number("ranks"), number("SMs"), text("arch"), text("runtime"), text("directed links")}}
	for _, r := range rows {
		s.add(r.Name, strconv.Itoa(r.Nodes), strconv.Itoa(r.Ranks), strconv.Itoa(r.SMs), r.Arch, r.Runtime, r.Links)
	}
	return s
}

func topologyCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check T",
		Short: "Check a topology file, summarise it, and point at doubtful numbers",
		Long: `check reads a topology, reports errors with their lines, summarises the system, and
lists doubtful numbers: those that are assumed or inferred, links that differ between
directions, NICs that cannot be filled, and the like.

  colltune topology check mymachine.toml --nodes 4`,
		Args: exactArgs("the topology T"),
		RunE: func(cmd *cobra.Command, args []string) error {
			nodes, _ := cmd.Flags().GetInt("nodes")
			o, err := topologyOptions(cmd, nodes)
			if err != nil {
				return err
			}
			t, found, err := topologies.Lint(args[0], o)
			if err != nil {
				return usage(err)
			}
			s := sheet{columns: []column{number("line"), text("key"), text("worth a look")}}
			for _, f := range found {
				line := "-"
				if f.Line > 0 {
					line = strconv.Itoa(f.Line)
				}
				s.add(line, f.Key, f.Msg)
			}
			row := topologyRowOf(t)
			summary := topologySheet([]topologyRow{row})
			summary.columns = append(summary.columns, number("findings"))
			summary.rows[0] = append(summary.rows[0], strconv.Itoa(len(found)))
			if format, _ := cmd.Flags().GetString("format"); format != "table" || len(found) == 0 {
				return printResult(cmd, "topologies", struct {
					Topologies []topologyRow        `json:"topologies"`
					Findings   []topologies.Finding `json:"findings"`
				}{[]topologyRow{row}, append([]topologies.Finding{}, found...)}, summary)
			}
			return writeOut(cmd, func(w io.Writer) error {
				if err := summary.writeTable(w, look{}); err != nil {
					return err
				}
				fmt.Fprintln(w)
				return s.writeTable(w, lookOf(cmd))
			})
		},
		ValidArgsFunction: firstArg(completeTopology),
	}
	topologyPartFlags(cmd)
	outputFlags(cmd)
	return cmd
}

// linkRow is a directed edge, in JSON.
type linkRow struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Kind      string  `json:"kind"`
	Count     int     `json:"count"`
	GBps      float64 `json:"bandwidth_gbps"`
	LatencyUS float64 `json:"latency_us"`
	MessageUS float64 `json:"message_us"`
}

// drawers draw a system in the formats that are not sheets.
var drawers = map[string]func(io.Writer, *topologies.Topology) error{"svg": draw.SVG, "table": draw.Text}

func topologyShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show T",
		Short: "Draw a system: its GPUs, links, switches, NICs and fabric",
		Long: `show draws a system as text, as a picture (-o svg) or as a graph for Graphviz
(-o dot); -o json and csv list every link. -o toml prints the file of a catalogue
entry, as a start for your own.

  colltune topology show dgx-1
  colltune topology show frontier --nodes 2 -o svg --out frontier.svg`,
		Args: exactArgs("the topology T"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, _ := cmd.Flags().GetString("format")
			if format == "toml" {
				return showSource(cmd, args[0])
			}
			t, err := topology(cmd, args[0])
			if err != nil {
				return err
			}
			if draw := drawers[format]; draw != nil {
				return writeOut(cmd, func(w io.Writer) error { return draw(w, t) })
			}
			links := []linkRow{}
			s := sheet{columns: []column{text("from"), text("to"), text("kind"), number("links"), number("GB/s"), number("latency us"), number("message us")}}
			for _, e := range t.Edges {
				l := linkRow{vertexName(t, e.From), vertexName(t, e.To), e.Kind.String(), e.Count, e.Bandwidth.GBps(), float64(e.Latency), float64(e.Message)}
				links = append(links, l)
				s.add(l.From, l.To, l.Kind, strconv.Itoa(l.Count), short(l.GBps), short(l.LatencyUS), short(l.MessageUS))
			}
			return printResult(cmd, "topology", struct {
				topologyRow
				Hash  string    `json:"hash"`
				Links []linkRow `json:"links"`
			}{topologyRowOf(t), t.Hash(), links}, s)
		},
		ValidArgsFunction: firstArg(completeTopology),
	}
	topologyPartFlags(cmd)
	choiceFlag(cmd, "format", "o", "table", append(slices.Clone(formats), "svg", "toml"), "how to print the system")
	columnFlags(cmd)
	outFlag(cmd)
	return cmd
}

// showSource prints the file of a catalogue entry, unchanged.
func showSource(cmd *cobra.Command, name string) error {
	if isSet(cmd, "nodes") || isSet(cmd, "gpus") {
		return usagef("-o toml prints the entry's file unchanged: leave out --nodes and --gpus")
	}
	source, ok := topologies.Source(name)
	if !ok {
		return usagef("%q is not in the catalogue%s: -o toml prints the files of %s", name, suggest.DidYouMean(name, topologies.Names()), strings.Join(topologies.Names(), ", "))
	}
	return writeOut(cmd, func(w io.Writer) error {
		_, err := w.Write(source)
		return err
	})
}

// vertexName names a rank, or a switch or NIC and its node, for people.
func vertexName(t *topologies.Topology, v int) string {
	if v < len(t.Ranks) {
		return "rank " + strconv.Itoa(v)
	}
	if t.Vertices[v].Node >= 0 && t.Nodes > 1 {
		return fmt.Sprintf("%s of node %d", t.Vertices[v].Name, t.Vertices[v].Node)
	}
	return t.Vertices[v].Name
}
