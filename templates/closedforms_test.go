package templates

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/script"
)

// closedForm is a row of docs/families.md: the costs of a family with its first
// parameters, as formulas. A cost without a formula is a clause that begins with "the".
type closedForm struct {
	family, collectives string
	steps, wire         string
}

// closedForms is in the order of the families, then of their collectives.
var closedForms = []closedForm{
	{"all-pairs", "allreduce", "2", "2*(R-1)"},
	{"all-pairs", "allgather, reducescatter", "1", "R-1"},
	{"bruck", "allgather, allgatherv", "log(R)", "R-1"},
	{"bruck", "alltoall", "log(R)", "ones(R)"},
	{"chain", "broadcast, reduce", "R-1", "R-1"},
	{"direct", "alltoall, alltonext, broadcast, reduce, allgatherv", "1", "R-1"},
	{"direct", "sendrecv", "1", "R"},
	{"direct", "gather, scatter", "1", "(R-1)/R"},
	{"double-binary-tree", "allreduce", "2*(log(2*N-1)+G-1)", "2*(R-1)"},
	{"grid", "allreduce", "the same as for allgather, twice", "2*(R-1)"},
	{"grid", "allgather, reducescatter, allgatherv", "the sum of the steps in each dimension", "R-1"},
	{"hierarchical", "allreduce", "2*(G-1)+2*(N-1)", "2*(R-1)"},
	{"k-nomial", "broadcast, reduce", "log(R)", "R-1"},
	{"k-nomial", "gather, scatter", "log(R)", "ones(R)/R"},
	{"multi-level", "allreduce", "the same as for allgather, twice", "2*(R-1)"},
	{"multi-level", "allgather, reducescatter, allgatherv", "the sum of the steps of each level's algorithm", "R-1"},
	{"multi-nic", "alltonext", "3", "N*(G-1)+(N-1)*(3*G-2)/G"},
	{"recursive-doubling", "allreduce", "log(R)+up(2*E/P)", "P*log(P)+2*E"},
	{"recursive-halving-doubling", "allreduce", "2*(log(R)+up(E/P))", "2*(R-1)"},
	{"recursive-halving-doubling", "allgather", "log(R)+up(2*E/P)", "R-1"},
	{"recursive-halving-doubling", "reducescatter", "log(R)+up(2*E/P)", "R-1+E/R"},
	{"ring", "allreduce", "2*(R-1)", "2*(R-1)"},
	{"ring", "allgather, reducescatter, allgatherv", "R-1", "R-1"},
	{"routed", "allreduce", "the depth of the shortest-path trees, to the root and back", "2*(R-1)"},
	{"routed", "allgather, reducescatter, broadcast, reduce", "the depth of the shortest-path trees", "R-1"},
	{"scatter-allgather", "broadcast, reduce", "log(R)+R-1", "R-1+ones(R)/R"},
	{"spanning-trees", "allreduce", "the height of the highest tree, twice", "2*(R-1)"},
	{"spanning-trees", "broadcast, reduce", "the height of the highest tree", "R-1"},
	{"three-step", "alltoall", "3", "(N-1)*(3*G-2)+G-1"},
	{"two-step", "alltoall", "2", "N*(2*G-1)-G"},
}

// TestFamiliesPage holds docs/families.md to the families' own descriptions and to
// closedForms.
func TestFamiliesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, f := range Builtin() {
		fmt.Fprintf(&b, "| [%s](#%[1]s) | %s | %s |\n", f.Name, strings.Join(f.Collectives, ", "), f.Summary().Applies)
	}
	b.WriteString(pageSymbols)
	for _, f := range Builtin() {
		familySection(&b, f)
	}
	compareFile(t, "../docs/families.md", b.String())
}

// pageHead is the page down to the rows of the table of families.
const pageHead = `# The families

A *family* is one algorithm for several collectives and any number of ranks, with parameters that a search tunes. This page describes the built-in families, with closed forms of their costs.

` + "```" + `
colltune template list
colltune template show ring -t dgx-a100 --nodes 2                       # description, parameters, cost and program
colltune search -t dgx-a100 -c allreduce --family ring,all-pairs        # search these only
colltune compile ring -t dgx-a100 -c allreduce -p channels=4 --out ring.json
` + "```" + `

Your own families are written in [the chunk language](language.md). Compile times for 2,048 ranks are in [measurements](measurements/families.md).

| family | collectives | applies to |
|---|---|---|
`

// pageSymbols is the page from the table of families to the first of them.
const pageSymbols = `
Costs are those of the first values of a family's parameters, out of place, where each GPU uses its own NIC and no family relays within a node. *Steps* is the length of the critical path in messages; *wire* is all ranks' messages together, as a multiple of the call's size as [nccl-tests](language.md#collectives) counts it. Vector forms without a row depend on their counts.

| symbol | meaning |
|---|---|
| R, N, G | ranks, nodes, and GPUs of a node |
| P, E | the largest power of two up to R, and the other ranks, R-P |
| log(x) | the logarithm of x to base 2, rounded down |
| up(x) | x, rounded up |
| ones(x) | the ones in the binary digits of 1 to x-1 together |

Two tests hold this page to the code (` + "`go test ./templates -run TestFamiliesPage -update`" + ` writes it): the closed forms are compared with the [counted costs](../templates/testdata/matrix.md) of compiled and verified programs on 14 systems of 1 to 5 nodes, up to 360 ranks.
`

