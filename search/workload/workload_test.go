package workload

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
)

func TestEvaluate(t *testing.T) {
	names := map[string]float64{"ranks": 8, "hidden_size": 4096}
	for text, want := range map[string]float64{
		"1":                           1,
		"2 + 3 * 4":                   14,
		"(2 + 3) * 4":                 20,
		"7 - 2 - 1":                   4,
		"64 / 4 / 2":                  8,
		"-3 + 5":                      2,
		"64K":                         65536,
		"1.5M":                        1.5 * (1 << 20),
		"2G":                          2 << 30,
		"312e12 / 1e-6":               312e18,
		"2*hidden_size * ranks":       65536,
		"min(ranks, 4) + max(1, 2)":   6,
		" max( min(1,2) , (3) ) ":     3,
		"1e+3":                        1000,
		"ranks/(ranks+hidden_size*0)": 1,
	} {
		if got, err := evaluate(text, names); err != nil || got != want {
			t.Errorf("%s = %g, %v: want %g", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                       "want a number or a name",
		"1 +":                    "want a number or a name",
		"1 2":                    `unexpected "2"`,
		"(1":                     "not closed",
		"min(1)":                 "want min(A, B)",
		"max 1":                  "want max(A, B)",
		"hiddensize":             "did you mean hidden_size",
		"1 / 0":                  "no finite number",
		"1e400":                  "want a number",
		"0x10":                   "want a number",
		"ranks ** 2":             "want a number or a name",
		strings.Repeat("(", 50):  "nested more than 30",
		strings.Repeat("-", 50):  "nested more than 30",
		strings.Repeat("1", 501): "at most 500 bytes",
	} {
		if _, err := evaluate(text, names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v: want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("name = \"s\"\nranks = 8\n[parameters]\nh = \"2K\"\n[groups.g]\nranks = 2\nstride = 4\n[[block]]\nrepeat = 2\non = [\"a\", \"b\"]\n[[block.op]]\nname = \"x\"\ncall = \"alltoallv\"\nbytes = \"h * ranks\"\ngroup = \"g\"\nsms = 4\ntraffic = \"skew:2\"\n[[block.op]]\nname = \"y\"\ncompute_us = 3.5\nafter = [\"x\", \"y@-1\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.toml", []byte(text), Options{})
		if err != nil {
			return
		}
		for _, p := range s.Programs {
			for i, op := range p.Ops {
				if op.isCall() && op.Call >= len(s.Calls) {
					t.Fatalf("op %d is call %d of %d", i, op.Call, len(s.Calls))
				}
				for _, a := range op.After {
					if a < 0 || a >= len(p.Ops) {
						t.Fatalf("op %d waits for %d of %d", i, a, len(p.Ops))
					}
				}
			}
		}
	})
}

const head = "name = \"s\"\nranks = 8\n" // two lines

func TestParseErrors(t *testing.T) {
	block := func(ops ...string) string {
		text := head + "[[block]]\n"
		for _, o := range ops {
			text += "[[block.op]]\n" + o + "\n"
		}
		return text
	}
	for _, c := range []struct{ text, want string }{
		{"ranks = 8\n", "s.toml:1: name is missing"},
		{"name = \"s\"\n", "ranks is missing"},
		{head, "the step does nothing"},
		{head + "scaling = \"good\"\n", `s.toml:3: scaling "good": want weak or strong`},
		{head + "colour = 1\n", `s.toml:3: unknown key "colour"`},
		{head + "[[block]]\n[[block.op]]\nname = \"x\"\ncompute = 1\n", `s.toml:6: unknown key "compute"`},
		{head + "[groups.tensor]\nranks = 3\n", "s.toml:4: group tensor of 3 ranks, 1 apart, does not divide the 8 ranks"},
		{head + "[groups.data]\nranks = 4\nstride = 4\n", "group data of 4 ranks, 4 apart, does not divide"},
		{head + "[groups.data]\nranks = \"ranks / 3\"\n", "want a whole number"},
		{head + "gpus_per_node = 3\n", "s.toml:3: 8 ranks are not divided by 3 GPUs a node"},
		{head + "[parameters]\na = \"b\"\nb = 1\n", `s.toml:4: unknown name "b"`},
		{head + "[parameters]\nranks = 4\n", "is no parameter's name"},
		{block("name = \"x\"\ncall = \"allredcue\"\nbytes = 1"), `s.toml:6: x: unknown collective "allredcue"`},
		{block("name = \"x\"\ncall = \"allreduce\""), "s.toml:4: bytes is missing"},
		{block("name = \"x\"\ncall = \"allreduce\"\nbytes = 0"), "0 bytes: want 1 to a PiB"},
		{block("name = \"x\"\ncall = \"allreduce\"\nbytes = 1\ngroup = \"tensor\""), `s.toml:8: x: unknown group "tensor"`},
		{block("name = \"x\"\ncall = \"allreduce\"\nbytes = 1\ndtype = \"f12\""), `s.toml:8: unknown dtype "f12"`},
		{block("name = \"x\"\ncall = \"allreduce\"\nbytes = 1\ntraffic = \"skew:2\""), "allreduce has no traffic of its own"},
		{block("name = \"x\"\ncall = \"allreduce\"\nbytes = 1\ncompute_us = 2"), "want call, or compute_us, and not both"},
		{block("name = \"x@1\"\ncompute_us = 2"), "want a name without @"},
		{block("name = \"x\"\ncompute_us = -2"), "x takes -2 us"},
		{block("name = \"x\"\ncompute_us = 2", "name = \"x\"\ncompute_us = 2"), `s.toml:8: a second op "x"`},
		{block("name = \"x\"\ncompute_us = 2\nafter = [\"z\"]"), `s.toml:7: after "z": no such op`},
		{block("name = \"x\"\ncompute_us = 2\nafter = [\"x@1\"]"), "want an op of the same block with an earlier iteration"},
		{head + "[[block]]\nrepeat = 10000000\n[[block.op]]\nname = \"x\"\ncompute_us = 1\n", "want a whole number from 0 to 1000000"},
		{head + "[[block]]\nrepeat = 1000000\n[[block.op]]\nname = \"x\"\ncompute_us = 1\n[[block.op]]\nname = \"y\"\ncompute_us = 1\n", "more than 1000000 ops"},
		// Limits are those of the step, not of a program or an op.
		{head + "[[block]]\nrepeat = 600000\non = [\"a\", \"b\"]\n[[block.op]]\nname = \"x\"\ncompute_us = 1\n", "s.toml:3: more than 1000000 ops in the step"},
		{head + "[[block]]\nrepeat = 1000000\n[[block.op]]\nname = \"x\"\ncompute_us = 1\nafter = [" + strings.Repeat("\"x@-1\", ", 40) + "]\n", "s.toml:8: more than 32000000 waits for other ops"},
		{head + "[[block]]\non = [\"a\"]\n[[block.op]]\nname = \"x\"\ncall = \"sendrecv\"\nbytes = 1\n[[block]]\non = [\"b\"]\n[[block.op]]\nname = \"x\"\ncall = \"sendrecv\"\nbytes = 2\n", "s.toml:11: x is sendrecv of 2 over 8 ranks here, and sendrecv of 1 over 8 ranks in line 5: want one call"},
		{"name = s\n", "s.toml:1: a value without quotes"},
	} {
		_, err := Parse("s.toml", []byte(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v: want %q", c.text, err, c.want)
		}
		var at *measured.Error
		if !errors.As(err, &at) {
			t.Errorf("%v: want an error with file and line", err)
		}
	}
	if _, err := Parse("s.toml", []byte(block("name = \"x\"\ncompute_us = 2")), Options{Parameters: map[string]float64{"a": 1}}); err == nil || !strings.Contains(err.Error(), `has no parameter "a"`) {
		t.Error(err)
	}
}

// Groups of neighbours and of ranks that are apart span the nodes that they lie on, however
// many ranks they have.
func TestGroupsSpanNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks, stride, gpus := rapid.IntRange(1, 100).Draw(t, "ranks"), rapid.IntRange(1, 20).Draw(t, "stride"), rapid.IntRange(1, 20).Draw(t, "gpus")
		nodes := map[int]bool{}
		for i := range ranks {
			nodes[i*stride/gpus] = true
		}
		if got := nodesOf(ranks, stride, gpus); got != len(nodes) {
			t.Fatalf("%d nodes, want %d", got, len(nodes))
		}
	})
	if got := nodesOf(1<<40, 1, 8); got != 1<<37 { // counted one by one it would take an hour
		t.Errorf("%d nodes", got)
	}
	for _, c := range []struct{ ranks, stride, nodes int }{{2, 1, 1}, {4, 1, 1}, {8, 1, 2}, {4, 2, 2}, {4, 4, 4}, {2, 8, 2}, {6, 1, 2}, {16, 2, 8}} {
		if got := nodesOf(c.ranks, c.stride, 4); got != c.nodes {
			t.Errorf("%d ranks, %d apart, on nodes of 4: %d nodes, want %d", c.ranks, c.stride, got, c.nodes)
		}
	}
}

