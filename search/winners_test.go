package search

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
)

// The judge of a change: golden winning tables of whole searches on the simulator.
// make winners compares all of them, make test those marked quick.

var updateWinners = flag.Bool("update-winners", false, "write testdata/winners anew")

// contest is a system of the judge and what is searched on it.
type contest struct {
	file     string // of its golden tables, without .txt
	topology string
	nodes    int
	gpus     []int
	searches []string // all, by collective
	quick    []string // those of make test
	why      string   // what it stands for
}

var (
	mainCalls = []string{"allreduce", "allgather", "reducescatter", "alltoall"}
	allCalls  = append(slices.Clone(mainCalls), "broadcast", "reduce", "allgatherv")
)

// contests are the judge's systems. A row that a change makes slower by more than
// 1 % is explained in the change's commit.
var contests = []contest{
	{"dgx-a100", "dgx-a100", 1, nil, allCalls, []string{"allreduce", "allgatherv"}, "one node, full links through switches"},
	{"dgx-a100-x4", "dgx-a100", 4, nil, allCalls, nil, "four nodes, a NIC for each GPU"},
	{"dgx-1", "dgx-1", 1, nil, allCalls, []string{"alltoall"}, "one node, partial links"},
	{"dgx-1-part", "dgx-1", 1, []int{0, 1, 2, 3, 5, 6}, mainCalls, []string{"allgather"}, "six of its eight GPUs"},
	{"frontier", "frontier", 1, nil, allCalls, nil, "one node of eight GCDs, partial links"},
	{"frontier-x2", "frontier", 2, nil, []string{"allgather", "reducescatter"}, []string{"reducescatter"}, "two nodes, several rings in each"},
	{"frontier-x4", "frontier", 4, nil, []string{"allreduce", "allgather", "reducescatter", "broadcast"}, nil, "four nodes, half as many NICs as GCDs"},
	{"perlmutter-x2", "perlmutter", 2, nil, mainCalls, []string{"allgather"}, "two nodes whose links make two different rings"},
	{"ndv2-x2", "ndv2", 2, nil, mainCalls, nil, "two nodes, partial links, one NIC each"},
	{"mi300x", "mi300x", 1, nil, mainCalls, []string{"allgather"}, "one node, all pairs linked"},
	{"dgx-h100-x2", "dgx-h100", 2, nil, mainCalls, []string{"alltoall"}, "two nodes, switches that reduce"},
	{"l40s-4-x2", "l40s-4", 2, nil, mainCalls, nil, "two nodes on PCIe"},
	{"torus-4x4", "torus:4x4", 1, nil, allCalls, []string{"reducescatter"}, "a generator"},
}

// winner is a line of a golden table.
type winner struct {
	at, with string  // size and placement; algorithm and knobs
	time     float64 // µs, rounded to what the file shows
}

func (w winner) String() string {
	return fmt.Sprintf("%-10s %-92s %12s", w.at, w.with, strconv.FormatFloat(w.time, 'f', 2, 64))
}

// winnersOf are the winners of a search's table.
func winnersOf(table *table.Table) (all []winner) {
	for _, r := range table.Rows {
		with := []string{r.Algorithm}
		for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
			value := strings.ReplaceAll(fmt.Sprint(r.Parameters[name]), " ", ",")
			if len(value) > 24 {
				value = value[:23] + "…"
			}
			with = append(with, name+"="+value)
		}
		with = append(with, fmt.Sprintf("×%d", r.Instances), r.Protocol, units.Bytes(r.TileBytes).String())
		all = append(all, winner{
			at:   units.Bytes(r.Bytes).String() + " " + r.Placement,
			with: strings.Join(with, " "),
			time: math.Round(r.TimeUS*100) / 100,
		})
	}
	return all
}

// readWinners reads a golden file: under a line with the name of a collective, its
// winners.
func readWinners(text string) (map[string][]winner, error) {
	all := map[string][]winner{}
	call := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case len(words) == 1:
			call = words[0]
		case len(words) < 4:
			return nil, fmt.Errorf("%q: want size, placement, winner and time", line)
		default:
			us, err := strconv.ParseFloat(words[len(words)-1], 64)
			if err != nil {
				return nil, err
			}
			all[call] = append(all[call], winner{strings.Join(words[:2], " "), strings.Join(words[2:len(words)-1], " "), us})
		}
	}
	return all, nil
}

