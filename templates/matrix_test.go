package templates

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// system is a row of docs/families.md.
type system struct {
	name  string
	gpus  []int // of every node; nil: all
	nodes int   // up to how many
}

// systems are one of the catalogue for each sort that templates can tell apart,
// one with an odd number of GPUs, and some without a catalogue's switches.
var systems = []system{
	{"dgx-a100", nil, 5}, {"dgx-a100", []int{0, 1, 2, 3, 4}, 5}, {"perlmutter", nil, 5}, {"dgx-2", nil, 5}, {"gb200-nvl72", nil, 5},
	{"dgx-1", nil, 5}, {"frontier", nil, 5}, {"mi250", nil, 5}, {"ndv2-teccl", nil, 5}, {"dgx-2-teccl", nil, 5},
	{"ring:5", nil, 1}, {"mesh:3x4", nil, 1}, {"torus:3x3", nil, 1}, {"hypercube:3", nil, 1},
}

func (s system) String() string {
	if s.gpus != nil {
		return fmt.Sprintf("%s, %d GPUs a node", s.name, len(s.gpus))
	}
	return s.name
}

// of returns n nodes of the system.
func (s system) of(t *testing.T, nodes int) *topologies.Topology {
	t.Helper()
	o := topologies.Options{GPUs: s.gpus}
	if s.nodes > 1 {
		o.Nodes = nodes
	}
	top, err := topologies.Resolve(s.name, o)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// machineOf returns a system as templates see it.
func machineOf(top *topologies.Topology) script.Machine {
	m := script.Machine{Nodes: top.Nodes, Linked: top.Linked}
	for n := range top.Nodes {
		m.GPUsPerNode = append(m.GPUsPerNode, len(top.NodeRanks(n)))
	}
	return m
}

// everything reports whether slow tests look at all there is.
func everything() bool { return os.Getenv("COLLTUNE_LONG") != "" || *update }

// TestMatrix compiles every family for every collective it does on systems of 1
// to 5 nodes, with the first parameters that apply, verifies what comes out, and
// holds it to the family's formula; docs/families.md is what is counted. The
// ordinary test does so for small systems, and reads the others off the page;
// with COLLTUNE_LONG=1 it leaves none out, and tries the last parameters as well.
func TestMatrix(t *testing.T) {
	const page = "../docs/families.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Split(string(text), "\n")
	pageOf := make([]strings.Builder, len(Builtin()))
	t.Run("families", func(t *testing.T) {
		for i, f := range Builtin() {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				familyPage(t, &pageOf[i], f, written)
			})
		}
	})
	var b strings.Builder
	b.WriteString(matrixHead + matrixFamilies() + matrixLegend)
	for i := range pageOf {
		if pageOf[i].Len() == 0 {
			return // -run has left it out
		}
		b.WriteString(pageOf[i].String())
	}
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, line := range strings.Split(b.String(), "\n") {
		if i >= len(written) || line != written[i] {
			t.Fatalf("%s:%d is not what is found (go test ./templates -run TestMatrix -update): %s", page, i+1, line)
		}
	}
	if b.Len() != len(text) {
		t.Fatalf("%s is longer than what is found", page)
	}
}

// matrixHead is the page down to the table of families.
const matrixHead = `# The families

A *family* is one algorithm for several collectives and any number of ranks, with parameters that a search tunes. This page lists the built-in families, and what each costs on systems of 1 to 5 nodes.

` + "```" + `
colltune template list
colltune template show ring -t dgx-a100 --nodes 2                       # description, parameters, cost and program
colltune search -t dgx-a100 -c allreduce --family ring,all-pairs        # search these only
colltune compile ring -t dgx-a100 -c allreduce -p channels=4 --out ring.json
` + "```" + `

Your own families are written in [the chunk language](language.md). Compile times for 2,048 ranks are in [measurements](measurements/families.md).

`

// matrixLegend is the page from the table of families to the first of them.
const matrixLegend = `
## How to read the tables

Each cell is *steps* · *wire* · *threadblocks*, for the first of the family's parameters that apply. An empty cell means that the family does not apply there. Sizes are [nccl-tests'](language.md#collectives).

| number | meaning |
|---|---|
| *steps* | length of the critical path: the most messages, one after another, that any output depends on |
| *wire* | what all ranks send together, as a multiple of the call's size |
| *threadblocks* | of the busiest GPU, for one instance of the program |

A family sees only how many GPUs each node has and which of them have links. So some rows stand for several entries of [the catalogue](topologies.md#the-catalogue):

| row | also stands for |
|---|---|
| dgx-a100 | dgx-h100, dgx-h200, ndv4, thetagpu, mi300x, a10g-8, l40s-8, t4-8 |
| perlmutter | polaris, alps, lassen, l40s-4 |
| dgx-1 | ndv2 |
| frontier | mi250x |

A test writes this page (` + "`go test ./templates -run TestMatrix -update`" + `). It compiles and verifies each program, counts the three numbers in the result, and checks them against the family's own cost formula.
`

