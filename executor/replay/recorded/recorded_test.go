package recorded

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const small = `# two configurations, one of them at one size only
collective,nodes,gpus_per_node,inplace,algo,proto,channels,bytes,time_us,prior_us
all_reduce,2,4,1,ring,ll,8,2048,30,11.5
all_reduce,2,4,1,ring,ll,8,1024,12,10.5
all_reduce,2,4,1,ring,ll,8,1024,10,
all_reduce,2,4,1,tree,auto,,1024,,9
all_reduce,2,4,0,tree,auto,,1024,8,
`

// parsed is the table of one file.
func parsed(name string, text []byte) (*Table, error) {
	b := builder{byCall: map[Call]*callRows{}}
	if err := b.readCSV(name, text); err != nil {
		return nil, err
	}
	return b.table()
}

func parse(t *testing.T, name, text string) *Table {
	t.Helper()
	table, err := parsed(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestRowsBecomeSpaces(t *testing.T) {
	table := parse(t, "small.csv", small)
	if len(table.Spaces) != 2 {
		t.Fatalf("%d spaces, want one of each placement", len(table.Spaces))
	}
	s, err := table.Of(Call{Collective: "allreduce", Ranks: 8, DType: "f32", Placement: "in"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Call.String(); got != "allreduce, 2 nodes, 8 ranks, in place" {
		t.Errorf("the call is %q", got)
	}
	if want := []int64{1024, 2048}; !slices.Equal(s.Sizes, want) {
		t.Errorf("sizes %v, want %v", s.Sizes, want)
	}
	if want := []string{"algorithm", "protocol", "channels"}; !slices.Equal(s.Axes, want) {
		t.Errorf("axes %v, want %v", s.Axes, want)
	}
	var names []string
	for i := range s.Configs {
		names = append(names, s.Configs[i].Name())
	}
	if want := []string{"ring LL channels=8", "tree"}; !slices.Equal(names, want) {
		t.Errorf("configurations %q, want %q", names, want)
	}
	for _, tc := range []struct {
		config, size int
		want         Cell
	}{
		{0, 0, Cell{true, []float64{12, 10}, 10.5}},
		{0, 1, Cell{true, []float64{30}, 11.5}},
		{1, 0, Cell{true, nil, 9}}, // it failed
		{1, 1, Cell{}},
	} {
		if got := s.At(tc.config, tc.size); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("cell %d, %d: %v, want %v", tc.config, tc.size, got, tc.want)
		}
	}
	if c := s.At(0, 0); c.TimeUS() != 11 {
		t.Errorf("median of 12 and 10 us is %g", c.TimeUS())
	}
	if !s.HasPrior() || table.Spaces[1].HasPrior() {
		t.Errorf("priors %v and %v, want only the first space to have one", s.HasPrior(), table.Spaces[1].HasPrior())
	}
	if i, err := s.Find("ring", "LL", map[string]string{"channels": "8"}); i != 0 || err != nil {
		t.Errorf("ring is %d, %v", i, err)
	}
	if _, err := s.Find("ring", "LL", map[string]string{"channels": "4"}); err == nil || !strings.Contains(err.Error(), "ring LL channels=4 of allreduce") {
		t.Errorf("what was not recorded: %v", err)
	}
	for _, c := range []Call{{}, {Collective: "allgather"}} {
		if _, err := table.Of(c); err == nil || !strings.Contains(err.Error(), "want one of allreduce, 2 nodes, 8 ranks, in place; allreduce") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A folder's CSV files are one table.
func TestFilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	const head = "collective,ranks,algorithm,protocol,bytes,time_us\n"
	for name, text := range map[string]string{
		"1K.csv": head + "all_reduce,4,ring,LL,1024,10\nall_reduce,4,tree,auto,1024,\n", "2K.csv": "\ufeff" + head + "all_reduce,4,ring,LL,2048,20\n", "notes.txt": "no table",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	table, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.Of(Call{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{1024, 2048}; !slices.Equal(s.Sizes, want) || s.Call != (Call{Collective: "allreduce", Ranks: 4}) {
		t.Errorf("sizes %v of %v, want %v", s.Sizes, s.Call, want)
	}
	if want := (Cell{true, []float64{20}, 0}); !reflect.DeepEqual(s.At(0, 1), want) || !reflect.DeepEqual(s.At(1, 0), Cell{Recorded: true}) || s.Configs[1].Protocol != "" {
		t.Errorf("cells %v and %v", s.At(0, 1), s.At(1, 0))
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "0 files that end in .csv") {
		t.Errorf("an empty folder: %v", err)
	}
}

// Errors name file, line and column, and what would do.
func TestFaultsAreNamed(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "x: empty: want a line of names, and rows"},
		{"algorithm,bytes,time_us\n", "no row"},
		{"algorithm,time_us\n", "x:1: no column bytes"},
		{"bytes,time_us\n1,2\n", "x:1: no column of the configuration"},
		{"a,bytes,a,time_us\n", `x:1:9: second column "a": want each name once`},
		{"algo,bytes,algorithm,time_us\n", "x:1:12: second column of the algorithm: want one"},
		{"a b,bytes,time_us\n", `x:1:1: column "a b"`},
		{"a,bytes,time_us\nx,1K,2\n", `x:2:3: bytes "1K": want a whole number above 0`},
		{"a,bytes,time_us\nx,1,2\nx,1,fast\n", `x:3:5: time_us "fast": want a time in microseconds`},
		{"a,bytes,time_us\nx,1,NaN\n", `x:2:5: time_us "NaN": want a time in microseconds`},
		{"a,bytes,time_us\nx,1,-2\n", `x:2:5: time_us "-2": time of -2 us`},
		{"a,bytes,time_us\nx,1,1_000\n", `x:2:5: time_us "1_000": want a time in microseconds`},
		{"a,bytes,time_us\nx,1,0x1p3\n", `x:2:5: time_us "0x1p3": want a time in microseconds`},
		{"a,bytes,time_us\nx,9223372036854775807,2\n", `x:2:3: bytes "9223372036854775807": 9223372036854775807: want 1 to 1125899906842624, a PiB`},
		{"a,bytes,time_us\nx,1\n", "x:2:1: wrong number of fields: want one for each name of the first line"},
		{"a,bytes,time_us\nx,,3\n", "x:2:1: no bytes"},
		{"a,bytes,time_us\n\"x,1,3\n", `x:2:8: extraneous or missing " in quoted-field`},
		{"protocol,bytes,time_us\nLL64,1,3\n", `x:2:1: protocol "LL64": want one of LL, LL128, Simple, or auto`},
		{"a,collective,bytes,time_us\nx,all_reducer,1,3\n", `x:2:3: collective "all_reducer": collective "all_reducer" (did you mean allreduce?)`},
		{"a,inplace,bytes,time_us\nx,yes,1,3\n", `x:2:3: inplace "yes": want 0 or 1`},
		{"a,ranks,gpus_per_node,bytes,time_us\n", "x:1: columns ranks and gpus_per_node"},
	} {
		_, err := parsed("x", []byte(tc.text))
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
	if _, err := Read("no-such-file.csv"); err == nil || !strings.HasPrefix(err.Error(), "no-such-file.csv: no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Over many trials the factors have the median, the spread and the outliers asked for, and
// the same seed gives the same ones.
func TestNoiseIsAsAsked(t *testing.T) {
	n := Noise{Spread: 0.1, Outliers: 0.02, Seed: 3}
	var logs []float64
	outliers := 0
	const trials = 20000
	for i := range trials {
		f := n.Factor("ring", 1024, i, i)
		if f != n.Factor("ring", 1024, i, 0) {
			t.Fatal("another factor for the same trial")
		}
		if f > 1.6 { // 4.7 times the spread
			outliers++
			continue
		}
		logs = append(logs, math.Log(f))
	}
	mean, square := 0.0, 0.0
	for _, l := range logs {
		mean += l / float64(len(logs))
		square += l * l / float64(len(logs))
	}
	if math.Abs(mean) > 0.003 || math.Abs(math.Sqrt(square)-0.1) > 0.003 {
		t.Errorf("logarithms of mean %.4f and spread %.4f, want 0 and 0.1", mean, math.Sqrt(square))
	}
	if share := float64(outliers) / trials; share < 0.016 || share > 0.024 {
		t.Errorf("%.3f outliers, want 0.02", share)
	}
	if n.Factor("ring", 1024, 0, 0) == n.Factor("ring", 2048, 0, 0) || n.Factor("ring", 1024, 0, 0) == n.Factor("tree", 1024, 0, 0) {
		t.Error("two points have the same factor")
	}
	if f := (Noise{Drift: 0.1}).Factor("ring", 1024, 0, 200); math.Abs(f-1.21) > 1e-9 {
		t.Errorf("after 200 trials of 10 %% drift a hundred: %g, want 1.21", f)
	}
	for _, bad := range []Noise{{Spread: 2}, {Spread: math.NaN()}, {Drift: -1}, {Outliers: -0.1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// FuzzParse holds the reader to what it promises of a table that it accepts.
func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("\ufeff" + small))
	f.Add([]byte("a,nodes,gpus_per_node,bytes,time_us\nx,1048576,1048576,9223372036854775807,0x1p3\n"))
	f.Add([]byte("a,bytes,time_us\n\"x\ny\",1,2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := parsed("x", text)
		if err != nil {
			return
		}
		for _, s := range table.Spaces {
			if !slices.IsSorted(s.Sizes) || len(s.Sizes) == 0 || s.Sizes[0] < 1 {
				t.Fatalf("sizes %v", s.Sizes)
			}
			for i := range s.Configs {
				c := &s.Configs[i]
				if at, err := s.Find(c.Algorithm, c.Protocol, c.Settings); err != nil || at != i {
					t.Fatalf("%s is found at %d, %v, want %d", c.Name(), at, err, i)
				}
				if len(c.Values) != len(s.Axes) {
					t.Fatalf("%d values of %d axes", len(c.Values), len(s.Axes))
				}
				some := false
				for n := range s.Sizes {
					cell := s.At(i, n)
					some = some || cell.Recorded
					for _, us := range cell.TimesUS {
						if !(us > 0) || math.IsInf(us, 1) {
							t.Fatalf("time %g", us)
						}
					}
				}
				if !some {
					t.Fatalf("%s has no row", c.Name())
				}
			}
		}
	})
}
