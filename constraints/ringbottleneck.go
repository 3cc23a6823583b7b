package constraints

import "fmt"

// bottleneck finds a GPU that all ways between others go through. A ring goes
// through it once, and so enters one part only; an order with two ends may have
// it between two parts.
func (p *ringProblem) bottleneck() string {
	most := 2
	if p.closed() {
		most = 1
	}
	for v, parts := range p.partsWithout() {
		if parts <= most {
			continue
		}
		one := p.component(p.first(v, nil), v)
		other := p.component(p.first(v, one), v)
		return fmt.Sprintf("only through %s are %s joined to %s", p.gpu(v), p.gpus(one), p.gpus(other))
	}
	return ""
}

// first is the first rank that is neither v nor in a list.
func (p *ringProblem) first(v int, list []int) int { return others(p.n, list, v)[0] }

// partsWithout counts, for every rank, the parts that the ranks joined to it fall into
// without it, in one walk (Hopcroft and Tarjan 1973):
//
//	0 ── 1 ── 2      the walk 0 1 2 3 goes from 3 back to 1: nothing behind 1 leads
//	     └─ 3 ─┘     before it, so that without 1 there are 0, and 2 and 3
func (p *ringProblem) partsWithout() []int {
	parts, found, back := make([]int, p.n), make([]int, p.n), make([]int, p.n)
	type visit struct{ rank, from, next int }
	walked := 0
	for root := range p.n {
		if found[root] > 0 {
			continue
		}
		way := []visit{{root, -1, 0}}
		for len(way) > 0 {
			at := &way[len(way)-1]
			i := at.rank
			if at.next == 0 && found[i] == 0 {
				walked++
				found[i], back[i] = walked, walked
			}
			near := p.neighbours(i)
			if at.next < len(near) {
				j := near[at.next]
				at.next++
				if found[j] == 0 {
					way = append(way, visit{j, i, 0})
				} else {
					back[i] = min(back[i], found[j])
				}
				continue
			}
			way = way[:len(way)-1]
			if above := at.from; above >= 0 {
				back[above] = min(back[above], back[i])
				if back[i] >= found[above] {
					parts[above]++ // nothing from i on leads past it
				}
				parts[i]++ // where it came from
			}
		}
	}
	return parts
}
