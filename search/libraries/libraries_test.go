package libraries_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/search/libraries"
)

func TestSizesMeet(t *testing.T) {
	nccl, notes, err := measuredtest.Read("nccl=a.txt,ranks=8", measuredtest.NCCLText)
	if err != nil {
		t.Fatal(err)
	}
	if len(nccl) != 3 || len(notes) != 1 || !strings.Contains(notes[0], "1 time with wrong data") {
		t.Errorf("%d rows, notes %q: want 3, and the wrong one noted", len(nccl), notes)
	}
	mpi := measuredtest.MustRead(t, "mpi=o.txt,ranks=8", measuredtest.OSUText)
	table, warnings := libraries.Build(slices.Concat(nccl, mpi), libraries.DefaultEqual)
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	var got []string
	for _, c := range table.Choices(0) {
		got = append(got, fmt.Sprint(c.Best.Bytes, " ", c.Best.Library, " ", c.Second.Library))
	}
	// OSU's 128 and 256 bytes are those of each of 8 ranks.
	if want := []string{"1024 mpi nccl", "2048 nccl mpi"}; !slices.Equal(got, want) {
		t.Errorf("%q: want %q", got, want)
	}
}

func TestRowsMerge(t *testing.T) {
	const text = `collective,ranks,bytes,library,version,time_us
allreduce,8,1024,nccl,2.29.2,10
allreduce,8,1024,nccl,2.29.2,10
allreduce,8,1024,nccl,2.29.2,11
allreduce,8,2048,nccl,2.29.2,10
allreduce,8,2048,nccl,2.29.2,13
allreduce,8,1024,nccl,2.28.9,10.5
`
	table, warnings := libraries.Build(measuredtest.MustRead(t, "f.csv", text), nil)
	if len(table.Rows) != 3 {
		t.Fatalf("%d rows: want 3: versions are entries of their own", len(table.Rows))
	}
	r := table.Rows[1]
	if r.TimeUS != 10 || r.LowUS != 10 || r.HighUS != 11 || r.Runs != 3 {
		t.Errorf("merged into %+v: want 10 us, 10 to 11, of 3 runs", r)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "f.csv:5") || !strings.Contains(warnings[0], "f.csv:6") {
		t.Errorf("warnings %q: want one that names lines 5 and 6", warnings)
	}
	c := table.Choices(0)[0]
	if c.Best.Version != "2.29.2" || c.Second.Version != "2.28.9" || !c.Near {
		t.Errorf("best %s, second %s, near %v: want 2.29.2, 2.28.9, within its interval", c.Best.Version, c.Second.Version, c.Near)
	}
}

func TestWarnings(t *testing.T) {
	const text = `collective,ranks,bytes,library,dtype,nodes,evidence,time_us
allreduce,8,1024,nccl,half,1,,10
allreduce,8,1024,vllm,bf16,,,9
allreduce,8,1024,ours,bf16,1,simulated,8
allgather,8,1024,mpi,,1,,8
allgather,8,1024,nccl,half,1,,8
`
	table, warnings := libraries.Build(measuredtest.MustRead(t, "f.csv", text), libraries.DefaultEqual)
	got := strings.Join(warnings, "\n")
	for _, want := range []string{"nodes of allreduce is stated at", "simulated times compete with measured ones at 1 call"} {
		if !strings.Contains(got, want) {
			t.Errorf("warnings %q: want %q", got, want)
		}
	}
	if strings.Contains(got, "dtype of allgather") {
		t.Errorf("warnings %q: an all-gather moves bytes", got)
	}
	if n := len(table.Choices(0)); n != 3 {
		t.Errorf("%d calls: want 3: 16-bit floats are one width, and a number of nodes not stated is another", n)
	}
}

