package nccltests

import (
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Every documented form, and what programs of each age printed, against what was
// read off it by eye once.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, ".golden") {
			continue
		}
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			report, err := Parse(filepath.Base(f), text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(report, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(f+".golden", append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(f + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestErrorsNameTheirLine(t *testing.T) {
	const header = "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong\n"
	const row, footer = " 8 2 float sum -1 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n", "# Out of bounds values : 0 OK\n"
	for name, tc := range map[string]struct{ text, want string }{
		"empty":                 {"", "x:1: no row of nccl-tests' table"},
		"prose":                 {"hello\nworld\n", "x:2: no row of nccl-tests' table"},
		"failure alone":         {"node: Test CUDA failure common.cu:1: 'no device'\n", "it says: node: Test CUDA failure common.cu:1: 'no device'"},
		"begun, then failed":    {header + " 8 2 float sum -1node: Test NCCL failure x.cu:1 'remote process exited'\n", "no row of nccl-tests' table: want lines of size, count, type, …, time, algbw, busbw; it says: 8 2 float sum -1node: Test NCCL failure"},
		"begun, then cancelled": {header + " 8 2 float sum -1srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n", "it says: 8 2 float sum -1srun: Job step aborted"},
		"row after the end":     {header + header + row + footer + row + footer, "x:5: a row after the end of one table: several programs printed at once; under a launcher nccl-tests must be built with MPI=1"},
		"two ends":              {header + header + row + row + footer + footer, "x:6: a second end of one table: several programs"},
		"too large":             {"# Reducing maxBytes to 0 due to memory limitation\n", "it says: # Reducing maxBytes to 0 due to memory limitation"},
		"JSON begun":            {`{"results": [{"size":8,"count":2,"type":"float","redop":"sum","root":"-1"}]}`, "nothing was measured"},
		"torn":                  {header + " 8 2 float sum -1 12.9 0.0 0.0 0 12.8 0.0\n", "x:2: row of 11 fields: want the 13"},
		"printed into":          {header + " 8 2 float sum -1 node:1:1 [0] NCCL INFO Channel 00 12.9 0 0 0 1 0 0 0\n", "x:2: row of"},
		"size is garbled":       {header + row + " 1x 4 float sum -1 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n" + row, `x:3: column size: "1x": want a number`},
		"count is garbled":      {header + row + " 16 4? float sum -1 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n", `x:3: column count: "4?": want a number`},
		"type is garbled":       {header + row + " 16 4 flo@t sum -1 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n", `x:3: column type: "flo@t": want one of`},
		"two words garbled":     {header + row + " 1x 4x float sum -1 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n", `x:3: column size: "1x": want a number`},
		"begun and torn":        {header + row + " 16 4 flo\n", "x:3: row of 3 fields: want the 13"},
		"time is a word":        {header + " 8 2 float sum -1 fast 0.0 0.0 0 12.8 0.0 0.0 0\n", `x:2: column time: "fast": want a number`},
		"time is negative":      {header + " 8 2 float sum -1 -1 0.0 0.0 0 12.8 0.0 0.0 0\n", `column time: "-1"`},
		"time is not finite":    {header + " 8 2 float sum -1 inf 0.0 0.0 0 12.8 0.0 0.0 0\n", `column time: "inf"`},
		"time is hexadecimal":   {header + " 8 2 float sum -1 0x1p3 0.0 0.0 0 12.8 0.0 0.0 0\n", `x:2: column time: "0x1p3": want a number`},
		"size above a PiB":      {header + " 1125899906842625 2 float sum -1 9 0.0 0.0 0 12.8 0.0 0.0 0\n", "x:2: size 1125899906842625, count 2: want 0 to 1125899906842624, a PiB"},
		"size is negative":      {header + row + " -8 2 float sum -1 9 0.0 0.0 0 12.8 0.0 0.0 0\n", "x:3: size -8, count 2: want 0 to"},
		"no header":             {" 8 2 float sum 12.9 0.0 0.0 0 12.8 0.0 0.0 0\n", "x:1: row of 12 fields without a header"},
		"unknown column":        {"# size count type colour\n 8 2 float red\n", `x:2: unknown column "colour"`},
		"no time":               {"# size count type\n 8 2 float\n", "x:2: the table's header has no column time"},
		"busbw first":           {"# size count type busbw time\n 8 2 float 1 2\n", "x:2: column busbw before any column time"},
		"size beyond":           {header + " 99999999999999999999 2 float sum -1 1 0 0 0 1 0 0 0\n", "column size"},
		"JSON torn":             {"{\n\"results\": [", "x:2: JSON of nccl-tests"},
		"JSON of others":        {`{"rows": []}`, `no "results"`},
		"JSON empty":            {`{"results": []}`, `"results" is empty`},
		"JSON twice":            {`{"results": []} {}`, "more after the document's end"},
		"JSON wrong kind":       {"{\"results\": [\n{\"size\": \"8\"}]}", "x:2: JSON of nccl-tests (-J): results.size: a string where a int64 is wanted"},
		"JSON infinite":         {`{"results": [{"size":8,"count":2,"type":"float","in_place":{"time":inf}}]}`, "x:1: JSON of nccl-tests"},
		"JSON negative time":    {`{"results": [{"size":8,"count":2,"type":"float","in_place":{"time":-2}}]}`, "-2: want a number"},
		"JSON unknown type":     {`{"results": [{"size":8,"count":2,"type":"float8"}]}`, `results[0]: unknown type "float8"`},
		"JSON size too large":   {`{"results": [{"size":9223372036854775807,"count":2,"type":"float","in_place":{"time":2}}]}`, "results[0]: size 9223372036854775807, count 2: want 0 to"},
		"JSON root of a word":   {`{"results": [{"size":8,"count":2,"type":"float","root":"x"}]}`, `results[0]: root "x"`},
	} {
		_, err := Parse("x", []byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// printed writes a number in a column as nccl-tests does: as many decimals as
// there is room for, then none, then an exponent.
func printed(x float64, width int) string {
	digits := 0
	for v := 1.0; x >= v; v *= 10 {
		digits++
	}
	switch {
	case digits < width-2:
		return fmt.Sprintf("%*.2f", width, x)
	case digits < width-1:
		return fmt.Sprintf("%*.1f", width, x)
	case digits < width+1:
		return fmt.Sprintf("%*.0f", width, x)
	}
	return fmt.Sprintf("%*.1e", width, x)
}

// Whatever is measured is read back as precisely as it was printed.
func TestReadsWhatIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours := rapid.SampledFrom(collective.DTypes()).Draw(t, "type")
		theirs := collective.NCCLTests.OfDType(ours)
		each := rapid.Bool().Draw(t, "-I 1")
		stamped := rapid.Bool().Draw(t, "-S 1")
		label := rapid.SampledFrom([]string{"", "[1,0]<stdout>:", " 0: "}).Draw(t, "label")
		n := rapid.IntRange(1, 5).Draw(t, "rows")
		extra, words := "", ""
		if each {
			extra, words = "  1.00  2.00  2.00  3.10", " i_min i_max i_p99 i_cv%"
		}
		stamp, last := "", ""
		if stamped {
			stamp, last = "  2026-07-10 09:12:44", " timestamp"
		}
		var text strings.Builder
		side := " time algbw busbw #wrong" + words
		fmt.Fprintf(&text, "%s# size count type redop root%s%s%s\n", label, side, side, last)
		type figures struct{ time, alg, bus float64 }
		var want [][2]figures
		for range n {
			var row [2]figures
			fmt.Fprintf(&text, "%s%12d  %12d  %8s  %6s  %6d", label, 1024, 256, theirs, "sum", -1)
			for i := range row {
				f := figures{rapid.Float64Range(0, 1e9).Draw(t, "time"), rapid.Float64Range(0, 1e5).Draw(t, "algbw"), rapid.Float64Range(0, 1e5).Draw(t, "busbw")}
				row[i] = f
				fmt.Fprintf(&text, "  %7s  %6s  %6s  %6g%s", printed(f.time, 7), printed(f.alg, 6), printed(f.bus, 6), float64(i), extra)
			}
			fmt.Fprintf(&text, "%s\n", stamp)
			want = append(want, row)
		}
		r, err := Parse("x", []byte(text.String()))
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		near := func(got, want float64) bool { return math.Abs(got-want) <= 0.05*want+0.005 }
		for i, row := range r.Tables[0].Rows {
			for j, got := range []*Timing{row.OutOfPlace, row.InPlace} {
				f := want[i][j]
				if !near(got.TimeUS, f.time) || !near(got.AlgBW, f.alg) || !near(got.BusBW, f.bus) || got.Wrong != int64(j) || !got.Checked {
					t.Fatalf("row %d: read %+v of %+v\n%s", i, got, f, text.String())
				}
			}
			if row.DType() != ours || row.Root != -1 || row.Op != "sum" {
				t.Fatalf("row %d: %+v", i, row)
			}
		}
	})
}

// Real tables: times measured by others, printed again and read back, agree
// with their own bandwidths.
func TestMeasuredElsewhere(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for len(files) == 0 {
		if files, _ = filepath.Glob(filepath.Join(dir, "shared", "data", "measured", "*.csv")); len(files) == 0 {
			if filepath.Dir(dir) == dir {
				t.Skip("no shared/data/measured above the working directory")
			}
			dir = filepath.Dir(dir)
		}
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(file, err)
		}
		if !slices.Contains(lines[0], "busbw_gbps") {
			continue
		}
		// collective,nodes,gpus_per_node,bytes,algo,proto,time_us,algbw_gbps,busbw_gbps,inplace
		for _, c := range lines[1:] {
			text := fmt.Sprintf("# Collective test starting: %s_perf\n# size count type redop root time algbw busbw #wrong\n %s %s float sum -1 %s %s %s 0\n", c[0], c[3], c[3], c[6], c[7], c[8])
			r, err := Parse(file, []byte(text))
			if err != nil {
				t.Fatalf("%s: %v\n%s", file, err, text)
			}
			row := r.Tables[0].Rows[0]
			bytes, _ := strconv.ParseInt(c[3], 10, 64)
			if r.Tables[0].Collective() == "" {
				t.Fatalf("no collective in %s", c[0])
			}
			if row.Bytes != bytes || row.InPlace != nil {
				t.Fatalf("read %+v of %v", row, c)
			}
			if at := row.OutOfPlace; at.AlgBW >= 1 && bytes > 0 {
				// The one exception is known: DGX-2 of 2020.
				if got := float64(bytes) / at.TimeUS / 1e3; math.Abs(got-at.AlgBW) > 0.02*got && !strings.Contains(file, "dgx2") {
					t.Errorf("%s: %v: algbw %v, bytes over time %v", filepath.Base(file), c, at.AlgBW, got)
				}
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range collective.NCCLTests.Collectives() {
		table := Table{Program: Program(c)}
		if table.Collective() != c {
			t.Errorf("%s: program %q is of %q", c, Program(c), table.Collective())
		}
	}
	if Program("allgatherv") != "" || (&Table{Program: "hypercube_perf"}).Collective() != "" {
		t.Error("a program for what has none")
	}
	for ours, theirs := range map[string]string{"f32": "float", "f16": "half", "f64": "double", "bf16": "bfloat16", "i8": "int8", "u64": "uint64", "": "", "f8": ""} {
		if got := collective.NCCLTests.OfDType(ours); got != theirs {
			t.Errorf("%q is %q, want %q", ours, got, theirs)
		}
	}
	for code, want := range map[int]string{23007: "2.30.7", 22803: "2.28.3", 2708: "2.7.8", 21205: "2.12.5", 0: "", -4: ""} {
		if got := version(code); got != want {
			t.Errorf("version code %d: %s, want %s", code, got, want)
		}
	}
}

// Files that were damaged give a report or an error that names a line.
func TestDamagedFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.*")
	var samples [][]byte
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, ".golden") {
			samples = append(samples, text)
		}
	}
	const words = "0123456789-+.eE#\n \t{}[]\":,NAinf\xff\x00"
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		text := slices.Clone(samples[random.IntN(len(samples))])
		for range 1 + random.IntN(4) {
			at := random.IntN(len(text))
			switch random.IntN(3) {
			case 0:
				text[at] = words[random.IntN(len(words))]
			case 1:
				text = slices.Delete(text, at, min(at+1+random.IntN(60), len(text)))
			case 2:
				text = slices.Insert(text, at, []byte(words[random.IntN(len(words)):])...)
			}
			if len(text) == 0 {
				break
			}
		}
		if _, err := Parse("x", text); err != nil && !strings.HasPrefix(err.Error(), "x:") {
			t.Fatalf("%q names no line\n%s", err, text)
		}
	}
}

// FuzzParse: no bytes bring the reader down, and what it takes keeps its word.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, ".golden") {
			f.Add(text)
		}
	}
	f.Add([]byte("# size count type time\n 1 1 float 1\n"))
	f.Add([]byte("# size count type time\n 1 1 float 1\n 9223372036854775807 1 float 0x1p3\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse("x", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x:") {
				t.Errorf("%q names no line", err)
			}
			return
		}
		rows := 0
		for _, table := range r.Tables {
			for _, row := range table.Rows {
				rows++
				for _, at := range []*Timing{row.OutOfPlace, row.InPlace} {
					if at != nil && (!(at.TimeUS >= 0) || math.IsInf(at.TimeUS, 0) || at.Wrong < 0) {
						t.Errorf("read %+v", at)
					}
				}
				if row.Bytes < 0 || row.Bytes > 1<<50 || !isType(row.Type) {
					t.Errorf("read %+v", row)
				}
			}
		}
		if rows == 0 {
			t.Error("a report without a row")
		}
	})
}

