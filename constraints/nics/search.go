package nics

import (
	"github.com/colltune/colltune/constraints/maxflow"
	"github.com/colltune/colltune/internal/units"
)

// search looks for a choice of a given width, one GPU after another.
type search struct {
	*direction
	room     map[int]int // by link: how many more GPUs' data it can take
	choice   []int
	tries    int
	anyRelay *flow
	ownOnly  *flow // the flow with every GPU as its own relay
}

// maxNICTries is the number of relays that a search tries before it gives up on a
// width. The catalogue's nodes need one try for each GPU.
const maxNICTries = 1 << 14

func newNICSearch(s *direction, width units.Bandwidth) *search {
	n := &search{direction: s, room: map[int]int{}, choice: make([]int, len(s.gpus))}
	for _, carriers := range s.relays {
		for _, c := range carriers {
			for _, e := range c.edges {
				n.room[e] = int(min(s.t.Edges[e].Bandwidth/width, units.Bandwidth(len(s.gpus))))
			}
		}
	}
	n.anyRelay, n.ownOnly = n.flow(false), n.flow(true)
	return n
}

// flow is a flow of all GPUs' data to the fabric: from the source to each GPU, on to
// a relay, and along the relay's own path. It ignores the links between GPU and relay,
// so its value is an upper bound.
type flow struct {
	graph *maxflow.Graph
	gpu   []int       // by GPU: the arc from the source
	edges map[int]int // by link of a way: its arc
}

func (n *search) flow(alone bool) *flow {
	gpus, vertices := len(n.gpus), len(n.t.Vertices)
	source, sink := gpus+vertices, gpus+vertices+1
	f := &flow{graph: maxflow.New(sink + 1), edges: map[int]int{}}
	for g, carriers := range n.relays {
		f.gpu = append(f.gpu, f.graph.Arc(source, g, 1))
		for _, c := range carriers {
			if c.gpu == g || !alone {
				f.graph.Arc(g, gpus+n.gpus[c.gpu], 1)
			}
		}
	}
	for g, way := range n.ownPaths {
		// Outgoing paths are followed from the GPU, incoming ones backwards.
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

// maxServed returns how many of the GPUs from the given one on the flow can serve.
func (n *search) maxServed(f *flow, from int) int {
	for g, arc := range f.gpu {
		f.graph.SetCapacity(arc, int64(toInt(g >= from)))
	}
	for e, arc := range f.edges {
		f.graph.SetCapacity(arc, int64(n.room[e]))
	}
	gpus := len(n.gpus)
	return int(f.graph.MaxFlow(gpus+len(n.t.Vertices), gpus+len(n.t.Vertices)+1, int64(gpus)))
}

// fits reports whether the flow can serve all GPUs from the given one on.
func (n *search) fits(from int) bool { return n.maxServed(n.anyRelay, from) == len(n.gpus)-from }

// maxOwn returns how many of the GPUs from the given one on can use their own NIC.
func (n *search) maxOwn(from int) int { return n.maxServed(n.ownOnly, from) }

// assign chooses relays for GPU g and all after it, at most over of which are other
// GPUs.
func (n *search) assign(g, over int) bool {
	if g == len(n.gpus) {
		return true
	}
	if len(n.gpus)-g-n.maxOwn(g) > over || !n.fits(g) {
		return false
	}
	for _, c := range n.relays[g] {
		if c.gpu != g && over == 0 {
			continue
		}
		if n.tries++; n.tries > maxNICTries {
			return false
		}
		if n.load(c, 1) {
			n.choice[g] = c.gpu
			if n.assign(g+1, over-toInt(c.gpu != g)) {
				return true
			}
		}
		n.load(c, -1)
	}
	return false
}

// load adds a load to the links of a relay, and reports whether they can carry it.
func (n *search) load(c relay, by int) bool {
	bear := true
	for _, e := range c.edges {
		n.room[e] -= by
		bear = bear && n.room[e] >= 0
	}
	return bear
}