// verdict counts how the winners of a run compare with the golden ones.
type verdict struct {
	rows, changed int
	logs          float64 // sum of the logarithms of new time ÷ golden time
	worst         float64 // largest new time ÷ golden time
}

// compare adds a search's winners to the verdict, and says what changed.
func (v *verdict) compare(golden, now []winner) (changes []string) {
	known := map[string]winner{}
	for _, w := range golden {
		known[w.at] = w
	}
	for _, w := range now {
		was, ok := known[w.at]
		delete(known, w.at)
		if !ok {
			changes = append(changes, "new   "+w.String())
			continue
		}
		v.rows++
		ratio := w.time / was.time
		v.logs += math.Log(ratio)
		v.worst = max(v.worst, ratio)
		if w != was {
			v.changed++
			changes = append(changes, fmt.Sprintf("was   %s\n      now   %s  × %.3f", was, w, ratio))
		}
	}
	for _, w := range golden {
		if _, gone := known[w.at]; gone {
			changes = append(changes, "gone  "+w.String())
		}
	}
	return changes
}

// TestWinners searches on the judge's systems and compares the winners with
// testdata/winners.
func TestWinners(t *testing.T) {
	all := os.Getenv("COLLTUNE_WINNERS") != "" || *updateWinners
	solvers, err := solver.Open(solver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	withZ3 := slices.Contains(solvers.Solvers(), "z3")
	solvers.Close()
	if *updateWinners && !withZ3 {
		t.Fatal("the golden tables are written with Z3")
	}
	v := verdict{}
	for _, c := range contests {
		t.Run(c.file, func(t *testing.T) {
			calls := c.quick
			if all {
				calls = c.searches
			}
			path := filepath.Join("testdata", "winners", c.file+".txt")
			text, err := os.ReadFile(path)
			if err != nil && !*updateWinners {
				t.Fatal(err)
			}
			golden, err := readWinners(string(text))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			var out bytes.Buffer
			fmt.Fprintf(&out, "# %s: %s.\n# Size, placement, winner with instances, protocol and tile, and simulated time in µs.\n", c.topology, c.why)
			for _, call := range calls {
				if call == "alltoall" && !withZ3 {
					t.Logf("%s is skipped: Z3 finds its routings, and is not here", call)
					continue
				}
				now := winnersOf(c.search(t, call))
				fmt.Fprintf(&out, "\n%s\n", call)
				for _, w := range now {
					fmt.Fprintln(&out, w)
				}
				if changes := v.compare(golden[call], now); len(changes) > 0 && !*updateWinners {
					t.Errorf("%s: %s has other winners:\n      %s", path, call, strings.Join(changes, "\n      "))
				}
			}
			if *updateWinners {
				if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if v.rows > 0 {
		t.Logf("%d winners, %d changed; times × %.4f in the geometric mean, × %.4f at worst", v.rows, v.changed, math.Exp(v.logs/float64(v.rows)), v.worst)
	}
	if t.Failed() {
		t.Log("make winners UPDATE=1 writes the tables anew; say in the commit why a winner becomes slower by more than 1 %")
	}
}

// search is the winning table of one collective on the contest's system, from 1 KiB
// to 256 MiB in steps of 8. In a vector form rank r has 1 + r mod 3 chunks.
func (c contest) search(t *testing.T, call string) *table.Table {
	t.Helper()
	sizes, err := Sizes(1<<10, 256<<20, 8)
	if err != nil {
		t.Fatal(err)
	}
	p, source := problem{c.topology, c.nodes, call, sizes}.resolve(t)
	source.GPUs = c.gpus
	if p.Topology, err = source.Read(c.topology); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(call, "v") { // a vector form
		for r := range p.Topology.Ranks {
			p.Counts = append(p.Counts, 1+r%3)
		}
	}
	table, campaign := searchedFor(t, p, source, Options{})
	campaign.Close()
	return table
}
