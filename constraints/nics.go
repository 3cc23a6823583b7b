package constraints

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// NICAnswer is which GPUs of a node speak for the others: what GPU g sends to other
// nodes leaves by GPU Out[g], what it gets from them comes in by GPU In[g], each by
// its place in the node. A GPU that uses its own NIC stands for itself.
type NICAnswer struct {
	Out, In []int
	// Width is what every GPU can send and get at once: the least, over the links
	// within the node and those to and from the fabric, of bandwidth over the GPUs
	// whose data take them.
	Width units.Bandwidth
	// OwnWidth is that of a node in which every GPU uses its own NIC, 0 where some
	// GPU has none.
	OwnWidth units.Bandwidth
}

// Own tells whether every GPU uses its own NIC, both ways.
func (a NICAnswer) Own() bool {
	own := upTo(len(a.Out))
	return slices.Equal(a.Out, own) && slices.Equal(a.In, own)
}

// Lists are the answer as a hole of NICs takes it: one list where data come in as
// they go out, else one for each.
func (a NICAnswer) Lists() [][]int {
	if slices.Equal(a.Out, a.In) {
		return [][]int{a.Out}
	}
	return [][]int{a.Out, a.In}
}

// NoNICError says that some GPU has no way to other nodes, not even by way of one
// GPU of its own, in the topology's terms.
type NoNICError struct {
	Topology string
	Why      string
}

func (e *NoNICError) Error() string { return fmt.Sprintf("topology %s: %s", e.Topology, e.Why) }

// NICs chooses the GPU by which the data of each GPU of a node leave it, and that by
// which they come in, where nodes are alike: such that the busiest link of the node
// carries least when all of them send as much, and then with the fewest hand-overs.
// A hand-over is over a link to the GPU that has the way out, or from the one that
// has the way in. How wide it can be a maximum flow says; what meets that is found
// by a search which the flow keeps on the way, and which counts links that are both
// hand-over and way out, as a flow cannot.
//
// The error is a *NoNICError where there is no such choice.
func NICs(t *topologies.Topology) (NICAnswer, error) {
	if t.Nodes < 2 {
		own := upTo(len(t.Ranks))
		return NICAnswer{Out: own, In: own}, nil // nothing leaves the node
	}
	for node := range t.Nodes {
		if n, first := len(t.NodeRanks(node)), len(t.NodeRanks(0)); n != first {
			return NICAnswer{}, &NoNICError{t.Name, fmt.Sprintf("node %d has %d GPUs, node 0 has %d: NICs are chosen for nodes alike", node, n, first)}
		}
	}
	out, in := newNICSide(t, true), newNICSide(t, false)
	for _, s := range []*nicSide{out, in} {
		if why := s.without(); why != "" {
			return NICAnswer{}, &NoNICError{t.Name, why}
		}
	}
	var a NICAnswer
	var widthOut, widthIn units.Bandwidth
	a.Out, widthOut = out.best()
	a.In, widthIn = in.best()
	a.Width = min(widthOut, widthIn)
	own := upTo(len(a.Out))
	if CheckNICs(t, own, own) == nil {
		a.OwnWidth = min(out.width(own), in.width(own))
	}
	// Where their own NICs do as well for both ways, nothing is handed over.
	if a.OwnWidth == a.Width {
		a.Out, a.In = own, slices.Clone(own)
	}
	if err := CheckNICs(t, a.Out, a.In); err != nil {
		return NICAnswer{}, &NoNICError{t.Name, "nodes differ: " + err.Error()}
	}
	return a, nil
}

// nicSide is one way of data, as the first node has it: out of it, or into it.
type nicSide struct {
	t        *topologies.Topology
	out      bool
	gpus     []int
	ways     [][]int     // by GPU: the links of its own way; nil where it has none
	carriers [][]carrier // by GPU: who can carry its data, itself first
}

// carrier is a GPU that can carry another's data, and the links they take.
type carrier struct {
	gpu   int
	edges []int
}

