package export

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// linesOf are the lines of an exported table that are no comment.
func linesOf(t rapid.TB, dir string, r Report) (lines []string) {
	text, err := os.ReadFile(filepath.Join(dir, r.Files[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// ncclTrials gives trials the fingerprint of an executor named nccl, which it makes the
// campaign's.
func ncclTrials(t *testing.T, c *results.Campaign, trials ...results.Trial) []results.Trial {
	t.Helper()
	e := resultstest.Executor
	e.Name = "nccl"
	if _, err := c.SetExecutor(e); err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		trials[i].Fingerprint = e.Hash()
	}
	return trials
}

func TestExportMCRDL(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(1024, 2048, 4096, 8192, 16384, 1000))
	ring := irtest.Ring(4, 1, 0, true)
	foreign := resultstest.Trial(t, c, ring, "ring", "LL", 1024, 8192, 1) // with a tile that is none of MSCCL's
	fits := resultstest.Trial(t, c, ring, "ring", "LL", 32768, 8192, 4)
	resultstest.Append(t, c, ncclTrials(t, c,
		resultstest.Trial(t, c, ring, "ring", "LL", 32768, 1024, 5), resultstest.LibraryTrial("tree", 1024, 6), // a program wins
		resultstest.Trial(t, c, ring, "ring", "LL", 32768, 2048, 5), resultstest.LibraryTrial("tree", 2048, 4), // the library does
		resultstest.Trial(t, c, ring, "ring", "LL", 32768, 4096, 5), // as fast as its baseline
		foreign, fits,
		resultstest.Trial(t, c, irtest.Ring(4, 1, 3, true), "ring", "LL", 1024, 16384, 5), // nothing that MSCCL would run
		resultstest.Trial(t, c, ring, "ring", "LL", 32768, 1000, 5), resultstest.LibraryTrial("tree", 1000, 9),
	)...)
	tally := results.Tally{Finished: true, Points: []results.Point{
		{Bytes: 4096, Placement: "in", Baseline: &results.Baseline{Name: "measured.txt", TimeUS: 5}},
		{Bytes: 1000, Placement: "in", Baseline: &results.Baseline{Name: "measured.txt", TimeUS: 2}},
	}}
	if err := c.SetTally(tally); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	report, err := Write(c, Options{To: "mcr-dl", Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"world_size,message_bytes,backend", "4,1000,nccl", "4,1024,sccl", "4,2048,nccl", "4,4096,nccl", "4,8192,sccl"}
	if diff := cmp.Diff(want, linesOf(t, dir, report)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(report.Gaps) != 1 || report.Gaps[0].Bytes != 16384 || !strings.Contains(report.Gaps[0].Why, "measured with tile") {
		t.Errorf("gaps %+v", report.Gaps)
	}
	if len(report.Losses) != 1 || report.Losses[0].Bytes != 8192 || report.Losses[0].ExportedUS != 4 || !strings.Contains(report.Losses[0].Why, "measured with tile") {
		t.Errorf("losses %+v", report.Losses)
	}
	if !strings.Contains(strings.Join(report.Notes, "\n"), "reads no such table") {
		t.Errorf("notes %q", report.Notes)
	}
}

// TestMCRDLSizes holds the sizes of a table to the tensor that a rank hands in.
func TestMCRDLSizes(t *testing.T) {
	for name, want := range map[string]string{"allgather": "256", "gather": "256", "alltoall": "1024", "reducescatter": "1024", "scatter": "1024", "broadcast": "1024", "sendrecv": "", "allgatherv": ""} {
		plan := resultstest.Plan(1024)
		plan.Collective, plan.Placement = name, "in"
		c := resultstest.Create(t, plan)
		resultstest.Append(t, c, ncclTrials(t, c, resultstest.LibraryTrial("tree", 1024, 1))...)
		dir := t.TempDir()
		report, err := Write(c, Options{To: "mcr-dl", Out: dir})
		if want == "" {
			if !errors.Is(err, ErrNothingFits) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if lines := linesOf(t, dir, report); len(lines) != 2 || lines[1] != "4,"+want+",nccl" {
			t.Errorf("%s: %q", name, lines)
		}
	}
	if len(tuning.MCRDLCollectives()) != 8 {
		t.Errorf("operations %q", tuning.MCRDLCollectives())
	}
	for _, name := range tuning.MCRDLCollectives() {
		if _, err := collective.New(collective.Spec{Name: name, Ranks: 4, Chunks: 1}); err != nil {
			t.Error(err)
		}
	}
}

// What was measured under one name is never written under another: MPI's times are mpi's,
// and a library for which MCR-DL has no name is left out.
func TestMCRDLKeepsNames(t *testing.T) {
	plan := resultstest.Plan(1024, 2048, 4096)
	c := resultstest.Create(t, plan)
	resultstest.Append(t, c, resultstest.LibraryTrial("tree", 1024, 1), resultstest.LibraryTrial("tree", 2048, 1), resultstest.LibraryTrial("tree", 4096, 1)) // of the executor fake
	given := func(bytes int64, libraries ...results.LibraryTime) results.Point {
		return results.Point{Bytes: bytes, Placement: "in", Libraries: libraries}
	}
	mpi, vllm := results.LibraryTime{Library: "mpi", TimeUS: 6, Source: "osu.txt:4"}, results.LibraryTime{Library: "vllm", TimeUS: 3, Source: "v.csv:2"}
	tally := results.Tally{Finished: true, Points: []results.Point{given(1024, vllm, mpi), given(2048, vllm), given(4096, mpi)}}
	tally.Points[2].Baseline = &results.Baseline{Name: "rccl 2.22", Library: "rccl", TimeUS: 5}
	if err := c.SetTally(tally); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	report, err := Write(c, Options{To: "mcr-dl", Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"world_size,message_bytes,backend", "4,1024,mpi", "4,4096,nccl"}, linesOf(t, dir, report)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(report.Gaps) != 1 || report.Gaps[0].Bytes != 2048 || !strings.Contains(report.Gaps[0].Why, "MCR-DL has no backend of the name fake") {
		t.Errorf("gaps %+v", report.Gaps)
	}
}

// TestMCRDLTakesTheFaster draws times: the library where any of what it does is as
// fast as the fastest program that the runtime runs, that program elsewhere.
func TestMCRDLTakesTheFaster(t *testing.T) {
	row, err := msccl.Lookup("msccl")
	if err != nil {
		t.Fatal(err)
	}
	runtime := xmlReader{row}
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.OneOf(rapid.Float64Range(1, 4), rapid.Just(2.0))
		e := &xmlExport{plan: resultstest.Plan(1024), elem: 4, runtime: runtime, verdicts: map[[2]string]string{}}
		best := map[string]float64{}
		least := func(backend string, v float64) {
			if b, there := best[backend]; !there || v < b {
				best[backend] = v
			}
		}
		var all []table.Measured
		for i := range rapid.IntRange(0, 6).Draw(t, "trials") {
			x := resultstest.LibraryTrial(strings.Repeat("a", i+1), 1024, us.Draw(t, "time"))
			x.Reference = rapid.IntRange(0, 4).Draw(t, "reference") == 0
			backend := "nccl"
			if rapid.Bool().Draw(t, "program") {
				backend = "sccl"
				x.Source, x.TileBytes = "template", runtime.Tiles["LL"]
				refusal := rapid.SampledFrom([]string{"", "", "too many steps"}).Draw(t, "refusal")
				e.verdicts[[2]string{x.Program, x.Protocol}] = refusal
				if refusal != "" {
					backend = ""
				}
			}
			if backend != "" && !x.Reference {
				least(backend, x.TimesUS[0])
			}
			all = append(all, table.Measured{Trial: &x, TimeUS: x.TimesUS[0], CIUS: [2]float64{x.TimesUS[0], x.TimesUS[0]}})
		}
		slices.SortFunc(all, table.Compare)
		var others []mcrdlRow
		for range rapid.IntRange(0, 2).Draw(t, "libraries") {
			library := rapid.SampledFrom([]string{"nccl", "mpi", "vllm"}).Draw(t, "library")
			b := us.Draw(t, "its time")
			others = append(others, mcrdlRow{library: library, time: b})
			if library != "vllm" {
				least(library, b)
			}
		}
		row, why, err := e.backend(all, others, "nccl")
		if err != nil {
			t.Fatal(err)
		}
		want := 0.0
		for _, v := range best {
			if want == 0 || v < want {
				want = v
			}
		}
		if row.time != want || want > 0 && best[row.library] != want || row.library == "sccl" && (best["nccl"] == want || best["mpi"] == want) {
			t.Fatalf("%+v (%s), of %v", row, why, best)
		}
	})
}
