package bounds

import (
	"context"
	"maps"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/symmetry"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/topologies"
)

// unlike returns the orbits of a system without symmetries.
func (p *problem) unlike() (o orbits) {
	for r := range p.n {
		o.sources, o.times = append(o.sources, r), append(o.times, 1)
	}
	for e := range p.forward.Arcs {
		o.link, o.links = append(o.link, e), append(o.links, 1)
	}
	return o
}

func problemOf(t interface{ Fatal(...any) }, top *topologies.Topology) *problem {
	c, err := collective.New(collective.Spec{Name: "alltoall", Ranks: len(top.Ranks), Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	forward, err := newNetwork(top, int64(len(top.Ranks)))
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(context.Background(), top, c, forward)
}

// turning draws a system with rotational symmetry: links from every rank to the one a
// fixed distance on, some through a switch, and at most one that breaks it.
func turning(t *rapid.T) *topologies.Topology {
	n := rapid.IntRange(3, 7).Draw(t, "ranks")
	top := &topologies.Topology{Name: "turning", Nodes: 1, Runtime: "nccl"}
	for r := range n {
		top.Ranks = append(top.Ranks, topologies.Rank{Local: r, SMs: 1})
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU})
	}
	for on := 1; on <= n/2; on++ {
		if gbps := rapid.Int64Range(0, 2).Draw(t, "capacity"); on == 1 || gbps > 0 {
			for r := range n {
				if 2*on < n || r < on {
					join(top, r, (r+on)%n, max(gbps, 1), 1)
				}
			}
		}
	}
	if rapid.Bool().Draw(t, "switch") {
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.Switch})
		for r := range n {
			join(top, r, n, 1, 1)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "dent") == 0 {
		top.Edges[0].Bandwidth += 1e9
	}
	return sorted(top)
}

// TestOrbitsChangeNoBound computes optimal lengths with and without orbits.
func TestOrbitsChangeNoBound(t *testing.T) {
	smaller := 0
	rapid.Check(t, func(t *rapid.T) {
		p := problemOf(t, turning(t))
		for name, d := range map[string]demand{"alltoall": allPairs, "alltonext": nextRank, "sendrecv": ringNext} {
			part, high := d.part(p.n), bandwidthBound{algbw: big.NewRat(1<<40, 1)}
			all := p.multicommodity(d, part, high, p.unlike())
			o := p.orbits(d)
			if some := p.multicommodity(d, part, high, o); all.algbw == nil || some.algbw == nil || all.algbw.Cmp(some.algbw) != 0 {
				t.Fatalf("%s: %v, with orbits %v", name, all.algbw, some.algbw)
			}
			if len(o.sources) < p.n {
				smaller++
			}
		}
	})
	if smaller < 20 {
		t.Errorf("%d programs were smaller: too few to mean much", smaller)
	}
}

// TestOneSinkOfEachOrbit computes an allgather's bound from one sink of each orbit, and
// from all.
func TestOneSinkOfEachOrbit(t *testing.T) {
	fewer := 0
	rapid.Check(t, func(t *rapid.T) {
		p := problemOf(t, turning(t))
		sinks := p.orbits(allPairs).sources
		if all, some := p.allToSinks(p.forward, lists.UpTo(p.n)), p.allToSinks(p.forward, sinks); all.algbw.Cmp(some.algbw) != 0 || all.proof != some.proof {
			t.Fatalf("%v (%s), of %v %v (%s)", all.algbw, all.proof, sinks, some.algbw, some.proof)
		}
		if len(sinks) < p.n {
			fewer++
		}
	})
	if fewer < 20 {
		t.Errorf("%d systems had fewer sinks: too few to mean much", fewer)
	}
}

// TestRanksAlike checks on which systems all permutations of ranks are symmetries. There
// one rank represents all, and the orbits of links are as many as a search finds.
func TestRanksAlike(t *testing.T) {
	for name, alike := range map[string]bool{
		"hub:8": true, "hub:3": true, "fullmesh:2": true, "fullmesh:9": true, "dgx-a100": true,
		"ring:3": true, "ring:8": false, "dgx-1": false, "mesh:2x2": false, "hypercube:3": false, "l40s-8": false,
	} {
		p := problemOf(t, resolve(t, name, 1))
		generators := p.allPermutations()
		if (generators != nil) != alike {
			t.Errorf("%s: ranks alike: %v, want %v", name, generators != nil, alike)
			continue
		}
		if !alike {
			continue
		}
		here, there := p.orbitsUnder(generators), p.orbitsUnder(symmetry.Find(t.Context(), p.graph(allPairs), symmetryWork).Generators)
		if len(here.sources) != 1 || len(here.links) != len(there.links) {
			t.Errorf("%s: %d ranks and %d links for all, and %d by searching", name, len(here.sources), len(here.links), len(there.links))
		}
	}
}