// familySection writes what the page says of a family.
func familySection(b *strings.Builder, f *Family) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", f.Name, strings.Join(strings.Fields(f.Doc), " "))
	if len(f.Parameters) > 0 {
		b.WriteString("\n| parameter | values | meaning |\n|---|---|---|\n")
	}
	for _, p := range f.Parameters {
		var words []string
		for _, v := range p.Values {
			words = append(words, script.FormatValue(v))
		}
		values := strings.Join(words, ", ")
		if p.Hole != "" {
			values = p.Source()
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, values, p.Doc)
	}
	b.WriteString("\n| collective | steps | wire |\n|---|---|---|\n")
	for _, c := range closedForms {
		if c.family == f.Name {
			fmt.Fprintf(b, "| %s | %s | %s |\n", c.collectives, strings.ReplaceAll(c.steps, "*", "·"), strings.ReplaceAll(c.wire, "*", "·"))
		}
	}
}

// TestClosedForms compares the formulas with every cell of the matrix.
func TestClosedForms(t *testing.T) {
	text, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, c := range closedForms {
		equal := 0
		for coll := range strings.SplitSeq(c.collectives, ", ") {
			table := sectionOf(lines, c.family, fmt.Sprintf("| %s, nodes: | 1 | 2 | 3 | 4 | 5 |", coll))
			for _, s := range systems {
				for i, cell := range cellsOf(lines, table, s) {
					if cell == "" {
						continue
					}
					m := machineOf(s.of(t, i+1))
					counted := strings.Split(cell, " · ")
					for k, formula := range []string{c.steps, c.wire} {
						if strings.HasPrefix(formula, "the ") {
							continue
						}
						got := evaluate(t, formula, m)
						if got.RatString() == counted[k] {
							equal++
						} else if hasFirstValues(t, c.family, coll, m) && (nodesLinked(m) || !slices.Contains(relaying, c.family)) {
							t.Errorf("%s, %s on %d × %v: %s is %s, and %s is counted", c.family, coll, i+1, s, formula, got.RatString(), counted[k])
						}
					}
				}
			}
		}
		if equal == 0 {
			t.Errorf("%s, %s: the formulas are those of no cell", c.family, c.collectives)
		}
	}
}

// hasFirstValues reports whether a family applies with the first value of every parameter,
// as the closed forms assume. Others of its values may apply where these do not.
func hasFirstValues(t *testing.T, family, coll string, m script.Machine) bool {
	t.Helper()
	f, err := Find(Builtin(), family, coll)
	if err != nil {
		t.Fatal(err)
	}
	grid, err := f.GridFor(m, requests(coll, m)[0], nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Parameters {
		if p.Hole == "" && script.FormatValue(grid[0][p.Name]) != script.FormatValue(p.Values[0]) {
			return false
		}
	}
	return true
}

// relaying are the families that relay within nodes where GPUs have no link.
var relaying = []string{"two-step", "three-step", "multi-nic"}

// nodesLinked reports whether every two GPUs of a node have a link.
func nodesLinked(m script.Machine) bool {
	first := 0
	for _, gpus := range m.GPUsPerNode {
		for a := first; a < first+gpus; a++ {
			for b := first; b < first+gpus; b++ {
				if a != b && !m.Linked(a, b) {
					return false
				}
			}
		}
		first += gpus
	}
	return true
}

// evaluate returns the value of a formula on a machine.
func evaluate(t *testing.T, formula string, m script.Machine) *big.Rat {
	t.Helper()
	ranks := m.Ranks()
	power := 1 << (bits.Len(uint(ranks)) - 1)
	symbols := map[string]int{"R": ranks, "N": m.Nodes, "G": m.GPUsPerNode[0], "P": power, "E": ranks - power}
	tree, err := parser.ParseExpr(formula)
	if err != nil {
		t.Fatalf("%s: %v", formula, err)
	}
	var value func(e ast.Expr) *big.Rat
	value = func(e ast.Expr) *big.Rat {
		switch e := e.(type) {
		case *ast.ParenExpr:
			return value(e.X)
		case *ast.BasicLit:
			n, _ := strconv.Atoi(e.Value)
			return big.NewRat(int64(n), 1)
		case *ast.Ident:
			return big.NewRat(int64(symbols[e.Name]), 1)
		case *ast.BinaryExpr:
			x, y := value(e.X), value(e.Y)
			switch e.Op {
			case token.ADD:
				return x.Add(x, y)
			case token.SUB:
				return x.Sub(x, y)
			case token.MUL:
				return x.Mul(x, y)
			case token.QUO:
				return x.Quo(x, y)
			}
		case *ast.CallExpr:
			x := value(e.Args[0])
			whole := int(x.Num().Int64())
			switch e.Fun.(*ast.Ident).Name {
			case "log":
				return big.NewRat(int64(bits.Len(uint(whole))-1), 1)
			case "ones":
				n := 0
				for i := range whole {
					n += bits.OnesCount(uint(i))
				}
				return big.NewRat(int64(n), 1)
			case "up":
				d := int(x.Denom().Int64())
				return big.NewRat(int64((whole+d-1)/d), 1)
			}
		}
		t.Fatalf("%s: cannot be evaluated", formula)
		return nil
	}
	return value(tree)
}
