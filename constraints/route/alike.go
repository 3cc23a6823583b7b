package route

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
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

// sharing is the largest group found by which so many chunks can be shared out:
// that of all renamings, or one that a renaming or two in turn generate.
func (p *problem) sharing(chunks int) []renaming {
	generators := p.renamings()
	var best []renaming
	try := func(g ...renaming) {
		if all := p.group(g); len(all) > max(1, len(best)) && chunks%len(all) == 0 {
			best = all
		}
	}
	try(generators...)
	for _, a := range generators {
		try(a)
		for _, b := range generators {
			try(a.then(b))
		}
	}
	return best
}

// likewise looks for a routing of sums that renamings leave as it is; nil where
// there are no renamings, or none is found in time.
func (p *problem) likewise(s *constraints.Solvers, ask asker, open [][]int) (Schedule, string, error) {
	if len(p.classes) != 1 || p.Collective.Name != "allreduce" {
		return nil, "", nil
	}
	group := p.sharing(len(p.items))
	if group == nil {
		return nil, "", nil
	}
	spec := p.Collective.Spec
	spec.Chunks = len(p.items) / len(group)
	c, err := collective.New(spec)
	if err != nil {
		return nil, "", err
	}
	few := p.Query
	few.Collective, few.Unit = c, p.net.unit
	q, err := newProblem(few)
	if err != nil {
		return nil, "", err
	}
	e := q.stateDirect(p.name()+", alike", open)
	e.share(group)
	got, err := ask.put(s, stated{e.f, e.schedule, "pb"})
	if err != nil || got.Status != constraints.Sat {
		return nil, "", err
	}
	return q.thinned(e.schedule(got.Model), len(group)).likes(group), got.By, nil
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
