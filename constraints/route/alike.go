package route

import (
	"slices"

	"github.com/colltune/colltune/constraints"
)

// A routing may be looked for among those that look the same after the system is
// renamed: a few chunks are routed, and the others take their ways as renamings
// make of them. With a group of four, two chunks stand for eight:
//
//	chunk 0  0 ─▶ 1 ─▶ 2        its likes   4 ─▶ 5 ─▶ 6,  …
//
// The likes of a link share its load evenly, so that one sum states all of them.
// What is found is a routing like any other; that there is none of this kind
// says nothing.

// manyAlike is how large a group of renamings may be.
const manyAlike = 64

// group lists the renamings that generators make, the identity first; nil where
// there are too many.
func (p *problem) group(generators []renaming) []renaming {
	lanes := make([]int32, len(p.net.lanes))
	for i := range lanes {
		lanes[i] = int32(i)
	}
	all := []renaming{{ranks: rising(p.net.ranks), lanes: lanes}}
	for at := 0; at < len(all); at++ {
		for _, g := range generators {
			next := all[at].then(g)
			if slices.ContainsFunc(all, func(r renaming) bool { return slices.Equal(r.ranks, next.ranks) }) {
				continue
			}
			if len(all) == manyAlike {
				return nil
			}
			all = append(all, next)
		}
	}
	return all
}

// then is one renaming after the other.
func (r renaming) then(g renaming) renaming {
	out := renaming{ranks: make([]int, len(r.ranks)), lanes: make([]int32, len(r.lanes))}
	for i, to := range r.ranks {
		out.ranks[i] = g.ranks[to]
	}
	for i, to := range r.lanes {
		out.lanes[i] = g.lanes[to]
	}
	return out
}

// sharings are the groups found by which so many chunks can be shared out, the
// largest first: that of all renamings, those that a renaming or two in turn
// generate, and the identity alone.
func (p *problem) sharings(chunks int) [][]renaming {
	generators := p.renamings()
	var all [][]renaming
	try := func(g ...renaming) {
		group := p.group(g)
		if group == nil || chunks%len(group) != 0 || slices.ContainsFunc(all, func(o []renaming) bool { return sameGroup(o, group) }) {
			return
		}
		all = append(all, group)
	}
	try(generators...)
	for _, a := range generators {
		try(a)
		for _, b := range generators {
			try(a.then(b))
		}
	}
	try()
	slices.SortStableFunc(all, func(a, b []renaming) int { return len(b) - len(a) })
	return all
}

// sameGroup tells whether two groups rename ranks alike.
func sameGroup(a, b []renaming) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r renaming) bool {
		return !slices.ContainsFunc(b, func(o renaming) bool { return slices.Equal(o.ranks, r.ranks) })
	})
}

// share keeps links within their capacity where every chunk has its likes.
func (e *direct) share(group []renaming) {
	p := e.p
	for _, all := range p.linksAlike(group) {
		// Over all of a link's likes together, so many chunks pass as over it
		// alone, each as often as renamings take it there.
		weight := len(group) / len(all)
		for t := range p.Steps {
			var terms []constraints.Term
			for _, like := range all {
				for _, on := range p.net.links[like].lanes {
					for x := range p.items {
						terms = append(terms, constraints.Term{Weight: weight, Lit: e.adds[x][on][t]}, constraints.Term{Weight: weight, Lit: e.puts[x][on][t]})
					}
				}
			}
			capacity(e.f, terms, weight*len(terms), p.net.links[all[0]].capacity, e.rounds[t])
		}
	}
}

// thinned is thin where links carry so many times what they do.
func (p *problem) thinned(s Schedule, times int) Schedule {
	wide := *p
	wide.Rounds *= times
	for i := range s {
		s[i].Rounds *= times
	}
	s = wide.thin(s)
	for i := range s {
		s[i].Rounds /= times
	}
	return s
}

// likes is a schedule with every chunk's likes: chunk x becomes those from
// x × likes on.
func (s Schedule) likes(group []renaming) Schedule {
	out := make(Schedule, len(s))
	for i, step := range s {
		out[i].Rounds = step.Rounds
		for _, m := range step.Sends {
			for k, r := range group {
				out[i].Sends = append(out[i].Sends, Send{m.Item*len(group) + k, r.ranks[m.From], r.ranks[m.To], m.Reduce})
			}
		}
	}
	return out
}
