package templates

import (
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// systems are the columns of docs/families.md: name and nodes.
var systems = []struct {
	name  string
	nodes int
}{{"dgx-a100", 1}, {"dgx-a100", 2}, {"dgx-a100", 4}, {"dgx-1", 1}, {"mi300x", 1}, {"mi300x", 3}, {"ring:5", 0}, {"mesh:3x4", 0}, {"torus:3x3", 0}, {"hypercube:3", 0}}

// TestMatrix compiles every family for every collective it does on a choice of
// systems, with the first parameters that apply, verifies what comes out, and
// holds it to its cost; docs/families.md is what it found. -update writes it.
func TestMatrix(t *testing.T) {
	const page = "../docs/families.md"
	var b strings.Builder
	b.WriteString(matrixHead)
	rows := 0
	for _, f := range Builtin() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\nFor %s.\n\n", f.Name, strings.Join(strings.Fields(f.Doc), " "), f.Summary().Applies)
		for _, p := range f.Parameters {
			values := "found by the solver"
			if p.Values != nil {
				var words []string
				for _, v := range p.Values {
					words = append(words, script.FormatValue(v))
				}
				values = strings.Join(words, ", ")
			}
			fmt.Fprintf(&b, "* `%s` (%s): %s\n", p.Name, values, p.Doc)
		}
		if len(f.Parameters) > 0 {
			b.WriteString("\n")
		}
		b.WriteString("| collective | system | parameters | steps | wire | threadblocks |\n|---|---|---|---:|---:|---:|\n")
		for _, c := range f.Collectives {
			for _, s := range systems {
				top, err := topologies.Resolve(s.name, topologies.Options{Nodes: s.nodes})
				if err != nil {
					t.Fatal(err)
				}
				m := machineOf(top)
				q := requests(c, m)[0] // one that is there for all: out of place
				grid, err := f.GridFor(m, q, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(grid) == 0 {
					continue
				}
				got := matrixEntry(t, f, m, q, grid[0])
				name := s.name
				if s.nodes > 1 {
					name += fmt.Sprintf(" × %d", s.nodes)
				}
				params := map[string]any{}
				for _, p := range f.Parameters {
					if v := grid[0][p.Name]; v != nil {
						params[p.Name] = v
					}
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %d |\n", c, name, script.Params(params), got.steps, got.wire.RatString(), got.threadblocks)
				rows++
			}
		}
	}
	if rows < 200 {
		t.Errorf("only %d rows", rows)
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Split(b.String(), "\n"), strings.Split(string(text), "\n"); !slices.Equal(got, want) {
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				t.Fatalf("%s:%d is not what is found (go test ./templates -run TestMatrix -update): %s", page, i+1, got[i])
			}
		}
		t.Fatalf("%s is longer than what is found", page)
	}
}

const matrixHead = `# The families

Every family of algorithms, what it can be varied in, and what it costs on some systems, with the first of its parameters that apply there. The page is written by a test (` + "`go test ./templates -run TestMatrix -update`" + `), which compiles each of these programs, verifies it, and holds it to the family's own formula.

*Steps* are the messages, one after the other, that what ends in some output has been through at most. *Wire* is what all ranks send together, as a multiple of the call's size. *Threadblocks* are those of the busiest GPU, for one instance. Sizes are nccl-tests': see [the language](language.md) for what they count.
`

func ratio(a, b int64) *big.Rat { return big.NewRat(a, b) }

func matrixEntry(t *testing.T, f *Family, m script.Machine, q script.Request, p script.Params) measured {
	t.Helper()
	program, err := f.Trace(m, q, p)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(program, compiler.Options{MaxChannels: 1 << 10})
	if err != nil {
		t.Fatalf("%s %s: %v", f.Name, q.Collective, err)
	}
	if err := verify.Check(compiled.Program, verify.Options{Slots: 2, Linked: m.Linked}).Err(); err != nil {
		t.Fatalf("%s %s: %v", f.Name, q.Collective, err)
	}
	got := measure(t, compiled.Program)
	if said, _, err := f.Cost(m, q, p); err != nil || got.steps != said.Steps || got.wire.Cmp(said.Wire) != 0 {
		t.Errorf("%s %s %v: it says %d steps and %v on the wire; counted are %d and %v (%v)", f.Name, q.Collective, p, said.Steps, said.Wire, got.steps, got.wire, err)
	}
	return got
}

// TestTextbook holds the costs to the formulas of Thakur, Rabenseifner and Gropp
// (2005), and PCCL's section 2.2, where p is a power of two: steps, and what one
// rank sends of the size.
func TestTextbook(t *testing.T) {
	const p, lg = 16, 4
	for _, c := range []struct {
		family, coll string
		given        map[string]any
		steps        int
		over, under  int64
	}{
		{"ring", "allgather", nil, p - 1, p - 1, p},
		{"ring", "reducescatter", nil, p - 1, p - 1, p},
		{"ring", "allreduce", nil, 2 * (p - 1), 2 * (p - 1), p},
		{"recursive-halving-doubling", "allgather", nil, lg, p - 1, p},
		{"recursive-halving-doubling", "reducescatter", map[string]any{"first": "far"}, lg, p - 1, p},
		{"recursive-halving-doubling", "allreduce", nil, 2 * lg, 2 * (p - 1), p},
		{"recursive-doubling", "allreduce", nil, lg, lg, 1},
		{"bruck", "allgather", nil, lg, p - 1, p},
		{"bruck", "alltoall", nil, lg, lg, 2},
		{"k-nomial", "broadcast", nil, lg, p - 1, p},
		{"k-nomial", "gather", nil, lg, lg, 2 * p},
		{"scatter-allgather", "broadcast", nil, lg + p - 1, 2*(p-1) + lg, 2 * p},
		{"scatter-allgather", "reduce", map[string]any{"gather": "recursive"}, 2 * lg, 2*(p-1) + lg, 2 * p},
		{"direct", "alltoall", nil, 1, p - 1, p},
	} {
		f, err := Find(Builtin(), c.family, c.coll)
		if err != nil {
			t.Fatal(err)
		}
		cost, ok, err := f.Cost(script.Even(1, p), script.Request{Collective: c.coll}, c.given)
		if err != nil || !ok {
			t.Fatal(c.family, err)
		}
		each := cost.Wire.Quo(cost.Wire, ratio(p, 1))
		want := ratio(c.over, c.under)
		if cost.Steps != c.steps || each.Cmp(want) != 0 {
			t.Errorf("%s %s: %d steps, %v of the size a rank; the book says %d and %v", c.family, c.coll, cost.Steps, each, c.steps, want)
		}
	}
}
