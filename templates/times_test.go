package templates

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

var (
	timesFile = flag.String("times", "", "write simulated times of all families to this `FILE`")
	against   = flag.String("against", "", "compare them with those in this `FILE`")
	leftOut   = flag.String("leave-out", "", "compile without these `PASSES`")
)

// TestTimes simulates every family on seven systems, in and out of place, with
// up to eight settings and the last, in one and in four instances, at four
// sizes and under each protocol: some 30,000 times, in minutes. With what an
// earlier commit wrote, or another list of passes left out, it tells how many
// are others, and fails if any is longer by more than 0.5 %.
//
//	go test ./templates -run TestTimes -times new.csv -against old.csv -v
func TestTimes(t *testing.T) {
	into := *timesFile
	switch {
	case into != "":
	case os.Getenv("COLLTUNE_LONG") != "":
		into = filepath.Join(t.TempDir(), "times")
	default:
		t.Skip("takes minutes: make test-long runs it, or -times FILE")
	}
	times := map[string]float64{}
	for _, s := range []system{{"dgx-a100", nil, 1}, {"dgx-a100", nil, 2}, {"dgx-1", nil, 1}, {"mi300x", nil, 1}, {"fullmesh:8", nil, 1}, {"torus:3x3", nil, 1}, {"ring:8", nil, 1}} {
		maps.Copy(times, timesOn(t, s.of(t, s.nodes)))
	}
	file, err := os.Create(into)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	for _, key := range slices.Sorted(maps.Keys(times)) {
		if !(times[key] > 0) {
			t.Errorf("%s takes %v us", key, times[key])
		}
		fmt.Fprintf(w, "%s\t%.4f\n", key, times[key])
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d times", len(times))
	if *against != "" {
		report, slower := compareTimes(readTimes(t, *against), readTimes(t, into))
		if report == "" {
			t.Errorf("no time in %s is of a program that was timed now", *against)
		}
		t.Logf("beside %s\n%s", *against, report)
		for _, line := range slower[:min(20, len(slower))] {
			t.Error(line)
		}
		if len(slower) > 20 {
			t.Errorf("and %d more", len(slower)-20)
		}
	}
}

// timesOn returns the times on one system.
func timesOn(t *testing.T, top *topologies.Topology) map[string]float64 {
	m := machineOf(top)
	var jobs []func() map[string]float64
	for _, f := range Builtin() {
		for _, coll := range f.Collectives {
			for _, q := range requests(coll, m) {
				if q.Root > 0 || q.Counts != nil {
					continue
				}
				grid, err := f.GridFor(m, q, nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				if len(grid) > 9 {
					grid = append(grid[:8:8], grid[len(grid)-1])
				}
				for _, p := range grid {
					for _, instances := range []int{1, 4} {
						jobs = append(jobs, func() map[string]float64 { return timesOf(t, top, f, q, p, instances) })
					}
				}
			}
		}
	}
	found := make([]map[string]float64, len(jobs))
	next := make(chan int)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range next {
				found[i] = jobs[i]()
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	all.Wait()
	times := map[string]float64{}
	for _, some := range found {
		maps.Copy(times, some)
	}
	return times
}

// timesOf returns the times of one program, at all sizes and under all protocols.
func timesOf(t *testing.T, top *topologies.Topology, f *Family, q script.Request, p script.Params, instances int) map[string]float64 {
	name := fmt.Sprintf("%s, %d ranks|%s|%s|in place %v|%v|× %d", top.Name, len(top.Ranks), f.Name, q.Collective, q.InPlace, p, instances)
	o := compiler.Options{Instances: instances, MaxChannels: 1 << 10}
	if *leftOut != "" {
		o.Disable = strings.Split(*leftOut, ",")
	}
	program, err := f.Trace(machineOf(top), q, p)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	compiled, err := compiler.Compile(program, o)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	prepared, err := sim.Prepare(compiled.Program, top)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	times := map[string]float64{}
	for _, bytes := range []int64{4 << 10, 1 << 20, 64 << 20, 1 << 30} {
		for _, proto := range top.HasProtocols() {
			r, err := prepared.Run(sim.Knobs{Bytes: bytes, Protocol: proto})
			if err != nil {
				t.Errorf("%s, %d bytes, %v: %v", name, bytes, proto, err)
				continue
			}
			times[fmt.Sprintf("%s|%d|%v", name, bytes, proto)] = r.TimeUS
		}
	}
	return times
}

// readTimes reads what TestTimes wrote.
func readTimes(t *testing.T, name string) map[string]float64 {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		key, number, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if times[key], err = strconv.ParseFloat(number, 64); err != nil {
			t.Fatalf("%s: %q: %v", name, line, err)
		}
	}
	return times
}

// compareTimes tells what became of times, on all systems, on each and of each
// family, and which are longer by more than 0.5 %, the worst first.
func compareTimes(old, new map[string]float64) (report string, slower []string) {
	type row struct {
		times, changed, slower int
		logs, best, worst      float64
	}
	rows, ratios := map[string]*row{}, map[string]float64{} // ratios by line of slower
	for _, key := range slices.Sorted(maps.Keys(new)) {
		was, ok := old[key]
		if !ok {
			continue
		}
		words, ratio := strings.Split(key, "|"), new[key]/was
		if ratio > 1.005 {
			line := fmt.Sprintf("%.3f %s", ratio, key)
			slower, ratios[line] = append(slower, line), ratio
		}
		for _, name := range []string{"all", words[0], words[1] + ", " + words[2]} {
			r := rows[name]
			if r == nil {
				r = &row{best: 1, worst: 1}
				rows[name] = r
			}
			r.times++
			r.logs += math.Log(ratio)
			r.best, r.worst = min(r.best, ratio), max(r.worst, ratio)
			if ratio != 1 {
				r.changed++
			}
			if ratio > 1.005 {
				r.slower++
			}
		}
	}
	slices.SortStableFunc(slower, func(a, b string) int { return cmp.Compare(ratios[b], ratios[a]) })
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[name]; r.changed > 0 || name == "all" {
			fmt.Fprintf(&b, "%s: %d times, %d others, %d slower, geometric mean %.3f, %.3f to %.3f\n", name, r.times, r.changed, r.slower, math.Exp(r.logs/float64(r.times)), r.best, r.worst)
		}
	}
	return b.String(), slower
}

func TestCompareTimes(t *testing.T) {
	old := map[string]float64{"a|ring|x|1": 10, "a|ring|x|2": 10, "b|ring|x|1": 10, "b|tree|x|1": 10, "b|tree|x|2": 10}
	now := map[string]float64{"a|ring|x|1": 5, "a|ring|x|2": 20, "b|ring|x|1": 10.04, "b|tree|x|1": 10, "b|new|x|1": 1}
	const want = `a: 2 times, 2 others, 1 slower, geometric mean 1.000, 0.500 to 2.000
all: 4 times, 3 others, 1 slower, geometric mean 1.001, 0.500 to 2.000
b: 2 times, 1 others, 0 slower, geometric mean 1.002, 1.000 to 1.004
ring, x: 3 times, 3 others, 1 slower, geometric mean 1.001, 0.500 to 2.000
`
	report, slower := compareTimes(old, now)
	if report != want || !slices.Equal(slower, []string{"2.000 a|ring|x|2"}) {
		t.Errorf("%s%q, want\n%s", report, slower, want)
	}
	if _, slower = compareTimes(map[string]float64{"a|b|c|1": 1, "a|b|c|2": 1}, map[string]float64{"a|b|c|1": 2, "a|b|c|2": 10}); slower[0] != "10.000 a|b|c|2" {
		t.Errorf("%q: want the worst first", slower)
	}
}
