package results

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/compiler/collective"
)

// ownTrial is an ok trial of an algorithm of a back end's own.
func ownTrial(algorithm, protocol string, settings map[string]string, channels int, bytes int64, us float64) Trial {
	spec := collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1, InPlace: true}
	hash := NativeHash(algorithm, settings, spec)
	parameters := map[string]any{}
	for k, v := range settings {
		parameters[k] = v
	}
	return Trial{
		Bytes: bytes, Placement: "in", Algorithm: algorithm, Source: Backend, Parameters: parameters,
		Channels: channels, Instances: 1, Protocol: protocol, Program: hash, LoopChunks: 1, MaxCount: 1, Granularity: 4,
		Fingerprint: testExecutor.Hash(), Outcome: OK, TimesUS: []float64{us},
	}
}

// library is a campaign whose winners are, by rising size, the library's choice,
// a program, a tree, and the same tree again.
func library(t testing.TB) *Campaign {
	t.Helper()
	c := newCampaign(t, testPlan())
	channels := func(n string) map[string]string { return map[string]string{"channels": n} }
	appendAll(t, c,
		ownTrial("auto", OwnProtocol, nil, 0, 1024, 5), ownTrial("ring", "LL", channels("8"), 8, 1024, 6), ownTrial("ring", "LL", nil, 0, 1024, 5.5),
		testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 2048, 6), ownTrial("ring", "LL", channels("8"), 8, 2048, 7),
		ownTrial("nvlstree", "Simple", channels("16"), 16, 4096, 8), ownTrial("ring", "LL", channels("8"), 8, 4096, 9),
		ownTrial("nvlstree", "Simple", channels("16"), 16, 8192, 9), ownTrial("nvlstree", "Simple", map[string]string{"channels": "16", "buffer": "1048576"}, 16, 8192, 8.9),
	)
	if err := c.SetTally(Tally{Finished: true, Enumerated: 5, Tuned: 5, Points: []Point{
		{Bytes: 1024, Placement: "in", BoundUS: 4}, {Bytes: 2048, Placement: "in", BoundUS: 5}, {Bytes: 4096, Placement: "in", BoundUS: 20},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTitles(t *testing.T) {
	c := newCampaign(t, testPlan())
	program := testTrial(t, c, testRing(4, 2, 0, true), "ring", "LL", 32768, 1024, 3)
	own := ownTrial("ring", "LL", map[string]string{"channels": "8"}, 8, 1024, 3)
	for want, trial := range map[string]*Trial{"ring scratch=0 ×2 LL tile 32K": &program, "ring channels=8 LL": &own} {
		if got := (&measured{Trial: trial}).title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTableOfALibrary(t *testing.T) {
	c := library(t)
	table, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Algorithm, Source, Protocol string
		Tile                        int64
		IR, Bound                   bool
	}
	var rows []row
	for _, r := range table.Rows {
		rows = append(rows, row{r.Algorithm, r.Source, r.Protocol, r.TileBytes, r.IR != "", r.BoundUS != nil})
	}
	want := []row{
		{"auto", Backend, OwnProtocol, 0, false, true},
		{"ring", "template", "LL", 32768, true, true},
		// Faster than any routing: the bound is not of such.
		{"nvlstree", Backend, "Simple", 0, false, false},
		{"nvlstree", Backend, "Simple", 0, false, false},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if n := len(table.Ranges); n != 4 { // the last two differ in their buffer
		t.Errorf("%d ranges: %+v", n, table.Ranges)
	}
	// The journal gives it back.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	reread, err := Build(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var a, b strings.Builder
		if err := errors.Join(table.Write(&a, format), reread.Write(&b, format)); err != nil || a.String() != b.String() {
			t.Errorf("%s: %v\n%s\n%s", format, err, a.String(), b.String())
		}
	}
}

// A program's trial still needs its protocol, its tile and its file.
func TestOnlyALibrarysTrialLacksAProgram(t *testing.T) {
	c := newCampaign(t, testPlan())
	good := ownTrial("auto", OwnProtocol, nil, 0, 1024, 5)
	for name, change := range map[string]func(*Trial){
		"source":   func(t *Trial) { t.Source = "template" },
		"protocol": func(t *Trial) { t.Source, t.TileBytes = "template", 4096 },
		"file":     func(t *Trial) { t.Source, t.TileBytes, t.Protocol = "template", 4096, "LL" },
		"tile":     func(t *Trial) { t.TileBytes = -1 },
		"unknown":  func(t *Trial) { t.Protocol = "fast" },
	} {
		bad := good
		change(&bad)
		if err := c.Append(bad); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	appendAll(t, c, good)
}

func TestExportsOfALibrary(t *testing.T) {
	c := library(t)
	report, files := exported(t, c, ExportOptions{To: "ir"})
	if len(report.Files) != 1 || len(files) != 2 {
		t.Errorf("%+v, %d files", report.Files, len(files))
	}
	if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.HasPrefix(n, "from 1K to 2047 bytes auto wins in place") }) {
		t.Errorf("notes %q", report.Notes)
	}
	report, _ = exported(t, c, ExportOptions{To: "msccl-xml"})
	if len(report.Files) != 1 || len(report.Gaps) != 3 || report.Gaps[0].Why != noProgram {
		t.Errorf("%+v", report)
	}
}

func TestExportTuner(t *testing.T) {
	c := library(t)
	out := t.TempDir()
	report, files := exported(t, c, ExportOptions{To: "nccl-tuner-csv", Out: out})
	text := files["colltune-allreduce-4r-in-nccl-tuner.conf"]
	var rows []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if len(line) >= 256 {
			t.Errorf("its reader cuts a line of %d bytes", len(line))
		}
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, line)
		}
	}
	want := []string{
		"allreduce,1024,4095,ring,ll,8,1,4",
		"allreduce,4096,8192,nvls_tree,simple,16,1,4",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	var losses []string
	for _, l := range report.Losses {
		losses = append(losses, sizeText(l.Bytes)+": "+l.Why)
	}
	wantLosses := []string{
		"1K: no row of NCCL's tuner can say auto auto",
		"2K: no row of NCCL's tuner can name a program",
		"8K: no row of NCCL's tuner can set buffer",
	}
	if diff := cmp.Diff(wantLosses, losses); diff != "" {
		t.Error(diff)
	}
	if len(report.Load) == 0 || !strings.Contains(report.Load[0], filepath.Join(out, "colltune-allreduce-4r-in-nccl-tuner.conf")) {
		t.Errorf("load %q", report.Load)
	}
	// Equal campaigns export equal bytes, and an old file gives way.
	if err := os.WriteFile(filepath.Join(out, "colltune-allreduce-4r-in-nccl-tuner.conf"), []byte("# made by colltune 1\nold"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, again := exported(t, library(t), ExportOptions{To: "nccl-tuner-csv", Out: out}); again["colltune-allreduce-4r-in-nccl-tuner.conf"] != text {
		t.Error("an equal campaign exports something else")
	}
	// Nothing but programs, or a collective the tuner is not asked for.
	if _, err := Export(crossing(t), ExportOptions{To: "nccl-tuner-csv", Out: out}); !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "can name a program") {
		t.Errorf("programs only: %v", err)
	}
	p := testPlan()
	p.Collective, p.Placement = "alltoall", "out"
	if _, err := Export(newCampaign(t, p), ExportOptions{To: "nccl-tuner-csv", Out: out}); !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "not asked for alltoall") {
		t.Errorf("alltoall: %v", err)
	}
}

// Tables that don't know placements have the times in place, and say so.
func TestTablesOfBothPlacements(t *testing.T) {
	for _, placement := range []string{"in", "both"} {
		plan := testPlan(1024, 2048)
		plan.Placement = placement
		c := newCampaign(t, plan)
		for _, n := range plan.Sizes {
			appendAll(t, c, ownTrial("ring", "LL", map[string]string{"channels": "8"}, 8, n, 5))
			if placement == "both" {
				out := ownTrial("nvlstree", "Simple", map[string]string{"channels": "16"}, 16, n, 1)
				out.Placement = "out"
				appendAll(t, c, out)
			}
		}
		for to, want := range map[string]string{
			"nccl-tuner-csv": "allreduce,1024,2048,ring,ll,8,1,4",
			"mcr-dl":         "4,1024,nccl\n4,2048,nccl",
		} {
			report, files := exported(t, c, ExportOptions{To: to})
			if len(report.Files) != 1 || !strings.HasSuffix(strings.TrimSpace(files[report.Files[0].Name]), want) {
				t.Errorf("%s of %s: %q, want %s at the end", to, placement, files, want)
			}
			told := strings.Contains(strings.Join(report.Notes, "\n"), "the times in place decide")
			if told != (placement == "both") {
				t.Errorf("%s of %s: notes %q", to, placement, report.Notes)
			}
		}
		report, _ := exported(t, c, ExportOptions{To: "t4"})
		if strings.Contains(strings.Join(report.Notes, "\n"), "left out that were only run") {
			t.Errorf("notes %q, and nothing was left out", report.Notes)
		}
	}
}
