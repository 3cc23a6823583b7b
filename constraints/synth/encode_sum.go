package synth

import (
	"github.com/colltune/colltune/constraints"
)

// sumEncoding is for sums that are wanted in several places. Every rank has one value of
// each chunk, and the encoding tracks the contributions in it:
//
//	has(x, c, r, t)   rank c's contribution is in rank r's value of chunk x after step t
//	adds(x, l, t)     the value that lane l brings in step t is combined with r's
//	puts(x, l, t)     the value that it brings replaces r's
//
// Values that are combined must have no contribution in common. In the end all
// contributions must be there.
type sumEncoding struct {
	p          *problem
	f          *constraints.Formula
	rounds     []constraints.Int
	has        [][][][]constraints.Lit // by item, contribution, rank, step 0…S
	adds, puts [][][]constraints.Lit   // by item, lane, step 0…S-1
}

func (p *problem) encodeSum(name string, open [][]int) *sumEncoding {
	e := p.encodeSumWithoutLinks(name, open)
	e.limitLinks()
	return e
}

// encodeSumWithoutLinks states everything except the capacities of links.
func (p *problem) encodeSumWithoutLinks(name string, open [][]int) *sumEncoding {
	e := &sumEncoding{p: p, f: p.formula(name)}
	e.rounds = encodeRounds(e.f, p, open)
	for x := range p.items {
		e.values(x)
		e.moves(x)
	}
	return e
}

// limitLinks keeps the load of every link in every step within its capacity.
func (e *sumEncoding) limitLinks() {
	p := e.p
	for _, at := range p.net.undominated() {
		l := &p.net.links[at]
		for t := range p.Steps {
			var terms []constraints.Term
			for _, on := range l.lanes {
				for x := range p.items {
					terms = append(terms, constraints.Term{Weight: 1, Lit: e.adds[x][on][t]}, constraints.Term{Weight: 1, Lit: e.puts[x][on][t]})
				}
			}
			limitLoad(e.f, terms, len(terms), l.capacity, e.rounds[t])
		}
	}
}

// values makes the variables for the contributions in the ranks' values of a chunk.
func (e *sumEncoding) values(x int) {
	p := e.p
	n := p.net.ranks
	wants := make([]bool, n)
	for _, r := range p.items[x].wanted {
		wants[r] = true
	}
	by := make([][][]constraints.Lit, n)
	for c := range by {
		by[c] = make([][]constraints.Lit, n)
		for r := range by[c] {
			row := make([]constraints.Lit, p.Steps+1)
			for t := range row {
				d := p.net.dist[c][r]
				switch {
				case t == 0 && c == r, t == p.Steps && wants[r]:
					row[t] = constraints.True
				case t == 0 || d < 0 || int(d) > t:
					row[t] = constraints.False
				default:
					row[t] = e.f.Bool("")
				}
			}
			by[c][r] = row
		}
	}
	e.has = append(e.has, by)
}

// moves makes the variables for sends, and relates them to values.
func (e *sumEncoding) moves(x int) {
	p, f := e.p, e.f
	fresh := func() [][]constraints.Lit {
		all := make([][]constraints.Lit, len(p.net.lanes))
		for l := range all {
			all[l] = make([]constraints.Lit, p.Steps)
			for t := range all[l] {
				all[l][t] = f.Bool("")
			}
		}
		return all
	}
	e.adds, e.puts = append(e.adds, fresh()), append(e.puts, fresh())
	adds, puts := e.adds[x], e.puts[x]
	for r := range p.net.ranks {
		in := p.net.in[r]
		for t := range p.Steps {
			var replaced []constraints.Lit
			for _, l := range in {
				replaced = append(replaced, puts[l][t])
			}
			f.AtMost(1, replaced...)
			for _, put := range replaced {
				for _, l := range in {
					f.Clause(put.Not(), adds[l][t].Not())
				}
			}
			for c := range p.net.ranks {
				before, after := e.has[x][c][r][t], e.has[x][c][r][t+1]
				f.Implies([]constraints.Lit{before}, append([]constraints.Lit{after}, replaced...)...)
				whence := append([]constraints.Lit{before}, replaced...)
				brought := []constraints.Lit{before}
				for _, l := range in {
					there := e.has[x][c][p.net.lanes[l].from][t]
					f.Implies([]constraints.Lit{puts[l][t], there}, after)
					f.Implies([]constraints.Lit{puts[l][t], after}, there)
					if there == constraints.False {
						continue
					}
					b := adds[l][t]
					if there != constraints.True {
						b = f.And(b, there)
					}
					f.Clause(b.Not(), after)
					whence, brought = append(whence, b), append(brought, b)
				}
				// Only one lane may bring a contribution. In a step, a value is
				// either replaced or added to.
				f.AtMost(1, brought...)
				f.Implies([]constraints.Lit{after}, whence...)
			}
		}
	}
}

// schedule decodes a model.
func (e *sumEncoding) schedule(model []bool) Schedule {
	p := e.p
	s := make(Schedule, p.Steps)
	for t := range s {
		s[t].Rounds = e.rounds[t].Value(model)
		for x := range p.items {
			for i, l := range p.net.lanes {
				for _, kind := range []struct {
					lit    constraints.Lit
					reduce bool
				}{{e.adds[x][i][t], true}, {e.puts[x][i][t], false}} {
					if model[kind.lit-1] {
						s[t].Sends = append(s[t].Sends, Send{x, int(l.from), int(l.to), kind.reduce})
					}
				}
			}
		}
	}
	return s
}
