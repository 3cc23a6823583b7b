package papers

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/synth"
	"github.com/colltune/colltune/topologies"
)

// SCCL (PPoPP 2021), table 4: algorithms for a DGX-1, as chunks, steps and rounds. There are
// no times: the solver finds a routing, which is replayed link by link, or there is none.
var sccl = []Claim{
	{"sccl-allgather", "table 4", "allgathers with the listed (chunks, steps, rounds) exist",
		all, queries{"allgather", [][3]int{{1, 2, 2}, {2, 2, 3}, {2, 3, 3}, {3, 4, 4}, {4, 5, 5}, {5, 6, 6}, {6, 7, 7}, {6, 3, 7}}, solver.Sat}, ""},
	{"sccl-allgather-least", "table 4", "(1,1,1) and (6,6,6), with a step or a round less, do not exist",
		all, queries{"allgather", [][3]int{{1, 1, 1}, {6, 6, 6}}, solver.Unsat}, ""},
	{"sccl-broadcast", "table 4", "broadcasts exist",
		all, queries{"broadcast", [][3]int{{2, 2, 2}, {6, 3, 3}, {12, 4, 4}, {18, 5, 5}, {6, 3, 5}}, solver.Sat}, ""},
	{"sccl-gather", "table 4", "gathers exist",
		all, queries{"gather", [][3]int{{1, 2, 2}, {2, 2, 3}, {6, 3, 7}, {6, 7, 7}}, solver.Sat}, ""},
	{"sccl-alltoall", "table 4", "all-to-alls exist",
		all, queries{"alltoall", [][3]int{{8, 3, 3}, {8, 2, 3}, {24, 8, 8}, {24, 2, 8}}, solver.Sat}, ""},
	{"sccl-allreduce", "table 4", "allreduces exist",
		all, queries{"allreduce", [][3]int{{8, 4, 4}, {16, 4, 6}, {48, 14, 14}, {48, 6, 14}}, solver.Sat}, ""},
}

var all = Published{"all rows below", 1, 1, true}

// queries is evidence by the part of some (chunks, steps, rounds) that a solver, or a bound,
// answers as the paper does.
type queries struct {
	collective string
	rows       [][3]int
	want       solver.Status
}

func (e queries) How() string {
	var rows []string
	for _, r := range e.rows {
		rows = append(rows, fmt.Sprintf("(%d,%d,%d)", r[0], r[1], r[2]))
	}
	return fmt.Sprintf("part of the rows that are %s: %s on dgx-1, %s", e.want, e.collective, strings.Join(rows, " "))
}

func (e queries) Find(l *Lab) (Found, error) {
	t, err := topologies.Resolve("dgx-1", topologies.Options{})
	if err != nil {
		return Found{}, err
	}
	s, err := solver.Open(solver.Options{Solver: "pb"})
	if err != nil {
		return Found{}, err
	}
	defer s.Close()
	same := 0
	for _, r := range e.rows {
		chunks, err := synth.ChunksOf(e.collective, len(t.Ranks), r[0])
		if err != nil {
			return Found{}, err
		}
		c, err := collective.New(collective.Spec{Name: e.collective, Ranks: len(t.Ranks), Chunks: chunks, InPlace: collective.DefaultInPlace(e.collective)})
		if err != nil {
			return Found{}, err
		}
		a, err := synth.Find(l.ctx, s, synth.Query{Topology: t, Collective: c, Steps: r[1], Rounds: r[2]})
		if err != nil {
			return Found{}, err
		}
		if a.Status == e.want {
			same++
		}
	}
	return Found{float64(same) / float64(len(e.rows)), fmt.Sprintf("%d of %d are %s", same, len(e.rows), e.want), ""}, nil
}
