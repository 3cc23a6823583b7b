package network

import (
	"testing"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// Data leave a node through the first vertex of a NIC and enter it through the second,
// and no path reverses inside a NIC.
func TestNICsAreTwoVertices(t *testing.T) {
	top := topotest.Resolve(t, "dgx-1", 2)
	n := New(top)
	nics := 0
	for _, v := range top.Vertices {
		if v.Kind == topologies.NIC {
			nics++
		}
	}
	if n.Ranks != 16 || n.Vertices != len(top.Vertices)+nics || len(n.Origin) != n.Vertices || len(n.Arcs) != len(top.Edges) || nics == 0 {
		t.Fatalf("%d ranks, %d vertices, %d arcs, %d NICs", n.Ranks, n.Vertices, len(n.Arcs), nics)
	}
	outside := func(v int) bool { return top.Vertices[n.Origin[v]].Kind >= topologies.NIC }
	for _, a := range n.Arcs {
		e := top.Edges[a.Edge]
		if n.Origin[a.From] != e.From || n.Origin[a.To] != e.To || a.Capacity != int64(e.Bandwidth) {
			t.Fatalf("arc %+v of edge %+v", a, e)
		}
		for _, b := range n.Arcs {
			if a.To == b.From && top.Vertices[n.Origin[a.To]].Kind == topologies.NIC && outside(a.From) == outside(b.To) {
				t.Fatalf("data turn round in a NIC: %+v, %+v", a, b)
			}
		}
	}
}

// One node has no NICs and no fabric, and twice reversed is the same.
func TestOneNode(t *testing.T) {
	n := New(topotest.Resolve(t, "dgx-1", 1))
	for _, a := range n.Arcs {
		if a.From >= n.Ranks+8 || a.To >= n.Ranks+8 {
			t.Errorf("arc %+v is outside the node", a)
		}
	}
	back := n.Reversed()
	for i, a := range n.Arcs {
		if b := back.Arcs[i]; b.From != a.To || b.To != a.From || b.Capacity != a.Capacity || b.Edge != a.Edge {
			t.Errorf("%+v reversed is %+v", a, b)
		}
		if again := back.Reversed().Arcs[i]; again != a {
			t.Errorf("%+v reversed twice is %+v", a, again)
		}
	}
}

// A hop has the edges of a message's path and, backward, those of the path the other way;
// its ends are where the arcs of its edges lead.
func TestHops(t *testing.T) {
	for _, top := range []*topologies.Topology{topotest.Resolve(t, "dgx-1", 2), topotest.Resolve(t, "ndv2-teccl", 2)} {
		arcs := map[int]Arc{}
		for _, a := range New(top).Arcs {
			arcs[a.Edge] = a
		}
		for _, backward := range []bool{false, true} {
			hops, err := Hops(t.Context(), top, backward, nil)
			if err != nil {
				t.Fatal(err)
			}
			linked := 0
			for a := range top.Ranks {
				for b := range top.Ranks {
					if top.Linked(a, b) {
						linked++
					}
				}
			}
			if len(hops) != linked || linked == 0 {
				t.Errorf("%s: %d hops, of %d linked pairs", top.Name, len(hops), linked)
			}
			for i, h := range hops {
				if i > 0 && (h.From < hops[i-1].From || h.From == hops[i-1].From && h.To <= hops[i-1].To) {
					t.Fatalf("%s: hop %d, %+v, after %+v", top.Name, i, h, hops[i-1])
				}
				from, to := int(h.From), int(h.To)
				if backward {
					from, to = to, from
				}
				at := from
				for _, e := range h.Edges {
					if arcs[int(e)].From != at {
						t.Fatalf("%s: %+v goes on from vertex %d, not %d", top.Name, h, arcs[int(e)].From, at)
					}
					at = arcs[int(e)].To
				}
				if path, _ := top.Path(from, to); at != to || h.Latency != float64(path.Latency) || h.Net != path.Net {
					t.Fatalf("%s: %+v ends at vertex %d, path %+v", top.Name, h, at, path)
				}
			}
		}
		some, err := Hops(t.Context(), top, false, func(from, to int) bool { return from == 0 })
		if err != nil || len(some) == 0 || some[len(some)-1].From != 0 {
			t.Errorf("%s: %v, %v", top.Name, some, err)
		}
	}
}