// TestNodesAlike: the symmetries found of equal nodes map every link to one of its width,
// and give the same flow as all symmetries.
func TestNodesAlike(t *testing.T) {
	for _, name := range []string{"dgx-1", "dgx-2", "dgx-a100", "mi250", "ndv2", "lassen", "t4-8", "alps"} {
		for _, nodes := range []int{2, 3} {
			p := problemOf(t, resolve(t, name, nodes))
			if !p.nodesInterchangeable {
				t.Fatalf("%d x %s: nodes are not alike", nodes, name)
			}
			links := map[[3]int64]int{}
			for _, a := range p.forward.Arcs {
				links[[3]int64{int64(a.From), int64(a.To), a.Capacity}]++
			}
			generators := p.nodePermutations()
			for _, image := range generators {
				turned := map[[3]int64]int{}
				for _, a := range p.forward.Arcs {
					turned[[3]int64{int64(image[a.From]), int64(image[a.To]), a.Capacity}]++
				}
				if !maps.Equal(links, turned) {
					t.Fatalf("%d x %s: %v is no symmetry", nodes, name, image)
				}
			}
			high := bandwidthBound{algbw: big.NewRat(1<<40, 1)}
			part := allPairs.part(p.n)
			all := p.multicommodity(allPairs, part, high, p.orbits(allPairs))
			some := p.multicommodity(allPairs, part, high, p.orbitsUnder(generators))
			if all.algbw.Cmp(some.algbw) != 0 || math.Abs(all.reached-some.reached) > 1e-7*all.reached {
				t.Errorf("%d x %s: %v and %v reached, under some symmetries %v and %v", nodes, name, all.algbw, all.reached, some.algbw, some.reached)
			}
		}
	}
}

// TestManyNodes reaches alltoall's bound on 128 nodes: of n nodes, (n-1)/n of each node's
// data leaves through its NICs.
func TestManyNodes(t *testing.T) {
	for _, c := range []struct{ topology, exact string }{
		{"dgx-a100", "3200/127"}, {"mi250", "2048/127"}, {"ndv2", "200/127"}, {"dgx-1", "800/127"}, {"perlmutter", "2688/127"}, {"t4-8", "200/127"},
	} {
		b := bound(t, resolve(t, c.topology, 128), "alltoall", 0)
		if b.Exact != c.exact || !reaches(b) {
			t.Errorf("128 x %s: %s GB/s, reached %v, want %s", c.topology, b.Exact, b.ReachedBps, c.exact)
		}
	}
	for _, name := range []string{"torus:8x8x8", "hypercube:9", "mesh:16x16", "ring:512", "fullmesh:256", "hub:512"} {
		if b := bound(t, resolve(t, name, 0), "alltoall", 0); !reaches(b) {
			t.Errorf("%s: %s GB/s, reached %v", name, b.Exact, b.ReachedBps)
		}
	}
}

// TestLargeSystems has linear programs that are small only by symmetry: on a ring of n,
// the shares of n-1 neighbours cross the other direction.
func TestLargeSystems(t *testing.T) {
	for _, c := range []struct {
		topology, collective, exact string
	}{
		{"ring:32", "sendrecv", "1600/31"},
		{"ring:64", "sendrecv", "3200/63"},
		{"ring:33", "alltoall", "825/68"}, // 66 links of 50; 33·272 links to pass, a part is 1/33
		{"torus:5x5", "sendrecv", "125/2"},
		{"torus:4x4x4", "alltoall", "100"},
		{"dgx-a100", "alltoall", "2400/7"},
		{"ring:1024", "allgather", "102400/1023"},
		{"hypercube:9", "reducescatter", "230400/511"},
	} {
		b := bound(t, resolve(t, c.topology, 0), c.collective, 0)
		if b.Exact != c.exact {
			t.Errorf("%s on %s: %s GB/s, want %s (%s)", c.collective, c.topology, b.Exact, c.exact, b.Proof)
		}
	}
}
