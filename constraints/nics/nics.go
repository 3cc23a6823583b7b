package nics

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Choice says which GPUs of a node relay data for the others. Data of GPU g to
// other nodes leave through GPU Out[g], and data for it enter through GPU In[g].
// Indices and values are positions in the node. A GPU that uses its own NIC is its own
// relay.
type Choice struct {
	Out, In []int
	// Width is the bandwidth at which all GPUs can send, and receive, at once: the
	// minimum, over the links within the node and to and from the fabric, of a
	// link's bandwidth divided by the number of GPUs whose data use it.
	Width units.Bandwidth
	// OwnWidth is the width if every GPU used its own NIC; 0 if some GPU has none.
	OwnWidth units.Bandwidth
}

// Own reports whether every GPU uses its own NIC in both directions.
func (a Choice) Own() bool {
	own := lists.UpTo(len(a.Out))
	return slices.Equal(a.Out, own) && slices.Equal(a.In, own)
}

// Lists returns the answer as the value of a template's hole for NICs: Out alone if In
// is equal to it, otherwise both.
func (a Choice) Lists() [][]int {
	if slices.Equal(a.Out, a.In) {
		return [][]int{a.Out}
	}
	return [][]int{a.Out, a.In}
}

// NoNICError means that some GPU cannot reach other nodes, not even through another GPU
// of its node.
type NoNICError struct {
	Topology string
	Why      string // names the GPU, or the difference between nodes
}

// Error names the topology and the reason.
func (e *NoNICError) Error() string { return fmt.Sprintf("topology %s: %s", e.Topology, e.Why) }

// Choose chooses, for each GPU of a node, the GPU through which its data leave the node
// and the one through which they enter it. All nodes use the same choice. It maximises
// the width, and then minimises the number of relays. A relayed message uses a link to
// or from the relay in addition to the relay's own path to the fabric.
//
// A maximum flow bounds the width from above; a search that the flow prunes finds a
// choice that reaches it. Unlike the flow, the search counts links that are used both
// to reach a relay and by a relay's own path.
//
// The error is a *NoNICError if there is no choice or nodes differ.
func Choose(t *topologies.Topology) (Choice, error) {
	if t.Nodes < 2 {
		own := lists.UpTo(len(t.Ranks))
		return Choice{Out: own, In: own}, nil // there is only one node
	}
	for node := range t.Nodes {
		if n, first := len(t.NodeRanks(node)), len(t.NodeRanks(0)); n != first {
			return Choice{}, &NoNICError{t.Name, fmt.Sprintf("node %d has %d GPUs, node 0 has %d: NICs are chosen for nodes alike", node, n, first)}
		}
	}
	out, in := newDirection(t, true), newDirection(t, false)
	for _, s := range []*direction{out, in} {
		if why := s.missing(); why != "" {
			return Choice{}, &NoNICError{t.Name, why}
		}
	}
	var a Choice
	var widthOut, widthIn units.Bandwidth
	a.Out, widthOut = out.best()
	a.In, widthIn = in.best()
	a.Width = min(widthOut, widthIn)
	own := lists.UpTo(len(a.Out))
	if Check(t, own, own) == nil {
		a.OwnWidth = min(out.width(own), in.width(own))
	}
	// No relays if the GPUs' own NICs are as wide in both directions.
	if a.OwnWidth == a.Width {
		a.Out, a.In = own, slices.Clone(own)
	}
	if err := Check(t, a.Out, a.In); err != nil {
		return Choice{}, &NoNICError{t.Name, "nodes differ: " + err.Error()}
	}
	return a, nil
}

// direction is the choice for one direction, out of the first node or into it.
type direction struct {
	t        *topologies.Topology
	out      bool
	gpus     []int
	ownPaths [][]int   // by GPU: the links between it and the fabric; nil if it has no way of its own
	relays   [][]relay // by GPU: those that can relay its data, itself first
}

// relay is a GPU that can relay another's data, with all links used.
type relay struct {
	gpu   int
	edges []int
}

func newDirection(t *topologies.Topology, out bool) *direction {
	s := &direction{t: t, out: out, gpus: t.NodeRanks(0)}
	for _, r := range s.gpus {
		s.ownPaths = append(s.ownPaths, s.ownPath(r))
	}
	for g, r := range s.gpus {
		var list []relay
		for c, via := range s.gpus {
			if s.ownPaths[c] == nil {
				continue
			}
			if c == g {
				list = append(list, relay{c, s.ownPaths[c]})
				continue
			}
			from, to := r, via
			if !out {
				from, to = via, r
			}
			if path, ok := t.Path(from, to); ok {
				list = append(list, relay{c, slices.Concat(path.Edges, s.ownPaths[c])})
			}
		}
		slices.SortStableFunc(list, func(a, b relay) int {
			return cmp.Or(-cmp.Compare(toInt(a.gpu == g), toInt(b.gpu == g)), len(a.edges)-len(b.edges))
		})
		s.relays = append(s.relays, list)
	}
	return s
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ownPath returns the links of the first node, its NICs' included, between rank r and
// other nodes: those on the path to, or from, the first rank outside that it can reach.
func (s *direction) ownPath(r int) []int {
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

// missing describes a GPU without any relay, if there is one, and which GPUs could
// reach one. Otherwise it returns "".
func (s *direction) missing() string {
	for g, list := range s.relays {
		if len(list) > 0 {
			continue
		}
		var through []string
		for c, r := range s.gpus {
			from, to := s.gpus[g], r
			if !s.out {
				from, to = r, s.gpus[g]
			}
			if c != g && s.t.Linked(from, to) && len(s.relays[c]) > 0 {
				through = append(through, s.name(c))
			}
		}
		what := "it reaches none"
		if !s.out {
			what = "none reaches it"
		}
		if len(through) > 0 {
			what += " but through " + orList(through)
		}
		way := "send"
		if !s.out {
			way = "receive"
		}
		return fmt.Sprintf("no NIC for %s of a node to %s by: %s", s.name(g), way, what)
	}
	return ""
}

func (s *direction) name(g int) string { return s.t.Vertices[s.gpus[g]].Name }

// orList joins names: gpu 1, gpu 2 or gpu 4.
func orList(names []string) string {
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

// width returns the bandwidth at which all GPUs can send at once under a choice.
func (s *direction) width(choice []int) units.Bandwidth {
	load := map[int]int{}
	for g, by := range choice {
		for _, c := range s.relays[g] {
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

// widths lists the widths that a choice could have, widest first.
func (s *direction) widths() (list []units.Bandwidth) {
	for _, carriers := range s.relays {
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

// best returns the widest choice with the fewest relays.
func (s *direction) best() ([]int, units.Bandwidth) {
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
		for over := len(s.gpus) - search.maxOwn(0); over <= len(s.gpus); over++ {
			search.tries = 0
			if search.assign(0, over) {
				return search.choice, s.width(search.choice)
			}
		}
	}
	// At a small enough width, all GPUs can use their first relay.
	choice := make([]int, len(s.gpus))
	for g := range choice {
		choice[g] = s.relays[g][0].gpu
	}
	return choice, s.width(choice)
}
