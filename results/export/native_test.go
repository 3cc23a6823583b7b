package export

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
	"github.com/google/go-cmp/cmp"
)

func TestExportsOfALibrary(t *testing.T) {
	c := resultstest.Library(t)
	report, files := exported(t, c, Options{To: "ir"})
	if len(report.Files) != 1 || len(files) != 2 {
		t.Errorf("%+v, %d files", report.Files, len(files))
	}
	if len(report.Gaps) != 3 || report.Gaps[0].Why != noProgram {
		t.Errorf("gaps %+v", report.Gaps)
	}
	report, _ = exported(t, c, Options{To: "msccl-xml"})
	if len(report.Files) != 1 || len(report.Gaps) != 3 || report.Gaps[0].Why != noProgram {
		t.Errorf("%+v", report)
	}
}

// A campaign with symmetric kernels says that what chooses them is no stable interface.
func TestSymmetricKernelsAreNoted(t *testing.T) {
	for algorithm, want := range map[string]bool{"symmetric": true, "ring": false} {
		c := resultstest.Create(t, resultstest.Plan())
		resultstest.Append(t, c, ncclTrials(t, c, resultstest.NativeTrial(algorithm, results.ProtocolAuto, map[string]string{"kernel": "AllReduce_AGxLL_R", "ctas": "32"}, 0, 1024, 5))...)
		report, _ := exported(t, c, Options{To: "mcr-dl"})
		if got := slices.Contains(report.Notes, symmetricKernels); got != want {
			t.Errorf("%s: notes %q", algorithm, report.Notes)
		}
	}
}

// ringAlone is a library that only runs rings.
func ringAlone(tuning.Scope, int64) ([]tuning.Config, error) {
	return []tuning.Config{{Library: "nccl", Kernel: "ring", Protocol: "Simple", Channels: 64}}, nil
}

// Sizes at which nothing is known to be faster than what NCCL runs by itself are its own: they
// have its rows, as all calls of the file's ranks have, since one without would run on one
// channel.
func TestTunerLeavesToNCCL(t *testing.T) {
	plan := resultstest.Plan(1024, 2048, 4096, 8192)
	c := resultstest.Create(t, plan)
	eight := map[string]string{"channels": "8"}
	for i, own := range []float64{5, 10, 12, 15} {
		resultstest.Append(t, c, ncclTrials(t, c, resultstest.NativeTrial("auto", results.ProtocolAuto, nil, 0, plan.Sizes[i], own),
			resultstest.NativeTrial("ring", "LL", eight, 8, plan.Sizes[i], []float64{6, 7, 9, 15}[i]))...)
	}
	report, files := exported(t, c, Options{To: "nccl-tuner-csv", Left: ringAlone})
	text := files["colltune-allreduce-4r-in-nccl-tuner.conf"]
	if !strings.Contains(text, "\nallreduce,2048,4096,ring,ll,8,1,4\n") && !strings.Contains(text, "\nallreduce,2048,8191,ring,ll,8,1,4\n") {
		t.Errorf("the sizes of 2K and 4K have no row\n%s", text)
	}
	var left []int64
	for _, g := range report.Gaps {
		left = append(left, g.Bytes)
	}
	if !slices.Equal(left, []int64{1024, 8192}) {
		t.Errorf("left %v of %+v", left, report.Gaps)
	}
	format, _ := tuning.Named("nccl-tuner-csv")
	reader, err := tuningtest.Read(format.Name, "f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, collective := range tuning.TunerCollectives {
		for _, bytes := range []int64{0, 1, 1024, 1 << 20, 1 << 62} {
			for _, ranks := range []int{4, 2} { // all, and a part
				chosen, ok := reader.Choose(tuning.Scope{Collective: collective, Ranks: ranks, Nodes: 1}, bytes)
				if !ok || chosen.Kernel != "ring" || chosen.Protocol != "Simple" || chosen.Channels != 64 {
					t.Errorf("%s of %d over %d ranks runs %+v %v", collective, bytes, ranks, chosen, ok)
				}
			}
		}
	}
	if chosen, ok := reader.Choose(tuning.Scope{Collective: "allreduce", Ranks: 3, Nodes: 1}, 1024); ok || chosen.Channels != 1 {
		t.Errorf("over other ranks: %+v %v", chosen, ok)
	}
	for _, kept := range []bool{false, true} {
		if _, err := Write(c, Options{To: "nccl-tuner-csv", Out: t.TempDir(), KeepSlower: kept}); !errors.Is(err, ErrNothingFits) {
			t.Errorf("without what NCCL runs by itself: %v", err)
		}
	}
	// Without any time of NCCL's own choice nothing is known to be faster.
	c = resultstest.Create(t, plan)
	resultstest.Append(t, c, ncclTrials(t, c, resultstest.NativeTrial("ring", "LL", eight, 8, 1024, 6))...)
	if _, err := Write(c, Options{To: "nccl-tuner-csv", Out: t.TempDir(), Left: ringAlone}); !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "--keep-slower") {
		t.Errorf("without a time of NCCL's own: %v", err)
	}
}

