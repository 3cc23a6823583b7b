package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
)

// exported is a campaign's export and the files it left.
func exported(t testing.TB, c *results.Campaign, o Options) (Report, map[string]string) {
	t.Helper()
	if o.Out == "" {
		o.Out = t.TempDir()
	}
	if o.To == "nccl-tuner-csv" && o.Left == nil {
		o.Left, o.KeepSlower = ringAlone, true
	}
	report, err := Write(c, o)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	entries, err := os.ReadDir(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(o.Out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return report, files
}

// crossing is a campaign whose winner at 4K, three instances, has 12 chunks
// that divide no power of two, and whose winner at 8K uses another tile.
func crossing(t testing.TB) *results.Campaign {
	t.Helper()
	c := resultstest.Create(t, resultstest.Plan())
	one, two, three := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 2, 0, true), irtest.Ring(4, 3, 0, true)
	resultstest.Append(t, c,
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 1024, 5), resultstest.Trial(t, c, two, "ring", "LL", 32768, 1024, 6),
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 2048, 6), resultstest.Trial(t, c, two, "ring", "LL", 32768, 2048, 7),
		resultstest.Trial(t, c, three, "ring", "LL", 32768, 4096, 8), resultstest.Trial(t, c, two, "ring", "LL", 32768, 4096, 10), resultstest.Trial(t, c, one, "ring", "LL", 32768, 4096, 11),
		resultstest.Trial(t, c, two, "ring", "LL", 512, 8192, 10), resultstest.Trial(t, c, two, "ring", "LL", 32768, 8192, 12),
	)
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 3, Tuned: 3}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestExportTakesWhatTheRuntimeRuns(t *testing.T) {
	c := crossing(t)
	for _, runtime := range []string{"", "msccl", "executor-nccl"} {
		out := filepath.Join(t.TempDir(), "a", "b")
		report, files := exported(t, c, Options{To: "msccl-xml", Runtime: runtime, Out: out})
		want := []File{
			{Name: "colltune-allreduce-4r-in-01-1K-2K-ring-LL.xml", Placement: "in", Algorithm: "ring", Protocol: "LL", MinBytes: 1024, MaxBytes: 4095, Granularity: 16, TileBytes: 32768, IR: irtest.Ring(4, 1, 0, true).Hash()},
			{Name: "colltune-allreduce-4r-in-02-4K-8K-ring-LL.xml", Placement: "in", Algorithm: "ring", Protocol: "LL", MinBytes: 4096, MaxBytes: 8192, Granularity: 32, TileBytes: 32768, IR: irtest.Ring(4, 2, 0, true).Hash()},
		}
		if diff := cmp.Diff(want, report.Files); diff != "" {
			t.Errorf("%s: files (-want +got)\n%s", runtime, diff)
		}
		name := runtime
		if name == "" {
			name = "msccl"
		}
		losses := []Loss{
			{4096, "in", "ring scratch=0 ×3 LL tile 32K", 8, "ring scratch=0 ×2 LL tile 32K", 10, 25, "its 12 chunks do not divide 1024 elements", 0},
			{8192, "in", "ring scratch=0 ×2 LL tile 512", 10, "ring scratch=0 ×2 LL tile 32K", 12, 20, "it was measured with tile 512, and " + name + " uses 32K", 0},
		}
		rounded := report.Losses
		for i := range rounded {
			rounded[i].Percent = float64(int(rounded[i].Percent*10+0.5)) / 10
		}
		if diff := cmp.Diff(losses, rounded); diff != "" {
			t.Errorf("%s: losses (-want +got)\n%s", runtime, diff)
		}
		if len(report.Gaps) != 0 || len(report.Load) == 0 || len(files) != 2 {
			t.Errorf("%s: gaps %v, load %q, %d files", runtime, report.Gaps, report.Load, len(files))
		}
		var printed bytes.Buffer
		if err := report.PrintAll(&printed); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"colltune-allreduce-4r-in-01-1K-2K-ring-LL.xml", "at 4K [ring scratch=0 ×2 LL tile 32K]", "takes 25.0 % longer than the winner", "12 chunks do not divide", report.Load[0]} {
			if !strings.Contains(printed.String(), want) {
				t.Errorf("%s: the report does not say %q:\n%s", runtime, want, &printed)
			}
		}
		for i, f := range report.Files {
			read, err := msccl.Read(strings.NewReader(files[f.Name]))
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			p, _, err := read.Program(true)
			if err != nil {
				t.Fatal(err)
			}
			if p.Hash() != want[i].IR {
				t.Errorf("%s holds another program", f.Name)
			}
			for _, line := range provenance(c, table.Evidence{}) {
				// A double hyphen would end an XML comment.
				if !strings.Contains(strings.ReplaceAll(files[f.Name], "- -", "--"), line) {
					t.Errorf("%s does not say %q", f.Name, line)
				}
			}
			if strings.Contains(files[f.Name], out) || strings.Contains(files[f.Name], c.Dir()) {
				t.Errorf("%s names a path", f.Name)
			}
		}
	}
}

