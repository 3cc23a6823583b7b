package draw

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// svgNodes is the largest number of nodes drawn; the caption says so if there
// are more.
const svgNodes = 4

// point is a place in the picture, in pixels.
type point struct{ x, y float64 }

// colours gives each kind of link the colour of its lines.
var colours = [...]string{topologies.NVLink: "#2e7d32", topologies.XGMI: "#c62828", topologies.PCIe: "#6d4c41", topologies.Net: "#1565c0", topologies.Host: "#8e24aa"}

// fills gives each kind of vertex the colour of its box.
var fills = [...]string{topologies.GPU: "#e8f5e9", topologies.Switch: "#fff8e1", topologies.NIC: "#e3f2fd", topologies.Fabric: "#eceff1"}

// picture is the layout of a drawing: the centre of each vertex that is drawn, and
// the overall size.
type picture struct {
	t             *topologies.Topology
	at            map[int]point
	width, height float64
}

// Sizes in pixels.
const (
	boxWidth  = 64
	boxHeight = 22
	margin    = 30
	// legendLine is the height of one line of the legend.
	legendLine = 18
)

// SVG draws a topology. Each node is a circle of GPUs with its switches in the
// middle and each NIC outside, next to the GPUs it serves; the fabric runs
// below all nodes. An error is w's.
func SVG(w io.Writer, t *topologies.Topology) error {
	p := place(t)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="11">`+"\n",
		p.width, p.height, p.width, p.height)
	fmt.Fprintf(&b, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", safe.HTML(t.Name))
	b.WriteString(`<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	p.links(&b)
	for v := range t.Vertices {
		p.vertex(&b, v)
	}
	fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" font-size=\"14\">%s</text>\n", margin, margin-10, safe.HTML(p.caption()))
	p.legend(&b)
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *picture) caption() string {
	s := fmt.Sprintf("%s: %s on %s", p.t.Name, units.Count(len(p.t.Ranks), "rank"), units.Count(p.t.Nodes, "node"))
	if p.t.Nodes > svgNodes {
		s += fmt.Sprintf(", the first %d drawn", svgNodes)
	}
	return s
}

// place lays out the nodes side by side, each as a circle, and the fabric below.
func place(t *topologies.Topology) *picture {
	p := &picture{t: t, at: map[int]point{}}
	nodes := min(t.Nodes, svgNodes)
	most := 0
	for node := range nodes {
		most = max(most, len(t.NodeRanks(node)))
	}
	ring := math.Max(125, float64(most)*(boxWidth+14)/(2*math.Pi)) // radius of the circle of GPUs
	outer := ring
	if t.Nodes > 1 {
		outer += 70
	}
	side := 2*outer + boxWidth + 2*margin
	p.width, p.height = side*float64(nodes), side+margin
	for node := range nodes {
		center := point{side * (float64(node) + .5), margin + side/2}
		p.circle(node, center, ring, outer)
	}
	fabrics := 0
	for _, x := range t.Vertices {
		if x.Node < 0 {
			fabrics++
		}
	}
	i := 0
	for v, x := range t.Vertices {
		if x.Node < 0 && i < 64 {
			p.at[v] = point{p.width * (float64(i) + .5) / float64(min(fabrics, 64)), p.height + margin}
			i++
		}
	}
	if fabrics > 0 {
		p.height += 2*margin + boxHeight
	}
	p.height += margin/2 + legendLine*float64(len(classes(linksOf(t))))
	return p
}

