package constraints

import (
	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// nicSearch looks for a choice of the given width, one GPU after another.
type nicSearch struct {
	*nicSide
	room   map[int]int // by link: how many more GPUs' data it can take
	choice []int
	tries  int
	all    *nicFlow
	alone  *nicFlow // the flow with every GPU as its own relay
}

// nicTries is how many carriers a search tries before it gives up on a width.
// Existing nodes need one try for each GPU.
const nicTries = 1 << 14

func newNICSearch(s *nicSide, width units.Bandwidth) *nicSearch {
	n := &nicSearch{nicSide: s, room: map[int]int{}, choice: make([]int, len(s.gpus))}
	for _, carriers := range s.carriers {
		for _, c := range carriers {
			for _, e := range c.edges {
				n.room[e] = int(min(s.t.Edges[e].Bandwidth/width, units.Bandwidth(len(s.gpus))))
			}
		}
	}
	n.all, n.alone = n.flow(false), n.flow(true)
	return n
}

// nicFlow is a flow of all GPUs' data to the fabric: from the source to each GPU,
// on to a relaying GPU, and along that one's own way. It ignores that hand-overs
// and ways may use the same links, so its value is an upper bound.
type nicFlow struct {
	graph *maxflow.Graph
	gpu   []int       // by GPU: the arc from the source
	edges map[int]int // by link of a way: its arc
}

func (n *nicSearch) flow(alone bool) *nicFlow {
	gpus, vertices := len(n.gpus), len(n.t.Vertices)
	source, sink := gpus+vertices, gpus+vertices+1
	f := &nicFlow{graph: maxflow.New(sink + 1), edges: map[int]int{}}
	for g, carriers := range n.carriers {
		f.gpu = append(f.gpu, f.graph.Arc(source, g, 1))
		for _, c := range carriers {
			if c.gpu == g || !alone {
				f.graph.Arc(g, gpus+n.gpus[c.gpu], 1)
			}
		}
	}
	for g, way := range n.ways {
		// Outgoing data are followed from the GPU on, incoming data backwards.
		at := gpus + n.gpus[g]
		for i := range way {
			e := way[i]
			if !n.out {
				e = way[len(way)-1-i]
			}
			next := gpus + n.t.Edges[e].To
			if !n.out {
				next = gpus + n.t.Edges[e].From
			}
			if i == len(way)-1 {
				next = sink
			}
			if _, ok := f.edges[e]; !ok {
				f.edges[e] = f.graph.Arc(at, next, 0)
			}
			at = next
		}
	}
	return f
}

// most is how many of the GPUs from the given one on can still have a way.
func (n *nicSearch) most(f *nicFlow, from int) int {
	for g, arc := range f.gpu {
		f.graph.Set(arc, int64(btoi(g >= from)))
	}
	for e, arc := range f.edges {
		f.graph.Set(arc, int64(n.room[e]))
	}
	gpus := len(n.gpus)
	return int(f.graph.Run(gpus+len(n.t.Vertices), gpus+len(n.t.Vertices)+1, int64(gpus)))
}

// fits tells whether all GPUs from the given one on may still have a way.
func (n *nicSearch) fits(from int) bool { return n.most(n.all, from) == len(n.gpus)-from }

// own is how many of the GPUs from the given one on can use their own NIC.
func (n *nicSearch) own(from int) int { return n.most(n.alone, from) }

// from chooses for GPU g and all that follow, using at most the given number of
// relays.
func (n *nicSearch) from(g, over int) bool {
	if g == len(n.gpus) {
		return true
	}
	if len(n.gpus)-g-n.own(g) > over || !n.fits(g) {
		return false
	}
	for _, c := range n.carriers[g] {
		if c.gpu != g && over == 0 {
			continue
		}
		if n.tries++; n.tries > nicTries {
			return false
		}
		if n.take(c, 1) {
			n.choice[g] = c.gpu
			if n.from(g+1, over-btoi(c.gpu != g)) {
				return true
			}
		}
		n.take(c, -1)
	}
	return false
}

// take adds a load to the links of a carrier, and tells whether they can bear it.
func (n *nicSearch) take(c carrier, by int) bool {
	bear := true
	for _, e := range c.edges {
		n.room[e] -= by
		bear = bear && n.room[e] >= 0
	}
	return bear
}
