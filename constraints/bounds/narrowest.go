package bounds

import "math/bits"

// narrowest is the least of the maximum flows from a rank to each of others, and the
// first of these that has no more.
//
// Once it is known how much flows to a rank, that rank may be merged with the root: a
// set that has the root but not the next rank either has this one too, or parts it from
// the root and is not narrower than what flowed. What flows between ranks that are
// merged is a circulation, and stays for the next flow to go on from. So that flows are
// short, they begin at the rank asked for, with all links turned round, and end at the
// nearest rank that is merged; and ranks are asked for far from one another.
func (p *problem) narrowest(net *network, root int, others []int) (least int64, first int) {
	m := p.merging(net, root)
	least = unlimited
	looked := 0
	for _, i := range scattered(len(others)) {
		got := m.flow(others[i], least)
		if m.f.spent() {
			p.unlooked(looked, len(others), "ranks as seen from one")
			break
		}
		least = min(least, got)
		looked++
	}
	m = p.merging(net, root)
	for _, v := range others {
		if m.flow(v, least+1) == least && !m.f.spent() {
			return least, v
		}
	}
	return least, others[len(others)-1]
}

// merging is a flow towards a set of ranks, which grows by each that is asked for.
type merging struct {
	p *problem
	f *flow
}

func (p *problem) merging(net *network, root int) *merging {
	turned := p.backward
	if net == p.backward {
		turned = p.forward
	}
	m := &merging{p: p, f: newFlow(turned)}
	m.f.into(root, unlimited)
	m.f.g.MaxFlow(root, m.f.sink, 0) // lays out the network
	return m
}

// flow is what flows from a rank to those asked for before it, or most.
func (m *merging) flow(v int, most int64) int64 {
	m.p.look()
	got := m.f.g.Augment(v, m.f.sink, most)
	m.f.g.Raise(m.f.intoArc(v), unlimited)
	return got
}

// scattered are 0 to n-1 so that each is far from those before it: by their bits, the
// last first.
func scattered(n int) []int {
	all := make([]int, 0, n)
	width := bits.Len(uint(n - 1))
	for i := range 1 << width {
		if at := int(bits.Reverse64(uint64(i)) >> (64 - width)); at < n {
			all = append(all, at)
		}
	}
	return all
}
