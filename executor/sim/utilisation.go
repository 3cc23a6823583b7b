package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Utilisation is how much of a kind of resource a call uses: of each threadblock the time
// of its own work, of each link and memory the bytes through it ÷ what it could carry in
// the time of the call.
type Utilisation struct {
	Resource string  `json:"resource"` // threadblocks, memories, or a kind of link: nvlink, net, …
	N        int     `json:"count"`    // how many there are
	Used     int     `json:"used"`     // of them
	Mean     float64 `json:"mean"`     // of all
	Most     []Use   `json:"busiest"`  // of the most used, falling
}

// Use is the utilisation of one resource, from 0 to 1.
type Use struct {
	Name string  `json:"name"`
	Of   float64 `json:"utilisation"`
}

// mostUses is how many resources of a kind are named.
const mostUses = 3

// utilisations lists the utilisation of every kind of resource in a call of a given time.
func (p *Prepared) utilisations(c *costs, timeUS float64) []Utilisation {
	if timeUS == 0 {
		timeUS = math.Inf(1) // nothing costs anything
	}
	all := []Utilisation{p.ofBlocks(c, timeUS)}
	carried, edges := p.carried(c), p.linkEdges()
	byEdge := make(map[int]float64, len(edges)) // edges of the topology
	for i, e := range edges {
		byEdge[e] = carried[i] / p.edges[i].cap / timeUS
	}
	t := p.topology
	for _, kind := range t.Kinds() {
		var uses []use
		for e := range t.Edges {
			if t.Edges[e].Kind == kind {
				uses = append(uses, use{int32(e), byEdge[e]})
			}
		}
		all = append(all, summarise(kind.String(), uses, func(e int32) string { return edgeName(t, int(e)) }))
	}
	if p.hasMemories() {
		var uses []use
		for r, traffic := range p.remembered(c) {
			uses = append(uses, use{int32(r), traffic / p.edges[p.links+r].cap / timeUS})
		}
		all = append(all, summarise("memory", uses, func(r int32) string { return fmt.Sprintf("rank %d", r) }))
	}
	return all
}

// use is the utilisation of a resource by number.
type use struct {
	id int32
	of float64
}

// summarise sums up the utilisations of a kind of resource.
func summarise(kind string, uses []use, name func(int32) string) Utilisation {
	u := Utilisation{Resource: kind, N: len(uses), Most: []Use{}}
	for _, x := range uses {
		u.Mean += x.of / float64(len(uses))
		if x.of > 0 {
			u.Used++
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Or(cmp.Compare(b.of, a.of), cmp.Compare(a.id, b.id)) })
	for _, x := range uses[:min(mostUses, u.Used)] {
		u.Most = append(u.Most, Use{name(x.id), x.of})
	}
	return u
}

// ofBlocks returns the utilisation of threadblocks: the part of the time in which each would
// work if it never waited and shared no link.
func (p *Prepared) ofBlocks(c *costs, timeUS float64) Utilisation {
	of := make([]float64, len(p.bounds.works))
	for i := range of {
		of[i] = p.bounds.works[i].busy(p, c) / timeUS
	}
	var uses []use
	for i := range p.blocks {
		uses = append(uses, use{int32(i), of[p.bounds.workOf[i]]})
	}
	return summarise("threadblock", uses, func(i int32) string {
		return fmt.Sprintf("rank %d threadblock %d", p.blocks[i].rank, p.blocks[i].id)
	})
}

// linkEdges returns the edge of the topology that each link of an unfolded program is.
func (p *Prepared) linkEdges() []int {
	edges := make([]int, p.links)
	for i := range p.lanes[:p.sending] {
		l := &p.lanes[i]
		path, _ := p.topology.Path(int(l.from), int(l.to))
		for j, e := range path.Edges {
			edges[l.edges[j]] = e
		}
	}
	return edges
}

// carried returns the bytes over each link of an unfolded program.
func (p *Prepared) carried(c *costs) []float64 {
	bytes := make([]float64, p.links)
	for _, at := range p.conns {
		l := &p.lanes[at.lane]
		sent := p.overOps(c, at.tx, func(o *op, one *call) float64 {
			if o.kind != send && o.kind != fused {
				return 0
			}
			return c.carries(l, one)
		})
		for _, e := range l.edges[:l.links] {
			bytes[e] += sent
		}
	}
	return bytes
}

// remembered returns the traffic of each GPU's memory in bytes, of an unfolded program.
func (p *Prepared) remembered(c *costs) []float64 {
	bytes := make([]float64, len(p.topology.Ranks))
	for i := range p.blocks {
		bytes[p.blocks[i].rank] += p.overOps(c, int32(i), func(o *op, one *call) float64 {
			t := o.here
			if o.kind == recv || o.kind == fused {
				t = t.plus(arrival)
			}
			return (float64(t.data) + float64(t.wire)*c.wire) * one.bytes
		})
	}
	return bytes
}

// overOps sums f over the calls of a threadblock's ops in all tiles.
func (p *Prepared) overOps(c *costs, block int32, f func(*op, *call) float64) float64 {
	t := 0.0
	b := &p.blocks[block]
	for i := b.from; i < b.to; i++ {
		o := &p.ops[i]
		if o.kind == idle {
			continue
		}
		it := item{kind: o.kind, count: o.count}
		of := func(s sizes) float64 { return it.each(c, s, func(one *call) float64 { return f(o, one) }) }
		t += of(c.last) + float64(c.tiles-1)*of(c.full)
	}
	return t
}

func edgeName(t *topologies.Topology, e int) string {
	name := func(v int) string {
		x := t.Vertices[v]
		if v < len(t.Ranks) {
			return fmt.Sprintf("rank %d", v)
		}
		if x.Node >= 0 && t.Nodes > 1 {
			return fmt.Sprintf("node %d %s", x.Node, x.Name)
		}
		return x.Name
	}
	return name(t.Edges[e].From) + " → " + name(t.Edges[e].To)
}
