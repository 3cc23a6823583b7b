package route

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
)

// restriction is a kind of routings of sums to look among: those that renamings
// leave as they are, and those that are their own mirror in time, or both.
//
//	mirrored   step 1  0 ─▶ 1   …   step S  1 ─▶ 0      a chunk and itself backwards
//	paired     chunk 0 as chunk 1 backwards             and the other way round
//
// Backwards, a lane's chunk passes the lane that leads back, after a renaming. What
// is combined and what takes its place on the way is settled anew: the mirror of a
// sum need not be one. Each kind has a few chunks only to find ways for; that there
// is no routing of a kind says nothing of others.
type restriction struct {
	group  []renaming // chunks that stand for all others, times these
	mirror *renaming  // nil: none
	paired bool
}

func (r restriction) String() string {
	name := fmt.Sprintf("alike by %d", len(r.group))
	switch {
	case r.mirror == nil:
	case r.paired:
		name += fmt.Sprintf(", mirrored in pairs by %v", r.mirror.ranks)
	default:
		name += fmt.Sprintf(", mirrored by %v", r.mirror.ranks)
	}
	return name
}

// manyRestrictions is how many kinds of routings are looked among.
const manyRestrictions = 24

// restrictions lists kinds of routings, those first that were seen to have what is
// looked for: their own mirrors as they are, then those alike, then mirrors of each
// other, then mirrors after a renaming. Of each the smallest question comes first.
func (p *problem) restrictions() []restriction {
	chunks := len(p.items)
	groups, mirrors := p.sharings(chunks), p.mirrors()
	var all []restriction
	mirrored := func(mirror *renaming, paired bool) {
		for _, g := range groups {
			if !paired || chunks/len(g)%2 == 0 {
				all = append(all, restriction{g, mirror, paired})
			}
		}
	}
	for i := range mirrors[:min(1, len(mirrors))] {
		mirrored(&mirrors[i], false)
	}
	for _, g := range groups {
		if len(g) > 1 { // else it is the whole question
			all = append(all, restriction{group: g})
		}
	}
	for i := range mirrors {
		mirrored(&mirrors[i], true)
		if i > 0 {
			mirrored(&mirrors[i], false)
		}
	}
	return all[:min(len(all), manyRestrictions)]
}

// mirrors are the renamings by which a routing may be its own mirror: none where
// some lane leads nowhere back.
func (p *problem) mirrors() []renaming {
	all := p.group(p.renamings())
	if all == nil {
		all = p.group(nil)
	}
	return slices.DeleteFunc(all, func(r renaming) bool {
		return slices.ContainsFunc(rising(len(p.net.lanes)), func(l int) bool { return p.net.back(r, int32(l)) < 0 })
	})
}

// back is the lane that leads back on what a renaming makes of a lane, -1 where
// there is none.
func (n *network) back(r renaming, l int32) int32 {
	to := n.lanes[r.lanes[l]]
	return n.lane(int(to.to), int(to.from))
}

// restricted looks for a routing of sums among some kinds; nil where none is found
// in time. Each kind has a part of the time that those before it have left.
func (p *problem) restricted(s *constraints.Solvers, ask asker, open [][]int) (Schedule, string, error) {
	if len(p.classes) != 1 || p.Collective.Name != "allreduce" {
		return nil, "", nil
	}
	for _, r := range p.restrictions() {
		a, err := p.among(s, ask.share(1, restrictionShare), open, r)
		if err != nil || a.Status == constraints.Sat {
			return a.Schedule, a.By, err
		}
	}
	return nil, "", nil
}

// restrictionShare is which part of the time that is left a kind has.
const restrictionShare = 2

// among looks for a routing of one kind.
func (p *problem) among(s *constraints.Solvers, ask asker, open [][]int, r restriction) (Answer, error) {
	spec := p.Collective.Spec
	spec.Chunks = len(p.items) / len(r.group)
	c, err := collective.New(spec)
	if err != nil {
		return Answer{}, err
	}
	q, err := p.like(c, p.Steps, p.Rounds)
	if err != nil {
		return Answer{}, err
	}
	e := q.stateDirect(p.name()+", "+r.String(), open)
	e.share(r.group)
	if r.mirror != nil {
		e.mirror(*r.mirror, r.paired)
	}
	got, err := ask.put(s, stated{formula: e.f, suits: "pb", only: true})
	a := Answer{Status: got.Status, By: got.By}
	if err == nil && got.Status == constraints.Sat {
		a.Schedule = q.thinned(e.schedule(got.Model), len(r.group)).likes(r.group)
	}
	return a, err
}

// mirror has every chunk take its own ways backwards, or a chunk's of a pair the
// other's.
func (e *direct) mirror(r renaming, paired bool) {
	p := e.p
	takes := make([][][]constraints.Lit, len(p.items)) // by chunk, lane, step
	for x := range takes {
		takes[x] = make([][]constraints.Lit, len(p.net.lanes))
		for l := range takes[x] {
			for t := range p.Steps {
				takes[x][l] = append(takes[x][l], e.f.Or(e.adds[x][l][t], e.puts[x][l][t]))
			}
		}
	}
	for x := range takes {
		other := x
		if paired {
			other = x ^ 1
		}
		for l := range takes[x] {
			back := p.net.back(r, int32(l))
			for t, taken := range takes[x][l] {
				e.f.Clause(taken.Not(), takes[other][back][p.Steps-1-t])
			}
		}
	}
}
