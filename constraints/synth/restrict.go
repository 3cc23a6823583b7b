package synth

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
)

// restriction is a class of routings of sums to search: those that automorphisms leave
// unchanged, those that are their own mirror in time, or both.
//
//	mirrored   step 1  0 ─▶ 1   …   step S  1 ─▶ 0      a chunk and itself backwards
//	paired     chunk 0 as chunk 1 backwards             and the other way round
//
// A mirrored send takes the lane that leads back, possibly after a automorphism.
// Whether a value is combined or replaced on the way is left open, because the
// mirror of a sum need not be a sum. A restricted search has to route only a few
// chunks. That there is no routing of one class says nothing about others.
type restriction struct {
	group  []automorphism // automorphisms by which the routed chunks stand for all
	mirror *automorphism  // nil if not mirrored
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

// manyRestrictions limits how many classes are searched.
const manyRestrictions = 24

// restrictions lists the classes to search, those first that have proved fruitful:
// mirrors without automorphism, then routings unchanged by automorphisms, then chunks that
// mirror each other, then mirrors after a automorphism. Within each, smaller questions
// come first.
func (p *problem) restrictions() []restriction {
	chunks := len(p.items)
	groups, mirrors := p.sharings(chunks), p.mirrors()
	var all []restriction
	mirrored := func(mirror *automorphism, paired bool) {
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
		if len(g) > 1 { // otherwise it is the unrestricted question
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

// mirrors lists the automorphisms after which a routing could be its own mirror. There
// are none if some lane has no lane back.
func (p *problem) mirrors() []automorphism {
	all := p.group(p.automorphisms())
	if all == nil {
		all = p.group(nil)
	}
	return slices.DeleteFunc(all, func(r automorphism) bool {
		return slices.ContainsFunc(upTo(len(p.net.lanes)), func(l int) bool { return p.net.back(r, int32(l)) < 0 })
	})
}

// back is the lane that leads back along the automorphism of a lane, or -1.
func (n *network) back(r automorphism, l int32) int32 {
	to := n.lanes[r.lanes[l]]
	return n.lane(int(to.to), int(to.from))
}

// restricted looks for a routing of sums in some of these classes, and returns nil
// if none is found in time. Each class gets a part of the time that is left.
func (p *problem) restricted(s *solver.Pool, ask solveBudget, open [][]int) (Schedule, string, error) {
	if len(p.classes) != 1 || p.Collective.Name != "allreduce" {
		return nil, "", nil
	}
	for _, r := range p.restrictions() {
		a, err := p.among(s, ask.share(1, restrictionShare), open, r)
		if err != nil || a.Status == solver.Sat {
			return a.Schedule, a.By, err
		}
	}
	return nil, "", nil
}

// restrictionShare is the part of the remaining time, one in so many, for a class.
const restrictionShare = 2

// among looks for a routing of one class.
func (p *problem) among(s *solver.Pool, ask solveBudget, open [][]int, r restriction) (Answer, error) {
	spec := p.Collective.Spec
	spec.Chunks = len(p.items) / len(r.group)
	c, err := collective.New(spec)
	if err != nil {
		return Answer{}, err
	}
	q, err := p.withCollective(c, p.Steps, p.Rounds)
	if err != nil {
		return Answer{}, err
	}
	e := q.encodeSumWithoutLinks(p.name()+", "+r.String(), open)
	e.share(r.group)
	if r.mirror != nil {
		e.mirror(*r.mirror, r.paired)
	}
	got, err := ask.ask(s, encoding{formula: e.f, preferred: "pb", only: true})
	a := Answer{Status: got.Status, By: got.By}
	if err == nil && got.Status == solver.Sat {
		a.Schedule = q.thinned(e.schedule(got.Model), len(r.group)).likes(r.group)
	}
	return a, err
}

// mirror states that every chunk mirrors itself or, if paired, the other chunk of
// its pair.
func (e *sumEncoding) mirror(r automorphism, paired bool) {
	p := e.p
	takes := make([][][]constraints.Lit, len(p.items)) // by chunk, lane and step
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
