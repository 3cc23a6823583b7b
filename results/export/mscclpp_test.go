package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// The fastest program that a plan can be made of is exported with its tile, and its cost
// against the winner is reported; every plan verifies.
func TestExportPlans(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(1024, 4096, 1<<20, 4<<20, 16<<20))
	ring, wide := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 3, 0, true)
	resultstest.Append(t, c,
		resultstest.Trial(t, c, ring, "ring", "LL", 32768, 1024, 5),
		resultstest.Trial(t, c, ring, "ring", "LL", 16384, 4096, 6), // packets are not cut: the same plan
		resultstest.Trial(t, c, ring, "ring", "LL128", 72000, 1<<20, 10),
		resultstest.Trial(t, c, ring, "ring", "Simple", 4096, 1<<20, 11),
		resultstest.Trial(t, c, ring, "ring", "Simple", 8192, 4<<20, 20),
		resultstest.Trial(t, c, wide, "wide", "Simple", 4096, 16<<20, 30),
	)
	out := t.TempDir()
	var stages []string
	r, err := Write(c, Options{To: "mscclpp-json", Out: out, Stage: func(what string, done, of int) {
		stages = append(stages, fmt.Sprintf("%s: %d of %d", what, done, of))
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wantStages []string
	for _, s := range []struct {
		what string
		of   int
	}{{Choosing, 5}, {Timing, 5}, {Writing, 3}} {
		for i := range s.of {
			wantStages = append(wantStages, fmt.Sprintf("%s: %d of %d", s.what, i, s.of))
		}
	}
	if !slices.Equal(stages, wantStages) {
		t.Errorf("stages %q; want %q", stages, wantStages)
	}
	want := []struct {
		name     string
		min, max uint64
		unit     int
	}{
		{"colltune-allreduce-4r-in-01-1K-4K-ring-LL.plan.json", 1024, 1<<20 - 1, 0},
		{"colltune-allreduce-4r-in-02-1M-ring-Simple.plan.json", 1 << 20, 4<<20 - 1, 4096},
		{"colltune-allreduce-4r-in-03-4M-ring-Simple.plan.json", 4 << 20, 16<<20 - 1, 8192},
	}
	if len(r.Files) != len(want) {
		t.Fatalf("%+v", r.Files)
	}
	for i, w := range want {
		f, err := os.Open(filepath.Join(out, r.Files[i].Name))
		if err != nil {
			t.Fatal(err)
		}
		p, err := mscclpp.Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		unit := 0
		for _, op := range p.GPUs[0].Threadblocks[0].Ops {
			unit = max(unit, op.Unit)
		}
		if r.Files[i].Name != w.name || p.Name+".plan.json" != w.name || p.MinBytes != w.min || p.MaxBytes != w.max || unit != w.unit || !p.InPlace {
			t.Errorf("%s: %q from %d to %d bytes, unit %d; want %+v", r.Files[i].Name, p.Name, p.MinBytes, p.MaxBytes, unit, w)
		}
		if v := mscclpp.Verify(p, verify.Options{}); !v.Accepts || len(v.Report.Findings) > 0 {
			t.Errorf("%s: %v %v", w.name, v.Why, v.Report.Findings)
		}
	}
	if len(r.Losses) != 1 || r.Losses[0].Bytes != 1<<20 || r.Losses[0].Why != "protocol LL128: plans have LL and Simple" && r.Losses[0].Why != "protocol LL128: plans have Simple and LL" {
		t.Errorf("losses %+v", r.Losses)
	}
	if len(r.Gaps) != 1 || r.Gaps[0].Bytes != 16<<20 || r.Gaps[0].Why != "its 12 chunks are no multiples of 16 bytes" {
		t.Errorf("gaps %+v", r.Gaps)
	}
	if load := strings.Join(r.Load, "\n"); !strings.Contains(load, "mpirun -np 4 python3 python/test/executor_test.py") || !strings.Contains(load, "--size 1024 --in_place --dtype float32") {
		t.Errorf("load:\n%s", load)
	}

	again := t.TempDir()
	if _, err := Write(c, Options{To: "mscclpp-json", Out: again}); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		a, _ := os.ReadFile(filepath.Join(out, w.name))
		b, err := os.ReadFile(filepath.Join(again, w.name))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s is another the second time (%v)", w.name, err)
		}
	}
}

// TestExportPlansOverNodes: between nodes messages go over ports.
func TestExportPlansOverNodes(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(1024))
	resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "Simple", 4096, 1024, 5))
	out := t.TempDir()
	r, err := Write(c, Options{To: "mscclpp-json", Out: out, Node: func(rank int) int { return rank / 2 }})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, r.Files[0].Name))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"channel_type": "port", "connected_to"`); n != 4 {
		t.Errorf("%d ranks have ports; want 4 of 4, in a ring over two nodes", n)
	}
}

// An export without any possible plan says why.
func TestNoPlans(t *testing.T) {
	for _, c := range []struct {
		change func(*results.Plan)
		want   string
	}{
		{func(p *results.Plan) { p.Op = "prod" }, "mscclpp sums, whatever a plan says"},
		{func(p *results.Plan) { p.DType = "f64" }, "mscclpp has no f64: it has bf16, f16, f32, i32, u32, u8"},
		{func(p *results.Plan) { p.Collective, p.Placement = "broadcast", "in" }, "no plans of broadcast: they are written for allgather, allreduce, alltoall and reducescatter"},
		{func(*results.Plan) {}, "nothing measured yet"},
	} {
		p := resultstest.Plan(1024)
		c.change(&p)
		_, err := Write(resultstest.Create(t, p), Options{To: "mscclpp-json", Out: filepath.Join(t.TempDir(), "x")})
		if !errors.Is(err, ErrNothingFits) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// A program whose plan the verifier cannot follow is replaced by another; a wrong plan
// ends the export.
func TestJudge(t *testing.T) {
	limit := verify.Finding{Kind: verify.Limit, Severity: verify.Error, Message: "orders take too much"}
	race := verify.Finding{Kind: verify.Race, Severity: verify.Error, Message: "two at once"}
	for _, c := range []struct {
		name     string
		findings []verify.Finding
		accepts  bool
		why      string
		planned  bool
	}{
		{"right", nil, true, "", true},
		{"not run", nil, false, "17 channels", false},
		{"too large", []verify.Finding{limit}, false, "its plan is too large to be verified: orders take too much", false},
		{"wrong", []verify.Finding{limit, race}, false, "two at once", true},
	} {
		report := verify.NewReport(0)
		for _, f := range c.findings {
			report.Add(f)
		}
		err := judge(&mscclpp.Verdict{Report: report, Accepts: c.accepts, Why: []string{"17 channels"}})
		var refused *notPlanned
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) || errors.As(err, &refused) == c.planned {
			t.Errorf("%s: %v; want %q, a plan all the same %t", c.name, err, c.why, c.planned)
		}
	}
}