// An export leaves to the library what the runtime would not run faster, whatever the evidence
// of either time, unless it is asked to keep it: in its fastest state, or as called where nothing says what
// that takes.
func TestExportLeavesSizes(t *testing.T) {
	for _, kind := range []string{"given", "trial", "best", "unknown"} {
		c := crossing(t)
		var points []results.Point
		for _, at := range []struct {
			bytes int64
			us    float64
		}{{1024, 5}, {2048, 6.0001}, {4096, 7.5}, {8192, 30}} {
			b, others := &results.Baseline{Name: "library", TimeUS: at.us}, []results.Baseline(nil)
			window := results.Baseline{Name: "kernel", Release: "nccl-2.32.3", Registered: "window", Evidence: "unknown"}
			switch kind {
			case "best":
				b.TimeUS, b.Registered, b.Evidence = 100, "none", "measured"
				window.TimeUS, window.Evidence = at.us, "predicted"
				others = append(others, window)
			case "unknown":
				b.Registered, b.Evidence = "none", "measured"
				others = append(others, window)
			case "trial":
				run := resultstest.Trial(t, c, irtest.Ring(4, 1, 9, true), "library's ring", "LL128", 576000, at.bytes, at.us)
				run.Reference = true
				resultstest.Append(t, c, run)
				b = &results.Baseline{Name: "library", Program: run.Program, Protocol: run.Protocol, TileBytes: run.TileBytes}
			}
			points = append(points, results.Point{Bytes: at.bytes, Placement: "in", Baseline: b, Others: others})
		}
		if err := c.SetTally(results.Tally{Finished: true, Enumerated: 3, Tuned: 3, Points: points}); err != nil {
			t.Fatal(err)
		}
		for _, to := range []Options{{To: "msccl-xml"}, {To: "mscclpp-json"}, {To: "ir"}} {
			report, _ := exported(t, c, to)
			var left []string
			for _, g := range report.Gaps {
				left = append(left, fmt.Sprintf("%d %s", g.Bytes, g.Reason))
			}
			want := []string{"1024 tied", "2048 tied", "4096 slower"}
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("%s, %s: left (-want +got)\n%s", kind, to.To, diff)
			}
			if s := report.Summary; s.Served != 1 || s.Left != 3 || len(report.Files) != 1 || report.Files[0].MinBytes != 8192 || s.Gain == nil || *s.Gain < 2 {
				t.Errorf("%s: %v, files %+v", to.To, s, report.Files)
			}
			to.KeepSlower = true
			if report, _ = exported(t, c, to); report.Summary.Served != 4 || len(report.Gaps) != 0 {
				t.Errorf("%s: %v, gaps %v: want all kept", to.To, report.Summary, report.Gaps)
			}
		}
	}
}