// Ranks may share a GPU: it is listed once.
func TestDevicesAreListedOnce(t *testing.T) {
	for _, tc := range []struct {
		places []string
		want   int
	}{
		{[]string{"node1 device  0 [0000:07:00]", "node1 device  1 [0000:08:00]"}, 2},
		{[]string{"node1 device  0 [0000:07:00]", "node1 device  0 [0000:07:00]"}, 1},
		{[]string{"node1 device  0 [0000:07:00]", "node2 device  0 [0000:07:00]"}, 2},
		{[]string{"node1 device  0 [0000:c1:00.0]", "node1 device  1 [0000:c1:00.0]"}, 2}, // an MI250X's halves
		{[]string{"node1 device  0 [0000:07:00]", "node1 device  0 [0000:08:00]"}, 2},     // one visible to each process
	} {
		text := "# Collective test starting: all_reduce_perf\n"
		for rank, at := range tc.places {
			text += fmt.Sprintf("#  Rank  %d Group  0 Pid   %d on      %s FAKE GPU\n", rank, rank, at)
		}
		r, err := Parse("x", []byte(text+"# size count type time\n 8 2 float 1\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Tables[0]; len(got.Devices) != tc.want || got.Ranks != len(tc.places) {
			t.Errorf("%q: devices %q, %d ranks: want %d devices", tc.places, got.Devices, got.Ranks, tc.want)
		}
	}
}
