package synth

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/z3"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// open opens a solver, or all where name is empty.
func open(t testing.TB, name string) *solver.Pool {
	t.Helper()
	s, err := solver.Open(solver.Options{Solver: name, Timeout: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// each runs a test with every solver available.
func each(t *testing.T, f func(t *testing.T, s *solver.Pool)) {
	t.Run("pb", func(t *testing.T) { f(t, open(t, "pb")) })
	t.Run("z3", func(t *testing.T) {
		if os.Getenv(z3.Variable) == "off" || z3.Open() != nil {
			t.Skip("libz3 is not there")
		}
		f(t, open(t, "z3"))
	})
}

var resolve = topotest.Resolve

// row is a query (C, S, R) and its status in the literature.
type row struct {
	collective string
	c, s, r    int
	status     solver.Status
}

const (
	sat   = solver.Sat
	unsat = solver.Unsat
)

// ask answers a row and, if there is a routing, compiles and verifies its program.
func ask(t *testing.T, s *solver.Pool, top *topologies.Topology, w row) Answer {
	t.Helper()
	n := len(top.Ranks)
	chunks, err := ChunksOf(w.collective, n, w.c)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collective.New(collective.Spec{Name: w.collective, Ranks: n, Chunks: chunks, InPlace: collective.DefaultInPlace(w.collective)})
	if err != nil {
		t.Fatal(err)
	}
	q := Query{Topology: top, Collective: c, Steps: w.s, Rounds: w.r}
	a, err := Find(context.Background(), s, q)
	if err != nil {
		t.Fatalf("%v: %v", w, err)
	}
	if os.Getenv("SHOW") != "" {
		fmt.Printf("%v %v by %s in %.3f s %s\n", w, a.Status, a.By, a.Seconds, a.Detail)
	}
	if a.Status != w.status {
		t.Errorf("%v: %v by %s (%s), want %v", w, a.Status, a.By, a.Detail, w.status)
	}
	if a.Status == sat {
		compiled(t, q, a)
	}
	return a
}

func compiled(t *testing.T, q Query, a Answer) {
	t.Helper()
	program, err := Program(q, a, "synthesised")
	if err != nil {
		t.Fatalf("%s: %v", q.Collective.Name, err)
	}
	if refused := constraints.CheckRouting(program, q.Topology); len(refused) > 0 {
		t.Fatalf("%s: %v", q.Collective.Name, refused[0])
	}
	got, err := compiler.Compile(program, compiler.Options{})
	if err != nil {
		t.Fatalf("%s: %v", q.Collective.Name, err)
	}
	if r := verify.Check(got.Program, verify.Options{}); !r.OK() {
		t.Fatalf("%s: %v", q.Collective.Name, r.Findings)
	}
}

// dgx1 is the table of SCCL's paper, with rows of our own.
var dgx1 = []row{
	{"allgather", 1, 1, 1, unsat}, {"allgather", 1, 2, 2, sat}, {"allgather", 2, 2, 3, sat}, {"allgather", 2, 3, 3, sat},
	{"allgather", 3, 2, 4, unsat}, {"allgather", 3, 3, 4, sat}, {"allgather", 3, 4, 4, sat}, {"allgather", 4, 3, 5, sat},
	{"allgather", 4, 5, 5, sat}, {"allgather", 5, 3, 6, sat}, {"allgather", 5, 6, 6, sat}, {"allgather", 6, 3, 7, sat},
	{"allgather", 6, 7, 7, sat}, {"allgather", 6, 3, 6, unsat}, {"allgather", 6, 6, 6, unsat},
	{"reducescatter", 1, 1, 1, unsat}, {"reducescatter", 1, 2, 2, sat}, {"reducescatter", 2, 2, 3, sat}, {"reducescatter", 2, 3, 3, sat},
	{"reducescatter", 3, 2, 4, unsat}, {"reducescatter", 3, 3, 4, sat}, {"reducescatter", 3, 4, 4, sat}, {"reducescatter", 4, 3, 5, sat},
	{"reducescatter", 4, 5, 5, sat}, {"reducescatter", 5, 3, 6, sat}, {"reducescatter", 5, 6, 6, sat}, {"reducescatter", 6, 3, 7, sat},
	{"reducescatter", 6, 7, 7, sat}, {"reducescatter", 6, 6, 6, unsat},
	{"broadcast", 2, 2, 2, sat}, {"broadcast", 6, 3, 3, sat}, {"broadcast", 12, 4, 4, sat}, {"broadcast", 18, 5, 5, sat},
	{"broadcast", 6, 3, 5, sat}, {"broadcast", 3, 2, 2, unsat}, {"broadcast", 24, 5, 6, unsat},
	{"reduce", 2, 2, 2, sat}, {"reduce", 6, 3, 3, sat}, {"reduce", 12, 4, 4, sat}, {"reduce", 18, 5, 5, sat}, {"reduce", 24, 5, 6, unsat},
	{"gather", 1, 2, 2, sat}, {"gather", 2, 2, 3, sat}, {"gather", 3, 3, 4, sat}, {"gather", 4, 3, 5, sat}, {"gather", 5, 3, 6, sat},
	{"gather", 6, 2, 7, sat}, {"gather", 6, 3, 7, sat}, {"gather", 6, 3, 6, unsat}, {"gather", 18, 5, 5, unsat},
	{"scatter", 1, 2, 2, sat}, {"scatter", 2, 2, 3, sat}, {"scatter", 3, 3, 4, sat}, {"scatter", 4, 3, 5, sat}, {"scatter", 5, 3, 6, sat},
	{"scatter", 6, 2, 7, sat}, {"scatter", 6, 3, 7, sat}, {"scatter", 6, 3, 6, unsat}, {"scatter", 18, 5, 5, unsat},
	{"alltoall", 8, 2, 2, unsat}, {"alltoall", 8, 2, 3, sat}, {"alltoall", 8, 3, 3, sat}, {"alltoall", 16, 2, 6, sat},
	{"alltoall", 24, 2, 7, unsat}, {"alltoall", 24, 2, 8, sat}, {"alltoall", 24, 8, 8, sat},
	{"alltonext", 1, 2, 2, sat},
	{"allreduce", 1, 2, 2, sat}, {"allreduce", 2, 2, 2, sat}, {"allreduce", 8, 4, 4, sat}, {"allreduce", 16, 4, 6, sat},
	{"allreduce", 24, 6, 8, sat}, {"allreduce", 48, 6, 14, sat}, {"allreduce", 48, 14, 14, sat}, {"allreduce", 48, 13, 13, unsat},
	{"allreduce", 8, 1, 4, unsat}, {"allreduce", 8, 2, 7, unsat}, {"allreduce", 48, 2, 47, unsat},
}

func TestDGX1(t *testing.T) {
	top := resolve(t, "dgx-1", 0)
	each(t, func(t *testing.T, s *solver.Pool) {
		for _, w := range dgx1 {
			if slow := w.c*w.s > 24 && w.status == sat && w.collective != "alltoall"; slow && s.Solvers()[0] == "z3" && os.Getenv("COLLTUNE_LONG") == "" {
				continue // the other solver answers these sooner
			}
			if a := ask(t, s, top, w); w.status == unsat && a.By != Bound {
				t.Errorf("%v: refuted by %s, want the bound", w, a.By)
			}
		}
	})
}
