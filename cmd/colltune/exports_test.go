package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/export"
)

// system is what an exported file is judged on: the arguments that name it.
type system []string

// judgedSystems are those of TestExportsAreNeverSlower, the first ones in make test.
var judgedSystems = []system{
	{"-t", "dgx-a100"}, {"-t", "mi300x"},
	{"-t", "dgx-h100"}, {"-t", "dgx-b200"}, {"-t", "dgx-1"}, {"-t", "ndv2"}, {"-t", "l40s-4"}, {"-t", "frontier"},
	{"-t", "dgx-a100", "--nodes", "2"}, {"-t", "dgx-h100", "--nodes", "2"}, {"-t", "perlmutter", "--nodes", "2"}, {"-t", "torus:4x4"},
}

// formatsJudged are the exports of programs, by their arguments.
var formatsJudged = [][]string{
	{"--to", "msccl-xml", "--runtime", "msccl"}, {"--to", "msccl-xml", "--runtime", "executor-nccl"}, {"--to", "msccl-xml", "--runtime", "rccl"},
	{"--to", "mscclpp-json"}, {"--to", "ir"},
}

// Each exported program, run at each size that its file serves and between, is at least as
// fast as the library there. The library's time is that of another search's baseline.
func TestExportsAreNeverSlower(t *testing.T) {
	systems, calls := judgedSystems, []string{"allreduce", "alltoall", "allgather", "reducescatter"}
	sizes, narrow := sizesJudged{1 << 10, 4, 10}, []string{}
	if os.Getenv("COLLTUNE_LONG") == "" {
		systems, calls, sizes, narrow = systems[:2], calls[:2], sizesJudged{4 << 10, 16, 4}, []string{"--family", "ring,all-pairs,direct", "--instances", "8"}
	}
	for i, s := range systems {
		for j, call := range calls {
			if len(narrow) > 0 && i != j {
				continue // each system and each call once
			}
			t.Run(strings.TrimPrefix(strings.Join(s, " "), "-t ")+" "+call, func(t *testing.T) { s.judge(t, call, sizes, narrow) })
		}
	}
}

// sizesJudged are n sizes, each factor times the one before.
type sizesJudged struct {
	least     int64
	factor, n int64
}

func (z sizesJudged) flags(times int64) []string {
	least := z.least * times
	most := least * int64(math.Pow(float64(z.factor), float64(z.n-1)))
	return []string{"-b", units.Bytes(least).String(), "-e", units.Bytes(most).String(), "-f", strconv.FormatInt(z.factor, 10)}
}

func (s system) judge(t *testing.T, call string, z sizesJudged, narrow []string) {
	dir := t.TempDir()
	campaign := filepath.Join(dir, "campaign")
	search := func(folder string, more ...string) map[int64]float64 {
		var table struct {
			Rows []struct {
				Bytes    int64
				Baseline *float64 `json:"baseline_time_us"`
			}
		}
		args := append([]string{"search", "-c", call, "--campaign", filepath.Join(dir, folder), "-o", "json", "-q"}, s...)
		if code := try(t, &table, append(args, more...)...); code == exitNothing { // no such family here
			ask(t, &table, append(args, more[:6]...)...)
		}
		us := map[int64]float64{}
		for _, r := range table.Rows {
			if r.Baseline != nil {
				us[r.Bytes] = *r.Baseline
			}
		}
		return us
	}
	library := search("campaign", append(z.flags(1), narrow...)...)
	for _, times := range []int64{z.factor / 2, z.factor - 1} { // between
		for bytes, us := range search("between"+strconv.FormatInt(times, 10), append(z.flags(times), "--family", "ring,all-pairs,direct", "--instances", "1", "--channels", "1")...) {
			library[bytes] = us
		}
	}
	for _, format := range formatsJudged {
		if amd := s[1] == "mi300x" || s[1] == "frontier"; format[1] == "msccl-xml" && amd != (format[3] == "rccl") {
			continue // another vendor's library, with tiles of its own
		}
		var report export.Report
		out := filepath.Join(dir, strings.Join(format, ""))
		args := append([]string{"export", campaign, "--out", out, "-o", "json", "-q"}, format...)
		if code := try(t, &report, args...); code == exitNothing {
			continue // nothing of it can be exported here
		}
		t.Logf("%s: %v", strings.Join(format, " "), report.Summary)
		for _, f := range report.Files {
			s.judgeFile(t, campaign, out, f, library)
		}
	}
}

// judgeFile runs a file's program at the sizes whose library's time is known.
func (s system) judgeFile(t *testing.T, campaign, out string, f export.File, library map[int64]float64) {
	for bytes, us := range library {
		if bytes < f.MinBytes || bytes > f.MaxBytes || bytes%f.Granularity != 0 {
			continue
		}
		size, tile := strconv.FormatInt(bytes, 10), f.TileBytes
		if strings.HasSuffix(f.Name, ".plan.json") && f.Protocol != "Simple" {
			tile = max(tile, bytes/(f.Granularity/mscclpp.Alignment)) // packets are sent by the chunk
		}
		program := append([]string{filepath.Join(campaign, "programs", f.IR+".json"), "--protocol", f.Protocol, "--tile-bytes", strconv.FormatInt(tile, 10)}, s...)
		if strings.HasSuffix(f.Name, ".xml") {
			program = append([]string{filepath.Join(out, f.Name)}, s...)
		}
		var run struct {
			Rows []struct {
				TimeUS float64 `json:"time_us"`
			}
		}
		ask(t, &run, append([]string{"run", "-b", size, "-e", size, "-o", "json", "-q"}, program...)...)
		if got := run.Rows[0].TimeUS; got > us*1.001 {
			t.Errorf("%s at %s: %.2f us, and the library %.2f", f.Name, units.Bytes(bytes), got, us)
		}
	}
}

// ask runs a command that has to succeed, or to find nothing, and reads its JSON.
func ask(t *testing.T, into any, args ...string) {
	t.Helper()
	if code := try(t, into, args...); code != exitDone {
		t.Fatalf("colltune %s: exit code %d", strings.Join(args, " "), code)
	}
}

func try(t *testing.T, into any, args ...string) int {
	t.Helper()
	var out, told bytes.Buffer
	code := Main(args, strings.NewReader(""), &out, &told)
	if code != exitDone {
		t.Logf("colltune %s: %s", strings.Join(args, " "), &told)
		return code
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatal(err)
	}
	return code
}
