package synth

import (
	"slices"

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

// encodeSum states a problem, with the rounds of each step limited to those of the open
// splits. Without links, it leaves out their capacities.
func (p *problem) encodeSum(name string, open [][]int, links bool) *sumEncoding {
	e := &sumEncoding{p: p, f: constraints.NewFormula(name).Until(p.ctx)}
	e.rounds = encodeRounds(e.f, p, open)
	for x := range p.items {
		if e.f.Err() != nil {
			return e // too large or too late: it is not solved
		}
		e.values(x)
		e.moves(x)
	}
	if links {
		p.limitLinks(e.f, e.rounds, e.load)
	}
	return e
}

// load returns the sums and copies of all items on a lane in a step.
func (e *sumEncoding) load(lane int32, step int) (terms []constraints.Term) {
	for x := range e.p.items {
		terms = append(terms, constraints.Term{Weight: 1, Lit: e.adds[x][lane][step]}, constraints.Term{Weight: 1, Lit: e.puts[x][lane][step]})
	}
	return terms
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

// thin drops sends one by one as long as the schedule remains correct.
func (p *problem) thin(s Schedule) Schedule {
	items := p.names()
	for i := range s {
		for j := 0; j < len(s[i].Sends); {
			less := slices.Clone(s)
			less[i].Sends = slices.Delete(slices.Clone(s[i].Sends), j, j+1)
			if Replay(p.Query, p.net.unit, items, less) == nil {
				s = less
			} else {
				j++
			}
		}
	}
	return s
}

// breakSymmetry admits only the lexicographically largest of equivalent routings. Chunks of a
// class are ordered by the sends of the first step. The number of chunks of a class that the
// first step sends over each lane does not depend on that order, so the vectors of these
// numbers are compared with their images under automorphisms (lex-leader constraints).
func (e *sumEncoding) breakSymmetry() {
	if e.f.Err() != nil {
		return
	}
	p := e.p
	sends := make([][][]constraints.Lit, len(p.classes)) // by class and lane: how many are added, and how many replace
	for i, class := range p.classes {
		var last []constraints.Lit
		for at, x := range class {
			var row []constraints.Lit
			for l := range p.net.lanes {
				row = append(row, e.adds[x][l][0], e.puts[x][l][0])
			}
			if at > 0 {
				lexAtLeast(e.f, last, row)
			}
			last = row
		}
		for l := range p.net.lanes {
			var adds, puts []constraints.Lit
			for _, x := range class {
				adds, puts = append(adds, e.adds[x][l][0]), append(puts, e.puts[x][l][0])
			}
			sends[i] = append(sends[i], append(unary(e.f, adds), unary(e.f, puts)...))
		}
	}
	for _, r := range p.automorphisms() {
		var before, after []constraints.Lit
		for i := range sends {
			for lane, bits := range sends[i] {
				before = append(before, bits...)
				after = append(after, sends[r.classes[i]][r.lanes[lane]]...)
			}
		}
		lexAtLeast(e.f, before, after)
	}
}

// maxLexLength is the number of positions of two vectors that are compared; later ones seldom
// decide.
const maxLexLength = 256

func lexAtLeast(f *constraints.Formula, before, after []constraints.Lit) {
	same := constraints.True // the rows are equal so far
	for i := range min(len(before), maxLexLength) {
		a, b := before[i], after[i]
		if a == b {
			continue
		}
		f.Implies([]constraints.Lit{same, b}, a)
		// next must hold if the vectors are equal so far, and is free otherwise.
		next := f.Bool("")
		f.Implies([]constraints.Lit{same, a, b}, next)
		f.Implies([]constraints.Lit{same, a.Not(), b.Not()}, next)
		same = next
	}
}

// unary returns the number of literals that hold, in order encoding: the larger of two
// numbers has the lexicographically larger bits.
func unary(f *constraints.Formula, lits []constraints.Lit) []constraints.Lit {
	if len(lits) < 2 {
		return lits
	}
	x := f.Int(0, len(lits))
	terms := x.Terms(-1)
	for _, l := range lits {
		terms = append(terms, constraints.Term{Weight: 1, Lit: l})
	}
	f.SumExactly(0, terms...)
	bits := make([]constraints.Lit, len(lits))
	for i := range bits {
		bits[i] = x.AtLeast(i + 1)
	}
	return bits
}
