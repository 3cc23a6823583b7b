package draw

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// matrixGPUs is the largest node, in GPUs, that gets a matrix; a wider one would
// not fit a terminal.
const matrixGPUs = 16

// Text draws a topology for the terminal: for each kind of node a matrix of the
// paths between its GPUs and a line for each class of link, then the links
// between nodes. An error is w's.
func Text(w io.Writer, t *topologies.Topology) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s on %s, %s, runtime %s\n", safe.Line(t.Name), units.Count(len(t.Ranks), "rank"), units.Count(t.Nodes, "node"), t.Arch, t.Runtime)
	links := linksOf(t)
	for _, nodes := range kinds(t) {
		b.WriteString("\n" + nodeTitle(t, nodes) + "\n")
		if n := len(t.NodeRanks(nodes[0])); n > 1 && n <= matrixGPUs {
			b.WriteString("\n")
			matrix(&b, t, t.NodeRanks(nodes[0]))
		}
		b.WriteString("\n")
		lines(&b, t, inNode(t, links, nodes[0]), false)
	}
	if outer := between(t, links); len(outer) > 0 {
		b.WriteString("\nbetween nodes\n\n")
		lines(&b, t, outer, true)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func nodeTitle(t *topologies.Topology, nodes []int) string {
	first := t.Ranks[t.NodeRanks(nodes[0])[0]]
	s := "the node"
	switch {
	case t.Nodes > 1 && len(nodes) == t.Nodes:
		s = "every node"
	case len(nodes) > 1:
		s = "nodes " + ranges(nodes)
	case t.Nodes > 1:
		s = fmt.Sprintf("node %d", nodes[0])
	}
	s += fmt.Sprintf(": %s of %d SMs", units.Count(len(t.NodeRanks(nodes[0])), "GPU"), first.SMs)
	if first.Memory > 0 {
		s += fmt.Sprintf(", memory %v", first.Memory)
	}
	return s
}

// inNode selects the links within a node and from it to the fabric.
func inNode(t *topologies.Topology, links []link, node int) (own []link) {
	for _, l := range links {
		a, b := t.Vertices[l.a].Node, t.Vertices[l.b].Node
		if (a == node || a < 0) && (b == node || b < 0) && max(a, b) == node {
			own = append(own, l)
		}
	}
	return own
}

// between selects the links from one node to another, and those inside the fabric.
func between(t *topologies.Topology, links []link) (outer []link) {
	for _, l := range links {
		a, b := t.Vertices[l.a].Node, t.Vertices[l.b].Node
		if a < 0 && b < 0 || a >= 0 && b >= 0 && a != b {
			outer = append(outer, l)
		}
	}
	return outer
}

// lines prints one line for each class of link.
func lines(b *strings.Builder, t *topologies.Topology, links []link, outer bool) {
	all := classes(links)
	width := 0
	for _, c := range all {
		width = max(width, utf8.RuneCountInString(c[0].wire()))
	}
	for _, c := range all {
		fmt.Fprintf(b, "%-6v  %-*s  %s\n", c[0].Kind, width, c[0].wire(), joint(t, c, outer))
	}
}

// matrix prints the path between every two GPUs of a node; see way.
func matrix(b *strings.Builder, t *topologies.Topology, ranks []int) {
	header := []string{"gpu"}
	for _, r := range ranks {
		header = append(header, strconv.Itoa(t.Ranks[r].Local))
	}
	rows := [][]string{header}
	for i, x := range ranks {
		row := []string{header[i+1]}
		for _, y := range ranks {
			row = append(row, way(t, x, y))
		}
		rows = append(rows, row)
	}
	width := make([]int, len(header))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s", width[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(b, "  %*s", width[i+1], cell)
		}
		b.WriteString("\n")
	}
}

// way returns the matrix cell of two GPUs: the number of direct links, or else
// the most distant kind of link on the path between them, or a dot if there is
// no path.
func way(t *topologies.Topology, a, b int) string {
	if a == b {
		return "-"
	}
	p, ok := t.Path(a, b)
	switch {
	case !ok:
		return "."
	case len(p.Edges) == 1:
		return strconv.Itoa(t.Edges[p.Edges[0]].Count)
	}
	kind := topologies.NVLink
	for _, e := range p.Edges {
		kind = max(kind, t.Edges[e].Kind)
	}
	switch kind {
	case topologies.PCIe:
		return "pcie"
	case topologies.Host:
		return "host"
	}
	return "sw"
}
