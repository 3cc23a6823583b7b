package templates

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// system is a row of the matrix.
type system struct {
	name  string
	gpus  []int // of every node; nil: all
	nodes int   // the largest number
}

// systems has one of the catalogue for each kind that templates can distinguish, one with
// an odd number of GPUs, and some generated ones without switches.
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

// of returns n nodes of the system. Nobody changes them: tests share them.
func (s system) of(t *testing.T, nodes int) *topologies.Topology {
	t.Helper()
	o := topologies.Options{GPUs: s.gpus}
	if s.nodes > 1 {
		o.Nodes = nodes
	}
	key := fmt.Sprint(s.name, o)
	if top, known := resolved.Load(key); known {
		return top.(*topologies.Topology)
	}
	top, err := topologies.Resolve(s.name, o)
	if err != nil {
		t.Fatal(err)
	}
	resolved.Store(key, top)
	return top
}

var resolved sync.Map // topologies, by what was asked for

// machineOf returns a system as templates see it.
func machineOf(top *topologies.Topology) script.Machine {
	m := script.Machine{Nodes: top.Nodes, Linked: top.Linked}
	for n := range top.Nodes {
		m.GPUsPerNode = append(m.GPUsPerNode, len(top.NodeRanks(n)))
	}
	return m
}

// everything reports whether slow tests leave nothing out.
func everything() bool { return os.Getenv("COLLTUNE_LONG") != "" || *update }

// matrixFile holds the counted cells.
const matrixFile = "testdata/matrix.md"

// TestMatrix compiles every family for every collective it does on systems of 1 to 5
// nodes, with the first parameters that apply, verifies the result, and compares it with
// the family's cost function; matrixFile has the counted numbers. The ordinary test does
// so for small systems, and takes the others from the file; with COLLTUNE_LONG=1 it does
// all, and the last parameters as well.
func TestMatrix(t *testing.T) {
	text, err := os.ReadFile(matrixFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	written := strings.Split(string(text), "\n")
	tables := make([]strings.Builder, len(Builtin()))
	t.Run("families", func(t *testing.T) {
		for i, f := range Builtin() {
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				familyTables(t, &tables[i], f, written)
			})
		}
	})
	var b strings.Builder
	b.WriteString(matrixHead)
	for i := range tables {
		if tables[i].Len() == 0 {
			return // left out by -run
		}
		b.WriteString(tables[i].String())
	}
	compareFile(t, matrixFile, b.String())
}

// compareFile holds a file to its generated text, or writes it with -update.
func compareFile(t *testing.T, name, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	written := strings.Split(string(old), "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(written) || line != written[i] {
			t.Fatalf("%s:%d differs (go test ./templates -run %s -update): want %s", name, i+1, t.Name(), line)
		}
	}
	if len(old) != len(text) {
		t.Fatalf("%s is longer than its generated text", name)
	}
}

// matrixHead is the file's text above the tables.
const matrixHead = `# The matrix of families

Each cell is *steps* · *wire* · *threadblocks*, for the first of the family's parameters that apply, out of place. An empty cell means that the family does not apply there. Sizes are [nccl-tests'](../../docs/language.md#collectives). [The families](../../docs/families.md) gives closed forms.

| number | meaning |
|---|---|
| *steps* | length of the critical path: the most messages, one after another, that any output depends on |
| *wire* | all ranks' messages together, as a multiple of the call's size |
| *threadblocks* | of the busiest GPU, for one instance of the program |

A family sees only how many GPUs each node has and which of them have links. So some rows stand for several entries of [the catalogue](../../docs/topologies.md#the-catalogue):

| row | also stands for |
|---|---|
| dgx-a100 | dgx-h100, dgx-h200, dgx-b200, dgx-b300, aws-p5, gcp-a3mega, ndv4, thetagpu, mi300x, mi325x, mi355x, a10g-8, l40s-8, rtx-pro-6000-8, t4-8 |
| gb200-nvl72 | gb300-nvl72 |
| perlmutter | polaris, alps, lassen, l40s-4 |
| dgx-1 | ndv2 |
| frontier | mi250x |

A test writes this file (` + "`go test ./templates -run TestMatrix$ -update`" + `): it compiles and verifies each program, counts the three numbers, and compares steps and wire with the family's cost function.
`

// familyTables writes a family's tables. Cells that are not counted in this run are those
// of the file.
func familyTables(t *testing.T, b *strings.Builder, f *Family, written []string) {
	fmt.Fprintf(b, "\n## %s\n", f.Name)
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
				} else if small := len(s.of(t, nodes).Ranks) <= 8; small || everything() {
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

// sectionOf returns the line of a table in a family's part of the file, or -1.
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

// matrixCell returns the cell of a family on a machine.
func matrixCell(t *testing.T, f *Family, coll string, m script.Machine) string {
	t.Helper()
	q := requests(coll, m)[0] // one that is there for all: out of place
	grid, err := f.GridFor(m, q, nil, 1)
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
		t.Errorf("%s %s %v: its cost is %d steps and %v on the wire; counted are %d and %v (%v)", f.Name, q.Collective, p, said.Steps, said.Wire, got.steps, got.wire, err)
	}
	return got
}

// TestMatrixHasTheCatalogue: every entry of the catalogue has a row, its own or that of a
// system which templates cannot distinguish from it.
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
	shown := map[string]string{} // by the GPUs and links that a template sees
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
		case row != name && !strings.Contains(matrixHead, name):
			t.Errorf("%s is like %s: say so in matrixHead", name, row)
		}
	}
}