func newNICSide(t *topologies.Topology, out bool) *nicSide {
	s := &nicSide{t: t, out: out, gpus: t.NodeRanks(0)}
	for _, r := range s.gpus {
		s.ways = append(s.ways, s.way(r))
	}
	for g, r := range s.gpus {
		var list []carrier
		for c, via := range s.gpus {
			if s.ways[c] == nil {
				continue
			}
			if c == g {
				list = append(list, carrier{c, s.ways[c]})
				continue
			}
			from, to := r, via
			if !out {
				from, to = via, r
			}
			if path, ok := t.Path(from, to); ok {
				list = append(list, carrier{c, slices.Concat(path.Edges, s.ways[c])})
			}
		}
		slices.SortStableFunc(list, func(a, b carrier) int {
			return cmp.Or(-cmp.Compare(btoi(a.gpu == g), btoi(b.gpu == g)), len(a.edges)-len(b.edges))
		})
		s.carriers = append(s.carriers, list)
	}
	return s
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// way is the links within the node, and of its NIC, that the data of a rank take
// on their way to other nodes, or from there: those of the path to the first rank
// there is one to.
func (s *nicSide) way(r int) []int {
	for other := len(s.gpus); other < len(s.t.Ranks); other++ {
		from, to := r, other
		if !s.out {
			from, to = other, r
		}
		path, ok := s.t.Path(from, to)
		if !ok {
			continue
		}
		edges := []int{}
		for _, e := range path.Edges {
			end := s.t.Edges[e].From
			if !s.out {
				end = s.t.Edges[e].To
			}
			if s.t.Vertices[end].Node == 0 {
				edges = append(edges, e)
			}
		}
		return edges
	}
	return nil
}

// without says of a GPU that nobody can carry for, and by way of whom some could,
// if there is one.
func (s *nicSide) without() string {
	for g, list := range s.carriers {
		if len(list) > 0 {
			continue
		}
		var through []string
		for c, r := range s.gpus {
			from, to := s.gpus[g], r
			if !s.out {
				from, to = r, s.gpus[g]
			}
			if c != g && s.t.Linked(from, to) && len(s.carriers[c]) > 0 {
				through = append(through, s.name(c))
			}
		}
		what := "it reaches none"
		if !s.out {
			what = "none reaches it"
		}
		if len(through) > 0 {
			what += " but through " + either(through)
		}
		way := "send"
		if !s.out {
			way = "receive"
		}
		return fmt.Sprintf("no NIC for %s of a node to %s by: %s", s.name(g), way, what)
	}
	return ""
}

func (s *nicSide) name(g int) string { return s.t.Vertices[s.gpus[g]].Name }

// either joins names: gpu 1, gpu 2 or gpu 4.
func either(names []string) string {
	list := names[0]
	for i, n := range names[1:] {
		if i == len(names)-2 {
			list += " or " + n
		} else {
			list += ", " + n
		}
	}
	return list
}

// width is what each GPU can send at once with a choice.
func (s *nicSide) width(choice []int) units.Bandwidth {
	load := map[int]int{}
	for g, by := range choice {
		for _, c := range s.carriers[g] {
			if c.gpu == by {
				for _, e := range c.edges {
					load[e]++
				}
			}
		}
	}
	least := units.Bandwidth(0)
	for e, n := range load {
		if w := s.t.Edges[e].Bandwidth / units.Bandwidth(n); least == 0 || w < least {
			least = w
		}
	}
	return least
}

// widths are those that a choice could have, widest first.
func (s *nicSide) widths() (list []units.Bandwidth) {
	for _, carriers := range s.carriers {
		for _, c := range carriers {
			for _, e := range c.edges {
				for n := range s.gpus {
					list = append(list, s.t.Edges[e].Bandwidth/units.Bandwidth(n+1))
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b units.Bandwidth) int { return cmp.Compare(b, a) })
	return slices.DeleteFunc(slices.Compact(list), func(w units.Bandwidth) bool { return w == 0 })
}

// best is the widest choice, of those one with the fewest hand-overs.
func (s *nicSide) best() ([]int, units.Bandwidth) {
	widths := s.widths()
	first, _ := slices.BinarySearchFunc(widths, true, func(w units.Bandwidth, _ bool) int {
		if newNICSearch(s, w).fits(0) {
			return 0
		}
		return -1
	})
	for _, w := range widths[first:] {
		search := newNICSearch(s, w)
		if !search.fits(0) {
			continue
		}
		for over := len(s.gpus) - search.own(0); over <= len(s.gpus); over++ {
			search.tries = 0
			if search.from(0, over) {
				return search.choice, s.width(search.choice)
			}
		}
	}
	// Narrow enough, everybody's first carrier will do.
	choice := make([]int, len(s.gpus))
	for g := range choice {
		choice[g] = s.carriers[g][0].gpu
	}
	return choice, s.width(choice)
}
