package bounds

import "math/bits"

// minRootedCut returns the least of the maximum flows from the root to each of others,
// and the first of these that has that flow.
//
// Once the flow to a rank is known, that rank can be merged with the root: a cut between
// the root and the next rank either keeps the merged rank on the root's side, or
// separates it from the root and is no less than the flow to it (as in Hao and Orlin 1994).
// The flow between merged ranks is a circulation and stays for the next flow to start
// from. To keep flows short, they go from the rank to the nearest merged rank on the
// reversed network, and ranks are taken far from one another.
func (p *problem) minRootedCut(net *scaledNetwork, root int, others []int) (least int64, first int) {
	m := p.newMergingFlow(net, root)
	least = unlimited
	looked := 0
	for _, i := range bitReversed(len(others)) {
		if p.ended() {
			break
		}
		got := m.flow(others[i], least)
		if m.f.limitReached() {
			p.skip(looked, len(others), "ranks as seen from one")
			break
		}
		least = min(least, got)
		looked++
	}
	m = p.newMergingFlow(net, root)
	for _, v := range others {
		if p.ended() {
			break
		}
		if m.flow(v, least+1) == least && !m.f.limitReached() {
			return least, v
		}
	}
	return least, others[len(others)-1]
}

// mergingFlow is a flow towards a growing set of merged ranks.
type mergingFlow struct{ f *flow }

func (p *problem) newMergingFlow(net *scaledNetwork, root int) *mergingFlow {
	turned := p.backward
	if net == p.backward {
		turned = p.forward
	}
	m := &mergingFlow{newFlow(turned)}
	m.f.setSink(root, unlimited)
	m.f.g.MaxFlow(root, m.f.sink, 0) // lays out the network
	return m
}

// flow returns the flow from a rank to the merged ranks, or most if that is less, and
// merges the rank.
func (m *mergingFlow) flow(v int, most int64) int64 {
	got := m.f.g.Augment(v, m.f.sink, most)
	m.f.g.Raise(m.f.sinkArc(v), unlimited)
	return got
}

// bitReversed returns 0 to n-1 in bit-reversed order, so that each is far from those
// before it.
func bitReversed(n int) []int {
	all := make([]int, 0, n)
	width := bits.Len(uint(n - 1))
	for i := range 1 << width {
		if at := int(bits.Reverse64(uint64(i)) >> (64 - width)); at < n {
			all = append(all, at)
		}
	}
	return all
}
