package constraints

import (
	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// nicSearch looks for a choice of a width, GPU by GPU.
type nicSearch struct {
	*nicSide
	room   map[int]int // of each link: how many GPUs' data can still take it
	choice []int
	tries  int
	all    *nicFlow
	alone  *nicFlow // every GPU by itself
}

// nicTries is how many carriers a search tries before it gives a width up: of the
// nodes there are, it tries each GPU's once.
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

// nicFlow is a flow of all GPUs' data to the fabric: from the source over each GPU
// to one that carries for it, and over that one's own way. That ways share links
// with hand-overs it does not see, and so it is at least what there is.
type nicFlow struct {
	graph *maxflow.Graph
	gpu   []int       // the arc from the source to each
	edges map[int]int // the arc of each link of a way
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
		// Followed from the GPU on; what comes in, backwards.
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

// most is how many of the GPUs from one on still have a way.
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

// fits tells whether all GPUs from one on may have a way, by what is left.
func (n *nicSearch) fits(from int) bool { return n.most(n.all, from) == len(n.gpus)-from }

// own is how many of the GPUs from one on can use their own NIC.
func (n *nicSearch) own(from int) int { return n.most(n.alone, from) }

// from chooses for the GPUs from one on, with so many hand-overs at most.
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

// take loads the links of a carrier, and tells whether they bear it.
func (n *nicSearch) take(c carrier, by int) bool {
	bear := true
	for _, e := range c.edges {
		n.room[e] -= by
		bear = bear && n.room[e] >= 0
	}
	return bear
}