// circle places the vertices of one node around its centre c.
func (p *picture) circle(node int, c point, ring, outer float64) {
	ranks := p.t.NodeRanks(node)
	angle := map[int]float64{}
	turn := func(a, r float64) point { return point{c.x + r*math.Sin(a), c.y - r*math.Cos(a)} }
	for i, r := range ranks {
		angle[r] = 2 * math.Pi * float64(i) / float64(len(ranks))
		p.at[r] = turn(angle[r], ring)
		if len(ranks) == 1 {
			p.at[r] = c
		}
	}
	var switches, nics []int
	for v := len(p.t.Ranks); v < len(p.t.Vertices); v++ {
		switch x := p.t.Vertices[v]; {
		case x.Node != node:
		case x.Kind == topologies.Switch:
			switches = append(switches, v)
		case x.Kind == topologies.NIC:
			nics = append(nics, v)
		}
	}
	for i, v := range switches {
		p.at[v] = c
		if n := len(switches); n > 1 {
			p.at[v] = turn(p.mean(v, angle, 2*math.Pi*float64(i)/float64(n)), ring*.45)
		}
	}
	crowd := map[int]float64{} // NICs at the same angle are shifted to stand side by side
	for i, v := range nics {
		a := p.mean(v, angle, 2*math.Pi*float64(i)/float64(len(nics)))
		at := int(math.Round(a * 100))
		p.at[v] = turn(a+crowd[at], outer)
		crowd[at] += (boxWidth + 8) / outer
	}
}

// mean returns the average direction of the GPUs that link to a vertex. It returns
// other if there are none, or if they surround the vertex and cancel out.
func (p *picture) mean(v int, angle map[int]float64, other float64) float64 {
	x, y := 0.0, 0.0
	for _, e := range p.t.In(v) {
		if a, ok := angle[p.t.Edges[e].From]; ok {
			x, y = x+math.Sin(a), y+math.Cos(a)
		}
	}
	if math.Hypot(x, y) < 1e-6 {
		return other
	}
	return math.Atan2(x, y)
}

// links draws a line for each link, thicker where it stands for several. Lines are
// translucent, so that crossings stay readable.
func (p *picture) links(b *strings.Builder) {
	for _, l := range linksOf(p.t) {
		from, ok := p.at[l.a]
		to, has := p.at[l.b]
		if !ok || !has {
			continue
		}
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%.1f" stroke-opacity="0.6"`,
			from.x, from.y, to.x, to.y, colours[l.Kind], thickness(l))
		if !l.both {
			b.WriteString(` marker-end="url(#arrow)"`)
		}
		fmt.Fprintf(b, "><title>%s</title></line>\n", safe.HTML(p.t.Vertices[l.a].Name+" to "+p.t.Vertices[l.b].Name+": "+l.Kind.String()+", "+l.wire()))
	}
}

// thickness returns the width of a link's line, in pixels.
func thickness(l link) float64 {
	return 1 + 1.5*math.Min(math.Log2(float64(l.Count)), 3)
}

func (p *picture) vertex(b *strings.Builder, v int) {
	at, ok := p.at[v]
	if !ok {
		return
	}
	x := p.t.Vertices[v]
	name := x.Name
	if len([]rune(name)) > 12 {
		name = string([]rune(name)[:11]) + "…"
	}
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%.1f" y="%.1f" width="%d" height="%d" rx="%d" fill="%s" stroke="#37474f"/><text x="%.1f" y="%.1f" text-anchor="middle">%s</text></g>`+"\n",
		safe.HTML(x.Name), at.x-boxWidth/2, at.y-boxHeight/2, boxWidth, boxHeight, 3+8*int(x.Kind&1), fills[x.Kind], at.x, at.y+4, safe.HTML(name))
}

// legend explains each class of link that occurs, with a sample of its line.
func (p *picture) legend(b *strings.Builder) {
	all := classes(linksOf(p.t))
	for i, c := range all {
		y := p.height - margin/2 - legendLine*float64(len(all)-1-i)
		fmt.Fprintf(b, `<line x1="%d" y1="%.0f" x2="%d" y2="%.0f" stroke="%s" stroke-width="%.1f"/><text x="%d" y="%.0f">%s</text>`+"\n",
			margin, y, margin+20, y, colours[c[0].Kind], thickness(c[0]), margin+26, y+4, safe.HTML(c[0].Kind.String()+" "+c[0].wire()))
	}
}