// fixed is a source of a few libraries, whose times follow from the size.
type fixed map[string]func(Kind) float64

func (f fixed) Times(k Kind) (times []libraries.Time, err error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if us := f[name](k); us > 0 {
			times = append(times, libraries.Time{Row: measured.Row{Library: name, TimeUS: us, LowUS: us * 0.9, HighUS: us * 1.2}})
		}
	}
	slices.SortStableFunc(times, func(a, b libraries.Time) int { return int(math.Copysign(1, a.TimeUS-b.TimeUS)) })
	return times, nil
}

// two are a library that is good at small sizes and one that is good at large ones.
var two = fixed{
	"mpi":  func(k Kind) float64 { return 2 + float64(k.Bytes)/10 },
	"nccl": func(k Kind) float64 { return 9 + float64(k.Bytes)/40 },
}

func parse(t *testing.T, text string) *Step {
	t.Helper()
	s, err := Parse("s.toml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Cycles of waits, within a program and across programs, name the ops on them.
func TestDeadlocks(t *testing.T) {
	across := head
	for i, order := range [][2]string{{"x", "y"}, {"y", "x"}} {
		across += fmt.Sprintf("[[block]]\non = [\"stage %d\"]\n", i)
		for _, name := range order {
			across += fmt.Sprintf("[[block.op]]\nname = %q\ncall = \"sendrecv\"\nbytes = 1\nafter = []\n", name)
		}
	}
	for _, c := range []struct{ text, want string }{
		{across, "s.toml:22: deadlock: x waits for y (line 17), which waits for x (line 22)"},
		{head + "[[block]]\n[[block.op]]\nname = \"x\"\ncompute_us = 1\nafter = [\"y\"]\n[[block.op]]\nname = \"y\"\ncall = \"sendrecv\"\nbytes = 1\n", "s.toml:8: deadlock: y waits for x (line 4), which waits for y (line 8)"},
		{head + "[[block]]\n[[block.op]]\nname = \"x\"\ncompute_us = 1\nafter = [\"x\"]\n", "s.toml:4: deadlock: x waits for x (line 4)"},
	} {
		_, err := Compare(parse(t, c.text), two, Libraries{})
		var d *Deadlock
		if !errors.As(err, &d) || err.Error() != c.want {
			t.Errorf("%v: want %q", err, c.want)
		}
	}
	// The same calls in one order are no cycle.
	ordered := strings.Replace(strings.Replace(strings.Replace(across[strings.LastIndex(across, "[[block]]"):], `"y"`, `"z"`, 1), `"x"`, `"y"`, 1), `"z"`, `"x"`, 1)
	if _, err := Compare(parse(t, across[:strings.LastIndex(across, "[[block]]")]+ordered), two, Libraries{}); err != nil {
		t.Error(err)
	}
}

// A library on the host blocks what is issued behind it, and a call on it that needs an op
// issued later never begins.
func TestOnHost(t *testing.T) {
	text := head + "[[block]]\n" +
		"[[block.op]]\nname = \"a\"\ncompute_us = 10\n" +
		"[[block.op]]\nname = \"x\"\ncall = \"allreduce\"\nbytes = 10\n" + // mpi: 3 us
		"[[block.op]]\nname = \"b\"\ncompute_us = 5\nafter = []\nstream = \"other\"\n"
	plain, err := Compare(parse(t, text), two, Libraries{})
	if err != nil {
		t.Fatal(err)
	}
	host, err := Compare(parse(t, text), two, Libraries{OnHost: []string{"mpi"}})
	if err != nil {
		t.Fatal(err)
	}
	// b begins at once, or when the host has waited for a.
	if plain.Fine.TotalUS != 13 || host.Fine.TotalUS != 15 {
		t.Errorf("%g us, and %g with mpi on the host: want 13 and 15", plain.Fine.TotalUS, host.Fine.TotalUS)
	}
	late := head + "[[block]]\n" +
		"[[block.op]]\nname = \"x\"\ncall = \"allreduce\"\nbytes = 10\nafter = [\"b\"]\n" +
		"[[block.op]]\nname = \"b\"\ncompute_us = 5\nafter = []\n"
	if _, err := Compare(parse(t, late), two, Libraries{}); err != nil {
		t.Error(err)
	}
	var d *Deadlock
	if _, err := Compare(parse(t, late), two, Libraries{OnHost: []string{"mpi"}}); !errors.As(err, &d) {
		t.Errorf("%v: want a deadlock", err)
	}
}

// A call that a library lacks goes to the fallback, is counted, and is an error where no
// library has it.
func TestBorrowed(t *testing.T) {
	lacks := fixed{"nccl": two["nccl"], "custom": func(k Kind) float64 {
		if k.Collective != "allreduce" {
			return 0
		}
		return 1
	}}
	s := parse(t, head+"[[block]]\n[[block.op]]\nname = \"x\"\ncall = \"allreduce\"\nbytes = 40\n[[block.op]]\nname = \"y\"\ncall = \"alltoall\"\nbytes = 40\n")
	r, err := Compare(s, lacks, Libraries{Fallback: "nccl"})
	if err != nil {
		t.Fatal(err)
	}
	custom := r.Singles[0]
	if custom.Name != "custom" || custom.TotalUS != 11 || custom.Borrowed[0] || !custom.Borrowed[1] || !slices.Equal(r.Calls[1].Lacking, []string{"custom"}) {
		t.Errorf("%+v, %+v", custom, r.Calls)
	}
	if r, err = Compare(s, lacks, Libraries{}); err != nil || r.Singles[0].Lacks != "custom has no time for alltoall of 40 over 8 ranks" || r.Best.Name != "nccl" {
		t.Errorf("%v: %+v", err, r)
	}
	if _, err := Compare(s, lacks, Libraries{Use: []string{"custom"}}); err == nil || err.Error() != "no library has a time for alltoall of 40 over 8 ranks" {
		t.Error(err)
	}
}

// randomStep draws a step of one or two programs.
func randomStep(t *rapid.T) *Step {
	s := &Step{Name: "random", Ranks: 8}
	known := map[Kind]int{}
	programs := rapid.IntRange(1, 2).Draw(t, "programs")
	n := rapid.IntRange(1, 25).Draw(t, "ops")
	for p := range programs {
		s.Programs = append(s.Programs, Program{Name: fmt.Sprint(p)})
	}
	for i := range n {
		name := fmt.Sprintf("op%d", i)
		op := Op{Name: name, Call: -1, Stream: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "stream")}
		if rapid.Bool().Draw(t, "call") {
			k := Kind{Collective: rapid.SampledFrom([]string{"allreduce", "alltoall"}).Draw(t, "collective"), Bytes: rapid.Int64Range(1, 400).Draw(t, "bytes"), Ranks: 8}
			op.Call = len(s.Calls)
			s.Calls = append(s.Calls, Call{Op: name, Kind: s.kind(known, k)})
		} else {
			op.US = float64(rapid.IntRange(0, 30).Draw(t, "us"))
		}
		for p := range s.Programs {
			if p > 0 && !rapid.Bool().Draw(t, "there") {
				continue
			}
			own := op
			if before := len(s.Programs[p].Ops); before > 0 {
				own.After = rapid.SliceOfN(rapid.IntRange(0, before-1), 0, 2).Draw(t, "after")
			}
			s.Programs[p].Ops = append(s.Programs[p].Ops, own)
		}
	}
	return s
}

// The mixes are never slower than a library alone where calls share nothing; intervals hold
// the times; and streams that run only by the schedule's order and events run the ops when
// the graph does.
func TestRandomSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomStep(t)
		r, err := Compare(s, two, Libraries{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range append(r.Singles, r.Coarse) {
			if c.LowUS < r.Fine.LowUS-1e-9 || c.CommunicationUS < r.Fine.CommunicationUS-1e-9 {
				t.Fatalf("%s takes %g us, the fine mix %g", c.Name, c.TotalUS, r.Fine.TotalUS)
			}
			if c.LowUS > c.TotalUS || c.HighUS < c.TotalUS || c.ExposedUS < 0 || c.ExposedUS > c.TotalUS {
				t.Fatalf("%s: %g us in %g to %g, %g exposed", c.Name, c.TotalUS, c.LowUS, c.HighUS, c.ExposedUS)
			}
		}
		for _, row := range r.Calls {
			if row.WorthUS < 0 || row.WorthUS > r.Fine.TotalUS {
				t.Fatalf("%s is worth %g of %g us", row.Op, row.WorthUS, r.Fine.TotalUS)
			}
		}
		replay(t, s, &r.Fine)
	})
}