// Where msccl does not enable LL128, it silently skips the files, and the export says
// so.
func TestExportNotesLL128OfMSCCL(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(4096))
	resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "LL128", 576000, 4096, 5))
	for runtime, want := range map[string]bool{"msccl": true, "executor-nccl": false} {
		report, _ := exported(t, c, Options{To: "msccl-xml", Runtime: runtime})
		if told := slices.ContainsFunc(report.Notes, func(note string) bool { return strings.Contains(note, "files of LL128") }); told != want {
			t.Errorf("%s: notes %q: of LL128 told %v, want %v", runtime, report.Notes, told, want)
		}
	}
	report, _ := exported(t, crossing(t), Options{To: "msccl-xml"})
	if slices.ContainsFunc(report.Notes, func(note string) bool { return strings.Contains(note, "LL128") }) {
		t.Errorf("notes %q speak of LL128, which no file has", report.Notes)
	}
}

// Equal campaigns export equal bytes, whatever their folder and the order of their
// trials.
func TestExportsAreEqual(t *testing.T) {
	for _, to := range Formats() {
		campaign := crossing
		if to == "nccl-tuner-csv" {
			campaign = resultstest.Library // it has no way to say a program
		}
		_, a := exported(t, campaign(t), Options{To: to})
		_, b := exported(t, campaign(t), Options{To: to})
		if diff := cmp.Diff(a, b); diff != "" {
			t.Errorf("%s differs:\n%s", to, diff)
		}
	}
}

// Files of an earlier export are removed, since a runtime would read them; foreign files
// stay and are named.
func TestExportIntoAnOldFolder(t *testing.T) {
	out := t.TempDir()
	for _, name := range []string{"colltune-allreduce-4r-in-09-1G-ring-LL.xml", ".colltune-allreduce-4r-in-01-1K-ring-LL.xml123", "colltune-allreduce-4r-out-01-1K-ring-LL.xml", "colltune-allreduce-8r-in-01-1K-ring-LL.xml", "colltune-reduce-4r-in-01-1K-ring-LL.xml", "mine.xml"} {
		if err := os.WriteFile(filepath.Join(out, name), []byte("<!-- made by colltune 1 -->\nold"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report, files := exported(t, crossing(t), Options{To: "msccl-xml", Out: out})
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range files {
			if !yield(n) {
				return
			}
		}
	})
	want := []string{
		"colltune-allreduce-4r-in-01-1K-2K-ring-LL.xml", "colltune-allreduce-4r-in-02-4K-8K-ring-LL.xml",
		"colltune-allreduce-4r-out-01-1K-ring-LL.xml", "colltune-allreduce-8r-in-01-1K-ring-LL.xml", "colltune-reduce-4r-in-01-1K-ring-LL.xml", "mine.xml",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.Contains(n, "mine.xml") }) {
		t.Errorf("notes %q do not name mine.xml", report.Notes)
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool {
		return strings.Contains(n, "colltune-allreduce-4r-in-09-1G-ring-LL.xml is removed")
	}) {
		t.Errorf("notes %q do not name what was removed", report.Notes)
	}
}

// A runtime that keeps four files gets the four that cost least.
func TestExportWithinARuntimesFiles(t *testing.T) {
	sizes := []int64{1024, 2048, 4096, 8192, 16384, 32768}
	c := resultstest.Create(t, resultstest.Plan(sizes...))
	for i, n := range sizes {
		for mark := range 6 {
			us := 10.
			if mark == i {
				us = 9 - float64(i)/10 // each size has a winner of its own, ever more so
			}
			resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, mark, true), fmt.Sprint("ring", mark), "LL", 32768, n, us))
		}
	}
	report, _ := exported(t, c, Options{To: "msccl-xml", Runtime: "msccl"})
	if len(report.Files) != 4 || len(report.Losses) != 2 || len(report.Gaps) != 0 {
		t.Fatalf("%d files, %d losses, %d gaps; want 4, 2, 0", len(report.Files), len(report.Losses), len(report.Gaps))
	}
	for _, l := range report.Losses {
		if l.Why != "msccl loads 4 files" {
			t.Errorf("why: %s", l.Why)
		}
	}
	if report, _ = exported(t, c, Options{To: "msccl-xml", Runtime: "executor-nccl"}); len(report.Files) != 6 || len(report.Losses) != 0 {
		t.Errorf("%d files, %d losses; want 6, 0", len(report.Files), len(report.Losses))
	}
}