func TestExportTuner(t *testing.T) {
	c := resultstest.Library(t)
	out := t.TempDir()
	report, files := exported(t, c, Options{To: "nccl-tuner-csv", Out: out})
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
		// What NCCL runs by itself, of all else.
		"broadcast,0,9223372036854775807,ring,simple,64,1,4",
		"reduce,0,9223372036854775807,ring,simple,64,1,4",
		"allgather,0,9223372036854775807,ring,simple,64,1,4",
		"reducescatter,0,9223372036854775807,ring,simple,64,1,4",
		"allreduce,0,9223372036854775807,ring,simple,64,1,4",
		// And of two of the four GPUs.
		"broadcast,0,9223372036854775807,ring,simple,64,1,2",
		"reduce,0,9223372036854775807,ring,simple,64,1,2",
		"allgather,0,9223372036854775807,ring,simple,64,1,2",
		"reducescatter,0,9223372036854775807,ring,simple,64,1,2",
		"allreduce,0,9223372036854775807,ring,simple,64,1,2",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	var losses []string
	for _, l := range report.Losses {
		losses = append(losses, units.Bytes(l.Bytes).String()+": "+l.Why)
	}
	wantLosses := []string{
		"1K: it is NCCL's own choice",
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
	if _, again := exported(t, resultstest.Library(t), Options{To: "nccl-tuner-csv", Out: out}); again["colltune-allreduce-4r-in-nccl-tuner.conf"] != text {
		t.Error("an equal campaign exports something else")
	}
	// Nothing but programs, or a collective the tuner is not asked for.
	if _, err := Write(crossing(t), Options{To: "nccl-tuner-csv", Out: out}); !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "can name a program") {
		t.Errorf("programs only: %v", err)
	}
	p := resultstest.Plan()
	p.Collective, p.Placement = "alltoall", "out"
	if _, err := Write(resultstest.Create(t, p), Options{To: "nccl-tuner-csv", Out: out}); !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), "not asked for alltoall") {
		t.Errorf("alltoall: %v", err)
	}
}

// Tables that don't know placements have the times in place, and say so.
func TestTablesOfBothPlacements(t *testing.T) {
	for _, placement := range []string{"in", "both"} {
		plan := resultstest.Plan(1024, 2048)
		plan.Placement = placement
		c := resultstest.Create(t, plan)
		for _, n := range plan.Sizes {
			resultstest.Append(t, c, ncclTrials(t, c, resultstest.NativeTrial("ring", "LL", map[string]string{"channels": "8"}, 8, n, 5))...)
			if placement == "both" {
				out := resultstest.NativeTrial("nvlstree", "Simple", map[string]string{"channels": "16"}, 16, n, 1)
				out.Placement = "out"
				resultstest.Append(t, c, ncclTrials(t, c, out)...)
			}
		}
		for to, want := range map[string]string{
			"nccl-tuner-csv": "allreduce,1024,2048,ring,ll,8,1,4",
			"mcr-dl":         "4,1024,nccl\n4,2048,nccl",
		} {
			report, files := exported(t, c, Options{To: to})
			if len(report.Files) != 1 || !strings.Contains(files[report.Files[0].Name], "\n"+want+"\n") {
				t.Errorf("%s of %s: %q, want %s", to, placement, files, want)
			}
			told := strings.Contains(strings.Join(report.Notes, "\n"), "the times in place decide")
			if told != (placement == "both") {
				t.Errorf("%s of %s: notes %q", to, placement, report.Notes)
			}
		}
	}
}