// replay runs a schedule by its streams and events alone.
func replay(t *rapid.T, s *Step, c *Case) {
	all := c.Schedule()
	end := map[string]float64{} // by program and name
	streams := map[string]float64{}
	ready := make([]float64, len(all))
	met := map[string]float64{} // calls: when the last program is ready
	for range all {             // until nothing moves
		clear(streams)
		for i, x := range all {
			ready[i] = streams[x.Program+"|"+x.Stream]
			for _, w := range x.Waits {
				ready[i] = max(ready[i], end[x.Program+"|"+w])
			}
			us := x.EndUS - x.BeginUS
			begin := ready[i]
			if x.Call >= 0 {
				met[x.Name] = max(met[x.Name], begin)
				begin = met[x.Name]
			}
			end[x.Program+"|"+x.Name] = begin + us
			streams[x.Program+"|"+x.Stream] = begin + us
		}
	}
	for _, x := range all {
		if got := end[x.Program+"|"+x.Name]; math.Abs(got-x.EndUS) > 1e-9 {
			t.Fatalf("%s of program %q ends at %g by streams and events, at %g by the graph", x.Name, x.Program, got, x.EndUS)
		}
	}
}

// 100,000 calls are compared in seconds.
func TestLargeStep(t *testing.T) {
	s := parse(t, head+"[[block]]\nrepeat = 50000\n[[block.op]]\nname = \"a\"\ncompute_us = 1\n[[block.op]]\nname = \"x\"\ncall = \"allreduce\"\nbytes = 100\n[[block.op]]\nname = \"y\"\ncall = \"alltoall\"\nbytes = 1000\n")
	r, err := Compare(s, two, Libraries{})
	if err != nil {
		t.Fatal(err)
	}
	if want := 50000 * (1 + 11.5 + 34); len(s.Calls) != 100000 || math.Abs(r.Fine.TotalUS-want) > 1e-3 {
		t.Errorf("%d calls, %g us: want 100000 and %g", len(s.Calls), r.Fine.TotalUS, want)
	}
}

// The measured rows of the H200 give a step its times, between sizes and below them.
func TestFromTable(t *testing.T) {
	const name = "../libraries/testdata/h200_sxm.csv"
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := measured.Read(measured.Source{Path: name}, text)
	if err != nil {
		t.Fatal(err)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	source := FromTable(table, "")
	small, err := source.Times(Kind{Collective: "allreduce", Bytes: 8, Ranks: 8, Nodes: 1, DType: "bf16"})
	if err != nil || len(small) == 0 || small[0].Bytes < 256 {
		t.Fatalf("%v: %+v", err, small)
	}
	for _, k := range []Kind{{Collective: "allreduce", Bytes: 1 << 40, Ranks: 8, DType: "bf16"}, {Collective: "allreduce", Bytes: 1 << 20, Ranks: 7, DType: "bf16"}} {
		if none, err := source.Times(k); err != nil || len(none) > 0 {
			t.Errorf("%s: %v, %v", k, none, err)
		}
	}
}
