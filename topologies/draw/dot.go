package draw

import (
	"fmt"
	"io"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/topologies"
)

// dotShapes maps a kind of vertex to the shape that Graphviz draws it with.
var dotShapes = [...]string{topologies.GPU: "box", topologies.Switch: "ellipse", topologies.NIC: "component", topologies.Fabric: "doubleoctagon"}

// DOT writes a topology as a Graphviz graph: one cluster for each node and one
// edge for each link, with an arrowhead only if the link goes one way. An error
// is w's.
func DOT(w io.Writer, t *topologies.Topology) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  layout=fdp; splines=true; fontname=\"sans-serif\";\n  node [fontname=\"sans-serif\", fontsize=10];\n  edge [dir=none, fontname=\"sans-serif\", fontsize=8];\n", safe.DOT(t.Name))
	inner := make([][]int, t.Nodes)
	var fabrics []int
	for v, x := range t.Vertices {
		if x.Node < 0 {
			fabrics = append(fabrics, v)
		} else {
			inner[x.Node] = append(inner[x.Node], v)
		}
	}
	vertex := func(indent string, v int) {
		x := t.Vertices[v]
		fmt.Fprintf(&b, "%sv%d [label=%s, shape=%s];\n", indent, v, safe.DOT(x.Name), dotShapes[x.Kind])
	}
	for node, vertices := range inner {
		fmt.Fprintf(&b, "  subgraph cluster%d {\n    label=\"node %d\";\n", node, node)
		for _, v := range vertices {
			vertex("    ", v)
		}
		b.WriteString("  }\n")
	}
	for _, v := range fabrics {
		vertex("  ", v)
	}
	for _, l := range linksOf(t) {
		fmt.Fprintf(&b, "  v%d -> v%d [label=\"%v %v\"", l.a, l.b, l.Kind, l.Bandwidth)
		if l.Count > 1 {
			fmt.Fprintf(&b, ", penwidth=%d", min(l.Count, 6))
		}
		if !l.both {
			b.WriteString(", dir=forward")
		}
		b.WriteString("];\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
