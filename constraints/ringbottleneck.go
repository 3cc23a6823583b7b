package constraints

import "fmt"

// bottleneck finds a GPU that every path between some others goes through. A ring
// passes through it only once and so enters only one of the parts it separates; an
// open order can have it between two parts.
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

// first is the lowest rank that is neither v nor in the list.
func (p *ringProblem) first(v int, list []int) int { return others(p.n, list, v)[0] }

// partsWithout counts, for every rank, the parts into which the ranks connected to
// it fall when it is removed, in a single depth-first walk (Hopcroft and Tarjan
// 1973):
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
					parts[above]++ // nothing from i on leads back past it
				}
				parts[i]++ // the part that the walk came from
			}
		}
	}
	return parts
}