// Sizes that no program fits are named; a reference is not exported.
func TestExportGaps(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan())
	one, three := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 3, 0, true)
	reference := resultstest.Trial(t, c, irtest.Ring(4, 1, 9, true), "nccl-ring", "LL", 32768, 8192, 1)
	reference.Reference = true
	resultstest.Append(t, c,
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 1024, 5),
		resultstest.Trial(t, c, three, "ring", "LL", 32768, 2048, 5),
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 4096, 5),
		reference,
	)
	report, _ := exported(t, c, Options{To: "msccl-xml"})
	want := []Gap{{2048, "in", Refused, "its 12 chunks do not divide 512 elements", 0}, {8192, "in", Refused, "not measured", 0}}
	if diff := cmp.Diff(want, report.Gaps); diff != "" {
		t.Error(diff)
	}
	if len(report.Files) != 2 || report.Files[0].MaxBytes != 2047 || report.Files[1].MinBytes != 4096 || report.Files[1].MaxBytes != 8191 {
		t.Errorf("files %+v", report.Files)
	}
}

// At a size that its chunks do not divide, a runtime skips a file, so its range may
// include the size.
func TestExportOverAGap(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(4800, 5120, 9600))
	three := irtest.Ring(4, 3, 0, true)
	resultstest.Append(t, c, resultstest.Trial(t, c, three, "ring", "LL", 32768, 4800, 5), resultstest.Trial(t, c, three, "ring", "LL", 32768, 9600, 5))
	report, files := exported(t, c, Options{To: "msccl-xml"})
	if want := []Gap{{5120, "in", Refused, "not measured", 0}}; !slices.Equal(report.Gaps, want) {
		t.Errorf("gaps %v, want %v", report.Gaps, want)
	}
	if len(files) != 1 || report.Files[0].MinBytes != 4800 || report.Files[0].MaxBytes != 9600 || report.Files[0].Granularity != 48 {
		t.Errorf("files %+v, want one from 4800 to 9600, in multiples of 48", report.Files)
	}
}

func TestExportBothPlacements(t *testing.T) {
	plan := resultstest.Plan(1024, 2048)
	plan.Placement = "both"
	c := resultstest.Create(t, plan)
	for _, in := range []bool{true, false} {
		for _, n := range plan.Sizes {
			resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, in), "ring", "LL", 32768, n, 5))
		}
	}
	report, files := exported(t, c, Options{To: "msccl-xml", Runtime: "executor-nccl"})
	if len(report.Files) != 2 || report.Files[0].Placement != "in" || report.Files[1].Placement != "out" {
		t.Fatalf("files %+v", report.Files)
	}
	for i, want := range []string{`inplace="1" outofplace="0"`, `inplace="0" outofplace="1"`} {
		if !strings.Contains(files[report.Files[i].Name], want) {
			t.Errorf("%s does not say %s", report.Files[i].Name, want)
		}
	}
}

