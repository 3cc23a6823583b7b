package rings

import "fmt"

// cutVertex finds a GPU whose removal separates the others into too many components.
// A closed order can visit only one of them, an order that ends in the next node two.
func (p *problem) cutVertex() string {
	most := 2
	if p.singleNode() {
		most = 1
	}
	for v, parts := range p.componentsWithout() {
		if parts <= most {
			continue
		}
		one := p.component(p.first(v, nil), v)
		other := p.component(p.first(v, one), v)
		return fmt.Sprintf("only through %s are %s joined to %s", p.gpu(v), p.gpus(one), p.gpus(other))
	}
	return ""
}

// first returns the lowest rank that is neither v nor in the list.
func (p *problem) first(v int, list []int) int { return complement(p.n, list, v)[0] }

// componentsWithout counts, for every rank, the components that the ranks connected
// to it form when it is removed, by one depth-first search (Hopcroft and Tarjan 1973):
//
//	0 ── 1 ── 2      the search 0 1 2 3 has a back edge from 3 to 1, and none from
//	     └─ 3 ─┘     behind 1 to before it: without 1 there are {0} and {2, 3}
func (p *problem) componentsWithout() []int {
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
					parts[above]++ // no back edge from below i leads past it
				}
				parts[i]++ // the component that the search came from
			}
		}
	}
	return parts
}