// Tables do not depend on the order of rows, and are read back as they were written.
func TestRoundTrip(t *testing.T) {
	pick := func(of ...string) *rapid.Generator[string] { return rapid.SampledFrom(of) }
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			lines = append(lines, strings.Join([]string{
				pick("allreduce", "allgather").Draw(t, "collective"), pick("2", "8").Draw(t, "ranks"), pick("1024", "2048").Draw(t, "bytes"),
				pick("nccl", "mpi, \"mine\"").Draw(t, "library"), pick("", "1", "2").Draw(t, "version"), pick("", "bf16", "half").Draw(t, "dtype"),
				pick("1", "1.5", "7e-3").Draw(t, "time"),
			}, "\t"))
		}
		text := func() string {
			var b strings.Builder
			b.WriteString("collective,ranks,bytes,library,version,dtype,time_us\n")
			for _, line := range lines {
				f := strings.Split(line, "\t")
				f[3] = `"` + strings.ReplaceAll(f[3], `"`, `""`) + `"`
				b.WriteString(strings.Join(f, ",") + "\n")
			}
			return b.String()
		}
		write := func(rows []measured.Row) string {
			table, _ := libraries.Build(rows, []measured.Condition{measured.DType})
			var b bytes.Buffer
			if err := table.Write(&b, "v1"); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		rows, _, err := measuredtest.Read("f.csv", text())
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			rows[i].Source = "x"
		}
		first := write(rows)
		slices.Reverse(rows)
		if again := write(rows); again != first {
			t.Fatalf("rows the other way round:\n%s\nwant\n%s", again, first)
		}
		table, err := libraries.ReadTable("f.table", []byte(first))
		if err != nil {
			t.Fatal(err)
		}
		if back := write(table.Rows); back != first {
			t.Fatalf("read back:\n%s\nwant\n%s", back, first)
		}
	})
}

// fileOf is the file of a system's 16-bit all-reduces by several libraries, from
// ai-dynamo/aiconfigurator, with bytes as nccl-tests counts them.
func fileOf(system string) string { return filepath.Join("testdata", system+".csv") }

// Of the libraries that people can install, none is best at all sizes.
func TestNoLibraryIsBestEverywhere(t *testing.T) {
	for _, system := range []string{"h200_sxm", "b200_sxm"} {
		file := fileOf(system)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		table, _ := libraries.Build(measuredtest.MustRead(t, file+",system="+system, string(text)), libraries.DefaultEqual)
		best := map[string]map[string]bool{}
		for _, c := range table.Choices(0) {
			if c.Best.Collective == "allreduce" && c.Best.Width() == 2 {
				k := fmt.Sprint(c.Best.Ranks)
				if best[k] == nil {
					best[k] = map[string]bool{}
				}
				best[k][c.Best.Library] = true
			}
		}
		t.Logf("%s: %d rows in %v: %v", system, len(table.Rows), time.Since(start), best)
		if len(best) != 3 {
			t.Errorf("%s: all-reduces on %d numbers of GPUs: want 2, 4 and 8", system, len(best))
		}
		for ranks, libraries := range best {
			if len(libraries) < 2 {
				t.Errorf("%s, %s GPUs: %v is best at all sizes", system, ranks, libraries)
			}
		}
	}
}

// manyRows are n rows of 50 libraries.
func manyRows(n int) string {
	var b strings.Builder
	b.WriteString("collective,ranks,bytes,library,version,dtype,time_us\n")
	for i := range n {
		fmt.Fprintf(&b, "allreduce,%d,%d,lib%d,1,bf16,%d.5\n", 2+i/50%40, 1+i/2000, i%50, 1+i%997)
	}
	return b.String()
}

// 100,000 rows are read, built into a table and chosen from in less than 200 MB, counting
// everything that was ever allocated, and less than two seconds (BenchmarkManyRows).
func TestManyRows(t *testing.T) {
	const n = 100_000
	text := manyRows(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), libraries.DefaultEqual)
	choices := table.Choices(0)
	runtime.ReadMemStats(&after)
	if len(table.Rows) != n || len(choices) != n/50 {
		t.Errorf("%d rows and %d choices: want %d and %d", len(table.Rows), len(choices), n, n/50)
	}
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
		t.Errorf("%d MB allocated for %d rows: want at most 200", mb, n)
	}
}

func BenchmarkManyRows(b *testing.B) {
	text := []byte(manyRows(100_000))
	source, err := measured.ParseSource("f.csv")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		rows, _, err := measured.Read(source, text)
		if err != nil {
			b.Fatal(err)
		}
		table, _ := libraries.Build(rows, libraries.DefaultEqual)
		if len(table.Choices(0)) != 2000 {
			b.Fatal("other choices")
		}
	}
}