// matrixFamilies returns the table of families.
func matrixFamilies() string {
	var b strings.Builder
	b.WriteString("| family | collectives | applies to |\n|---|---|---|\n")
	for _, f := range Builtin() {
		fmt.Fprintf(&b, "| [%s](#%[1]s) | %s | %s |\n", f.Name, strings.Join(f.Collectives, ", "), f.Summary().Applies)
	}
	return b.String()
}

// familyPage writes what the page has of a family. Cells that are not counted
// here are those of the page as it is.
func familyPage(t *testing.T, b *strings.Builder, f *Family, written []string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\nApplies to: %s.\n", f.Name, strings.Join(strings.Fields(f.Doc), " "), f.Summary().Applies)
	if len(f.Parameters) > 0 {
		b.WriteString("\n| parameter | values | meaning |\n|---|---|---|\n")
	}
	for _, p := range f.Parameters {
		var values string
		if p.Hole != "" {
			values = p.Source()
		} else {
			var words []string
			for _, v := range p.Values {
				words = append(words, script.FormatValue(v))
			}
			values = strings.Join(words, ", ")
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", p.Name, values, p.Doc)
	}
	for _, c := range f.Collectives {
		heading := fmt.Sprintf("| %s, nodes: | 1 | 2 | 3 | 4 | 5 |", c)
		fmt.Fprintf(b, "\n%s\n|---|---|---|---|---|---|\n", heading)
		start := sectionOf(written, f.Name, heading)
		for _, s := range systems {
			old := cellsOf(written, start, s)
			row, filled := "| "+s.String(), false
			for nodes := 1; nodes <= 5; nodes++ {
				cell := old[nodes-1]
				if nodes > s.nodes {
					cell = ""
				} else if small := len(s.of(t, nodes).Ranks) <= 12; small || everything() {
					cell = matrixCell(t, f, c, machineOf(s.of(t, nodes)))
				}
				row += " | " + cell
				filled = filled || cell != ""
			}
			if filled {
				b.WriteString(row + " |\n")
			}
		}
	}
}

// sectionOf returns the line of a table in a family's part of the page, -1 where it
// is not there.
func sectionOf(lines []string, family, heading string) int {
	part := slices.Index(lines, "## "+family)
	if part < 0 {
		return -1
	}
	if at := slices.Index(lines[part:], heading); at >= 0 {
		return part + at
	}
	return -1
}

// cellsOf returns the cells of a system in the table at a line.
func cellsOf(lines []string, table int, s system) (cells [5]string) {
	for i := table; i >= 0 && i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
		words := strings.Split(lines[i], "|")
		if len(words) == 8 && strings.TrimSpace(words[1]) == s.String() {
			for k := range cells {
				cells[k] = strings.TrimSpace(words[k+2])
			}
		}
	}
	return cells
}

// matrixCell returns a cell of the page: a family on a machine.
func matrixCell(t *testing.T, f *Family, coll string, m script.Machine) string {
	t.Helper()
	q := requests(coll, m)[0] // one that is there for all: out of place
	grid, err := f.GridFor(m, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(grid) == 0 {
		return ""
	}
	if last := len(grid) - 1; last > 0 && everything() && m.Ranks() <= 40 {
		matrixEntry(t, f, m, q, grid[last])
	}
	got := matrixEntry(t, f, m, q, grid[0])
	return fmt.Sprintf("%d · %s · %d", got.steps, got.wire.RatString(), got.threadblocks)
}

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

// TestMatrixHasTheCatalogue: every entry of the catalogue has a row that is it,
// or that templates cannot tell from it.
func TestMatrixHasTheCatalogue(t *testing.T) {
	links := func(s system) string {
		var b strings.Builder
		for nodes := 1; nodes <= 2; nodes++ {
			m := machineOf(s.of(t, nodes))
			fmt.Fprint(&b, m.GPUsPerNode)
			for x := range m.Ranks() {
				for y := range m.Ranks() {
					fmt.Fprint(&b, m.Linked(x, y))
				}
			}
		}
		return b.String()
	}
	shown := map[string]string{} // by what a template sees
	for _, s := range systems {
		if s.nodes > 1 {
			shown[links(s)] = s.String()
		}
	}
	for _, name := range topologies.Names() {
		row := shown[links(system{name, nil, 5})]
		switch {
		case row == "":
			t.Errorf("%s has no row: name it, or one like it, in systems", name)
		case row != name && !strings.Contains(matrixLegend, name):
			t.Errorf("%s is like %s: say so in the head of the page", name, row)
		}
	}
}