// A collective is exported to the runtimes that have it, and the error for the others
// says so.
func TestExportOfAllToNext(t *testing.T) {
	plan := resultstest.Plan(1024)
	plan.Collective, plan.Placement = "alltonext", "out"
	c := resultstest.Create(t, plan)
	p := &ir.Program{Name: "direct"}
	p.Collective.Name, p.Collective.Ranks, p.Collective.Chunks = "alltonext", 4, 1
	for r := range 4 {
		g := ir.GPU{}
		if r < 3 {
			g.Threadblocks = append(g.Threadblocks, ir.Threadblock{Send: r + 1, Recv: -1, Steps: []ir.Step{{Op: ir.Send, Count: 1}}})
		}
		if r > 0 {
			g.Threadblocks = append(g.Threadblocks, ir.Threadblock{Send: -1, Recv: r - 1, Steps: []ir.Step{{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: 1}}}})
		}
		p.GPUs = append(p.GPUs, g)
	}
	resultstest.Append(t, c, resultstest.Trial(t, c, p, "direct", "LL", 32768, 1024, 5),
		resultstest.Trial(t, c, p, "direct", "LL", 16, 1024, 4)) // a winner with a tile of no runtime
	_, files := exported(t, c, Options{To: "msccl-xml", Runtime: "msccl"})
	for name, text := range files {
		if !strings.Contains(text, `coll="custom"`) {
			t.Errorf("%s is not custom", name)
		}
	}
	for _, runtime := range []string{"executor-nccl", "rccl"} {
		_, err := Write(c, Options{To: "msccl-xml", Runtime: runtime, Out: t.TempDir()})
		if !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "alltonext") || !strings.Contains(err.Error(), runtime) {
			t.Errorf("%s: %v, want that it has no alltonext", runtime, err)
		}
	}
}

func TestExportRefusals(t *testing.T) {
	c := crossing(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{To: "yaml", Out: "x"}, `unknown export format "yaml": want one of msccl-xml, mscclpp-json, nccl-tuner-csv, ir`},
		{Options{To: "msccl-xml", Runtime: "nccl", Out: "x"}, `unknown runtime "nccl": want one of msccl, executor-nccl, rccl`},
		{Options{To: "msccl-xml"}, "no folder"},
		{Options{To: "msccl-xml", Out: file}, "not a directory"},
		{Options{To: "ir", Out: file}, "not a directory"},
	} {
		if _, err := Write(c, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.o, err, test.want)
		}
	}
	for _, to := range Formats() {
		if _, err := Write(resultstest.Create(t, resultstest.Plan()), Options{To: to, Out: t.TempDir()}); !errors.Is(err, ErrNothingFits) {
			t.Errorf("%s of an empty campaign: %v, want ErrNothingFits", to, err)
		}
	}
}

func TestExportIR(t *testing.T) {
	report, files := exported(t, crossing(t), Options{To: "ir"})
	if len(report.Files) != 3 || len(files) != 4 { // three programs, ranges.json
		t.Fatalf("%d ranges, %d files", len(report.Files), len(files))
	}
	for _, f := range report.Files {
		p, err := ir.Decode(strings.NewReader(files[f.Name]))
		if err != nil {
			t.Fatal(err)
		}
		if p.Hash() != f.IR || !strings.Contains(p.Comment, "seed 1") {
			t.Errorf("%s: another program, or without provenance: %q", f.Name, p.Comment)
		}
	}
	if !strings.Contains(files["colltune-allreduce-4r-in-ranges.json"], `"schema": "colltune.ranges/v1"`) {
		t.Errorf("ranges.json:\n%s", files["colltune-allreduce-4r-in-ranges.json"])
	}
}

// TestExportsIntoOneFolder: exports into a folder at one time leave each other's
// files alone, but for what they replace.
func TestExportsIntoOneFolder(t *testing.T) {
	c, out := crossing(t), t.TempDir()
	failed := make(chan error)
	const exports = 8
	for range exports {
		go func() {
			r, err := Write(c, Options{To: "msccl-xml", Out: out})
			for _, note := range r.Notes {
				if strings.Contains(note, "is removed") {
					err = errors.Join(err, errors.New(note))
				}
			}
			failed <- err
		}()
	}
	for range exports {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}