func ExampleBuild() {
	source, _ := measured.ParseSource("f.csv")
	rows, _, err := measured.Read(source, []byte(`collective,ranks,bytes,library,time_us
allgather,16,1024,mpi,6
allgather,16,1024,nccl,21
allgather,16,2048,mpi,9
allgather,16,2048,nccl,21
allgather,16,4096,mpi,30
allgather,16,4096,nccl,22
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	choices := table.Choices(0)
	for _, r := range libraries.Ranges(choices) {
		fmt.Printf("%d to %d: %s, the second takes %.2f times as long\n", r.First, r.Last, r.Best.Library, r.Ratio)
	}
	for _, s := range libraries.Singles(choices) {
		fmt.Printf("%s alone: %.2f\n", s.Best.Library, s.Ratio)
	}
	// Output:
	// 1024 to 2048: mpi, the second takes 2.86 times as long
	// 4096 to 4096: nccl, the second takes 1.36 times as long
	// mpi alone: 1.11
	// nccl alone: 2.01
}

func FuzzReadTable(f *testing.F) {
	for _, seed := range []string{"# colltune.table/v1\n# must be equal: nodes\ncollective,ranks,bytes,library,time_us\nallreduce,8,1,x,1\n", "# colltune.table/v2\n", "# colltune.table/v1\n# must be equal: colour\n",
		"# colltune.table/v1\n# must be equal: nodes\ncollective,ranks,bytes,nodes,library,time_us,runs\nallgather,8,-8,-5,=deepep,1e-7,33554432\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := libraries.ReadTable("f", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("%v: want file and line", err)
			}
			return
		}
		readBack(t, table.Rows)
		table.Regions()
	})
}

// readBack fails unless a table of the rows is read as it was written.
func readBack(t interface{ Fatalf(string, ...any) }, rows []measured.Row) {
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	var b bytes.Buffer
	if err := table.Write(&b, "v"); err != nil {
		t.Fatalf("%v", err)
	}
	again, err := libraries.ReadTable("f", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if !reflect.DeepEqual(again, table) {
		t.Fatalf("read back as\n%+v\nwant\n%+v", again.Rows, table.Rows)
	}
	for _, r := range table.Rows {
		if r.Bytes < 1 || r.Bytes > 1<<50 || r.Ranks < 1 || len(r.Entry()) > 401 {
			t.Fatalf("%+v in a table", r)
		}
	}
}

// A campaign's winners are rows whatever its template and its folder are called; a system's
// name that no table can hold is refused.
func TestCampaignsAreReadBack(t *testing.T) {
	for _, c := range []struct{ system, algorithm, want string }{
		{"ring:4", "ring", ""},
		{"ring:4", "=cmd\x1b" + strings.Repeat("ü", 150), ""},
		{"=ring", "ring", `system: "=ring": want a word that begins with a letter or a digit`},
		{strings.Repeat("x", 300), "ring", "system: \"xxxxxxxxxxxxxxxxxxxx\"… has 300 bytes: want at most 200"},
	} {
		plan := resultstest.Plan()
		plan.Topology.Name = c.system
		campaign := resultstest.Create(t, plan)
		resultstest.Append(t, campaign, resultstest.NativeTrial(c.algorithm, "LL", nil, 1, 1024, 5))
		source, err := measured.ParseSource("ours=somewhere/=" + strings.Repeat("y", 250))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := libraries.ReadCampaign(source, campaign)
		switch {
		case c.want == "" && err == nil && len(rows) == 1:
			readBack(t, rows)
		case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%.20q, %.20q: %d rows, %v: want %q", c.system, c.algorithm, len(rows), err, c.want)
		}
	}
}

func TestNewerTable(t *testing.T) {
	_, err := libraries.ReadTable("f", []byte("# colltune.table/v2\ncollective,ranks,bytes,time_us\n"))
	if err == nil || err.Error() != "f:1: is of colltune.table/v2: want colltune.table/v1, or a newer colltune" {
		t.Errorf("%v; want the line and both forms", err)
	}
}
