package constraints

import (
	"fmt"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// Refusal is a reason why a program cannot run on a topology.
type Refusal struct {
	Reason string   // one of the Reason constants, by which refusals are counted
	Detail string   // the rank or link that is missing
	Pos    lang.Pos // of the operation in the program; zero if the ranks do not match
}

// The reasons of a Refusal.
const (
	ReasonRanks = "wrong number of ranks"
	ReasonLink  = "missing link"
)

// String gives position: reason: detail.
func (r Refusal) String() string { return fmt.Sprintf("%s: %s: %s", r.Pos, r.Reason, r.Detail) }

// CheckRouting checks that every transfer between ranks has a link. It returns one
// refusal for each pair of ranks and position in the program, in program order; none
// means that the program can run.
func CheckRouting(p *lang.Program, t *topologies.Topology) []Refusal {
	n := len(t.Ranks)
	if p.Collective.Ranks != n {
		return []Refusal{{ReasonRanks, fmt.Sprintf("the program is for %d ranks, %s has %d", p.Collective.Ranks, t.Name, n), lang.Pos{}}}
	}
	type pair struct{ from, to int }
	type place struct {
		pair
		pos lang.Pos
	}
	told := map[place]bool{}
	var refusals []Refusal
	for i := range p.Ops {
		op := &p.Ops[i]
		at := pair{int(op.Src.Rank), int(op.Dst.Rank)}
		if at.from == at.to && at.from >= 0 && at.from < n || t.Linked(at.from, at.to) {
			continue
		}
		if where := (place{at, p.Pos(op)}); !told[where] {
			told[where] = true
			refusals = append(refusals, Refusal{ReasonLink, describe(at.from, at.to, t), where.pos})
		}
	}
	return refusals
}

func describe(from, to int, t *topologies.Topology) string {
	for _, r := range []int{from, to} {
		if r < 0 || r >= len(t.Ranks) {
			return fmt.Sprintf("rank %d is not there: %s has ranks 0 to %d", r, t.Name, len(t.Ranks)-1)
		}
	}
	return fmt.Sprintf("%s has no link from rank %d to rank %d", t.Name, from, to)
}
