package calibrate

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

// figures are times of the vendor's library that others measured: one collective on
// one machine.
type figures struct {
	machine, topology, collective, placement string
	nodes                                    int
	us                                       map[int64]float64 // by size
}

// published reads testdata/measured.csv.
func published(t *testing.T) (all []*figures) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "measured.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var at string
	for _, row := range rows[1:] {
		if key := strings.Join(row[:5], " "); key != at {
			nodes, err := strconv.Atoi(row[2])
			if err != nil {
				t.Fatal(err)
			}
			at = key
			all = append(all, &figures{row[0], row[1], row[3], row[4], nodes, map[int64]float64{}})
		}
		bytes, err := strconv.ParseInt(row[5], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		us, err := strconv.ParseFloat(row[6], 64)
		if err != nil || !(us > 0) {
			t.Fatal(row, err)
		}
		all[len(all)-1].us[bytes] = us
	}
	return all
}

// simulated is what the library would run at each size, and the time the simulator
// gives it.
func (f *figures) simulated(t *testing.T) (calls []search.LibraryCall, us []float64) {
	t.Helper()
	name := f.topology
	if strings.HasSuffix(name, ".toml") {
		name = filepath.Join("testdata", name)
	}
	top, err := topologies.Resolve(name, topologies.Options{Nodes: f.nodes})
	if err != nil {
		t.Fatal(err)
	}
	p := search.Problem{Topology: top, Call: collective.Call{Collective: f.collective, Op: "sum", DType: "f32"}, InPlace: f.placement == "in"}
	for bytes := range f.us {
		p.Sizes = append(p.Sizes, bytes)
	}
	slices.Sort(p.Sizes)
	calls, err = search.LibraryCalls(t.Context(), p, search.Options{Solver: "pb"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		r, err := sim.Run(c.Program, top, sim.Knobs{Bytes: c.Bytes, Protocol: c.Protocol, TileBytes: c.Tile})
		if err != nil {
			t.Fatal(err)
		}
		us = append(us, r.TimeUS)
	}
	return calls, us
}

// bands of sizes in the documented table; the last has no end.
var bands = []int64{256 << 10, 16 << 20, math.MaxInt64}

// TestMeasuredAsDocumented simulates what the library chooses where it was measured,
// and holds docs/simulator.md to how far off that is: the mean of simulated ÷
// measured in each band of sizes. With -v it prints every row, and the table.
func TestMeasuredAsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulator.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); len(cells) == 4+len(bands) {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			documented[strings.Join(cells[:3], " | ")] = cells
		}
	}
	table := ""
	for _, f := range published(t) {
		calls, us := f.simulated(t)
		logs, counts := make([]float64, len(bands)), make([]float64, len(bands))
		for i, c := range calls {
			ratio := us[i] / f.us[c.Bytes]
			t.Logf("%-9s %d x %-13s %-8s %8s %10.1f %10.1f %5.2f  %s", f.machine, f.nodes, f.topology, f.collective, units.Bytes(c.Bytes), f.us[c.Bytes], us[i], ratio, c.Name)
			at := slices.IndexFunc(bands, func(end int64) bool { return c.Bytes < end })
			logs[at] += math.Log(ratio)
			counts[at]++
		}
		key := fmt.Sprintf("%s, `%s` | %d | %s", f.machine, strings.TrimSuffix(f.topology, ".toml"), f.nodes, f.collective)
		row := fmt.Sprintf("| %s | %d |", key, len(calls))
		cells, ok := documented[key]
		for i := range bands {
			if counts[i] == 0 {
				row += " |"
				continue
			}
			mean := math.Exp(logs[i] / counts[i])
			row += fmt.Sprintf(" %.2f |", mean)
			if ok {
				// Where the last digit turns is another processor's affair.
				said, err := strconv.ParseFloat(cells[4+i], 64)
				ok = err == nil && math.Abs(said-mean) < 0.0101
			}
		}
		table += row + "\n"
		if !ok || cells[3] != strconv.Itoa(len(calls)) {
			t.Errorf("docs/simulator.md says otherwise than %s", row)
		}
	}
	t.Log("\n" + table)
}
