package topologies

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/internal/units"
)

// The largest values of a link and a GPU. They keep sums in range, and catch
// typing errors.
const (
	maxBandwidth units.Bandwidth = 1e15 // a petabyte a second
	maxDuration  units.Duration  = 10e6 // ten seconds
	maxCount                     = 1024 // physical links of an edge
	maxSMs                       = 1 << 16
	maxTile      units.Bytes     = 1 << 40
)

// check verifies the invariants of the package. Every reader ends with it.
func (t *Topology) check() error {
	if err := t.checkVertices(); err != nil {
		return err
	}
	for i, e := range t.Edges {
		if err := t.checkEdge(e); err != nil {
			return err
		}
		if i > 0 && compareEdges(t.Edges[i-1], e) >= 0 {
			return fmt.Errorf("two %v links from %s to %s: write one, with their count", e.Kind, t.name(e.From), t.name(e.To))
		}
	}
	for p := range t.Protocols {
		if Proto(p) == LL128 && !t.Has(LL128) {
			continue
		}
		if err := t.Protocols[p].check(Proto(p)); err != nil {
			return fmt.Errorf("protocol %v: %w", Proto(p), err)
		}
	}
	return t.checkConnected()
}

func (t *Topology) checkVertices() error {
	switch {
	case t.Nodes < 1 || t.Nodes > len(t.Ranks):
		return fmt.Errorf("%d nodes of %d ranks: want at least 1 node, and a rank in each", t.Nodes, len(t.Ranks))
	case len(t.Ranks) > maxRanks || len(t.Ranks) > len(t.Vertices) || len(t.Vertices) > maxEdges || len(t.Edges) > maxEdges:
		return fmt.Errorf("%d ranks, %d vertices, %d links: want ranks among the vertices, at most %d ranks and %d links",
			len(t.Ranks), len(t.Vertices), len(t.Edges), maxRanks, maxEdges)
	case t.Runtime != "nccl" && t.Runtime != "rccl":
		return fmt.Errorf("unknown runtime %q: want nccl or rccl", t.Runtime)
	}
	before := Rank{Node: 0, Local: -1}
	for i, r := range t.Ranks {
		sameNode := r.Node == before.Node && r.Local > before.Local
		nextNode := r.Node == before.Node+1 && r.Local >= 0 && i > 0
		if !sameNode && !nextNode {
			return fmt.Errorf("rank %d is gpu %d of node %d, after gpu %d of node %d: want ranks node by node",
				i, r.Local, r.Node, before.Local, before.Node)
		}
		if r.Local >= maxRanks || r.SMs < 1 || r.SMs > maxSMs {
			return fmt.Errorf("rank %d is gpu %d with %d SMs: want 1 to %d", i, r.Local, r.SMs, maxSMs)
		}
		if r.Memory < 0 || r.Memory > maxBandwidth {
			return fmt.Errorf("rank %d has memory of %v: want at most %v", i, r.Memory, maxBandwidth)
		}
		before = r
	}
	if before.Node != t.Nodes-1 {
		return fmt.Errorf("ranks on %d nodes of %d", before.Node+1, t.Nodes)
	}
	for v, vertex := range t.Vertices {
		switch {
		case (v < len(t.Ranks)) != (vertex.Kind == GPU), vertex.Kind > Fabric:
			return fmt.Errorf("vertex %d is of the wrong kind", v)
		case v < len(t.Ranks) && vertex.Node != t.Ranks[v].Node,
			vertex.Kind == Fabric && vertex.Node != -1,
			vertex.Kind != Fabric && (vertex.Node < 0 || vertex.Node >= t.Nodes):
			return fmt.Errorf("vertex %d is on node %d", v, vertex.Node)
		}
	}
	return nil
}

func (t *Topology) checkEdge(e Edge) error {
	n := len(t.Vertices)
	switch {
	case e.From < 0 || e.From >= n || e.To < 0 || e.To >= n || e.From == e.To:
		return fmt.Errorf("link from vertex %d to %d of %d", e.From, e.To, n)
	case e.Kind > Host:
		return fmt.Errorf("link from %s to %s of unknown kind %d", t.name(e.From), t.name(e.To), e.Kind)
	case e.Kind != Net && t.Vertices[e.From].Node != t.Vertices[e.To].Node:
		return fmt.Errorf("%v link from %s to %s: want net between nodes", e.Kind, t.name(e.From), t.name(e.To))
	case e.Count < 1 || e.Count > maxCount:
		return fmt.Errorf("%d links from %s to %s: want 1 to %d", e.Count, t.name(e.From), t.name(e.To), maxCount)
	case e.Bandwidth < 1 || e.Bandwidth > maxCount*maxBandwidth:
		return fmt.Errorf("link from %s to %s of %v", t.name(e.From), t.name(e.To), e.Bandwidth)
	case e.Counted < 0 || e.Counted > maxCount*maxBandwidth:
		return fmt.Errorf("link from %s to %s counted as %v", t.name(e.From), t.name(e.To), e.Counted)
	case !sane(e.Latency) || !sane(e.Message):
		return fmt.Errorf("link from %s to %s with latency %v and %v a message: want 0 us to %v",
			t.name(e.From), t.name(e.To), e.Latency, e.Message, maxDuration)
	}
	return nil
}

func sane(d units.Duration) bool { return d >= 0 && d <= maxDuration && !math.IsNaN(float64(d)) }

// name returns the name of a vertex in errors.
func (t *Topology) name(v int) string {
	switch vertex := t.Vertices[v]; {
	case vertex.Node < 0 || t.Nodes == 1:
		return vertex.Name
	default:
		return fmt.Sprintf("node %d %s", vertex.Node, vertex.Name)
	}
}

// checkConnected checks that every rank can reach every other: rank 0 reaches
// all, and all reach rank 0.
func (t *Topology) checkConnected() error {
	adj := t.adjacent()
	for _, way := range []struct {
		next [][]int32
		end  func(Edge) int
		verb string
	}{
		{adj.out, func(e Edge) int { return e.To }, "cannot be reached from"},
		{adj.in, func(e Edge) int { return e.From }, "cannot reach"},
	} {
		seen := make([]bool, len(t.Vertices))
		seen[0] = true
		stack := []int{0}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, e := range way.next[v] {
				if to := way.end(t.Edges[e]); !seen[to] {
					seen[to] = true
					stack = append(stack, to)
				}
			}
		}
		for r := range t.Ranks {
			if !seen[r] {
				return fmt.Errorf("%s %s %s: the topology is disconnected", t.name(r), way.verb, t.name(0))
			}
		}
	}
	return nil
}
