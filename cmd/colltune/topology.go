package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/topologies"
)

func topologyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topology",
		Short: "List, show and check GPU systems, and what bounds them",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	cmd.AddCommand(topologyListCommand(), topologyShowCommand(), topologyCheckCommand(), topologyBoundsCommand())
	return cmd
}

// topologyRow is a system in a line.
type topologyRow struct {
	Name    string `json:"name"`
	Nodes   int    `json:"nodes"`
	Ranks   int    `json:"ranks"`
	SMs     int    `json:"sms"` // least of any GPU
	Links   string `json:"links"`
	Arch    string `json:"arch"`
	Runtime string `json:"runtime"`
}

func rowOf(t *topologies.Topology) topologyRow {
	return topologyRow{Name: t.Name, Nodes: t.Nodes, Ranks: len(t.Ranks), SMs: t.MinSMs(), Links: strings.Join(linkSummary(t), ", "), Arch: t.Arch, Runtime: t.Runtime}
}

// linkSummary counts a system's edges by kind and bandwidth, in the order they
// first appear.
func linkSummary(t *topologies.Topology) []string {
	type sort struct {
		kind topologies.LinkKind
		bw   string
	}
	count := map[sort]int{}
	var order []sort
	for _, e := range t.Edges {
		s := sort{e.Kind, e.Bandwidth.String()}
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
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows []topologyRow
			for _, name := range topologies.Names() {
				t, err := topologies.Resolve(name, topologies.Options{})
				if err != nil {
					return err
				}
				rows = append(rows, rowOf(t))
			}
			return emit(cmd, "topologies", struct {
				Topologies []topologyRow `json:"topologies"`
				Generators []string      `json:"generators"`
			}{rows, generators}, topologySheet(rows))
		},
	}
	outputFlags(cmd)
	return cmd
}

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
		Short: "Check a topology file, and sum up what it describes",
		Args:  exactly("the topology T"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topology(cmd, args[0])
			if err != nil {
				return err
			}
			return emit(cmd, "topologies", struct {
				Topologies []topologyRow `json:"topologies"`
			}{[]topologyRow{rowOf(t)}}, topologySheet([]topologyRow{rowOf(t)}))
		},
		ValidArgsFunction: firstIs(completeTopology),
	}
	topologyFlags(cmd, true)
	outputFlags(cmd)
	return cmd
}

// linkRow is a directed edge, by the names of its ends.
type linkRow struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Kind      string  `json:"kind"`
	Count     int     `json:"count"`
	GBps      float64 `json:"bandwidth_gbps"`
	LatencyUS float64 `json:"latency_us"`
	MessageUS float64 `json:"message_us"`
}

func topologyShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show T",
		Short: "Show a system: its links, and how many join each two GPUs",
		Args:  exactly("the topology T"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topology(cmd, args[0])
			if err != nil {
				return err
			}
			var links []linkRow
			s := sheet{columns: []column{text("from"), text("to"), text("kind"), number("links"), number("GB/s"), number("latency us"), number("message us")}}
			for _, e := range t.Edges {
				l := linkRow{vertexName(t, e.From), vertexName(t, e.To), e.Kind.String(), e.Count, e.Bandwidth.GBps(), float64(e.Latency), float64(e.Message)}
				links = append(links, l)
				s.add(l.From, l.To, l.Kind, strconv.Itoa(l.Count), short(l.GBps), short(l.LatencyUS), short(l.MessageUS))
			}
			if format, _ := cmd.Flags().GetString("format"); format != "table" {
				return emit(cmd, "topology", struct {
					topologyRow
					Hash  string    `json:"hash"`
					Links []linkRow `json:"links"`
				}{rowOf(t), t.Hash(), links}, s)
			}
			return deliver(cmd, func(w io.Writer) error { return drawTopology(w, t, s) })
		},
		ValidArgsFunction: firstIs(completeTopology),
	}
	topologyFlags(cmd, true)
	outputFlags(cmd)
	return cmd
}

// drawn is how many GPUs a matrix of links is drawn for.
const drawn = 16

// drawTopology prints a system for people: its first node's GPUs as a matrix
// of links, then every edge.
func drawTopology(w io.Writer, t *topologies.Topology, links sheet) error {
	r := rowOf(t)
	fmt.Fprintf(w, "%s: %d ranks on %d nodes, %s, runtime %s, at least %d SMs\n%s\n\n", r.Name, r.Ranks, r.Nodes, r.Arch, r.Runtime, r.SMs, r.Links)
	if n := len(t.NodeRanks(0)); n <= drawn {
		if err := matrix(t).writeTable(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return links.writeTable(w)
}

// matrix is how the GPUs of the first node reach each other: a number of
// direct links, what lies between them, or nothing.
func matrix(t *topologies.Topology) *sheet {
	ranks := t.NodeRanks(0)
	s := &sheet{columns: []column{text("gpu")}}
	for _, b := range ranks {
		s.columns = append(s.columns, number(strconv.Itoa(t.Ranks[b].Local)))
	}
	for _, a := range ranks {
		row := []string{strconv.Itoa(t.Ranks[a].Local)}
		for _, b := range ranks {
			row = append(row, joint(t, a, b))
		}
		s.add(row...)
	}
	return s
}

func joint(t *topologies.Topology, a, b int) string {
	if a == b {
		return "-"
	}
	p, ok := t.Path(a, b)
	switch {
	case !ok:
		return "."
	case len(p.Edges) == 1:
		return strconv.Itoa(t.Edges[p.Edges[0]].Count)
	case p.Net:
		return "net"
	}
	return "sw"
}

func vertexName(t *topologies.Topology, v int) string {
	if v < len(t.Ranks) {
		return "rank " + strconv.Itoa(v)
	}
	if t.Vertices[v].Node >= 0 && t.Nodes > 1 {
		return fmt.Sprintf("%s of node %d", t.Vertices[v].Name, t.Vertices[v].Node)
	}
	return t.Vertices[v].Name
}

// short prints a number without an exponent or a tail of zeros.
func short(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
