package msccl

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// TestDocument holds docs/runtimes.md against the table of runtimes, and runs
// its example.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../docs/runtimes.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, row := range []struct {
		head string
		of   func(*Runtime) any
	}{
		{"", func(r *Runtime) any { return r.Name }},
		{"repository", func(r *Runtime) any { return r.Repo }},
		{"steps in a threadblock, nops included", func(r *Runtime) any { return r.MaxSteps }},
		{"threadblocks on a GPU", func(r *Runtime) any { return r.MaxThreadblocks }},
		{"channels", func(r *Runtime) any { return r.MaxChannels }},
		{"files kept", func(r *Runtime) any { return r.MaxAlgorithms }},
		{"LL tile, bytes", func(r *Runtime) any { return r.Tiles["LL"] }},
		{"LL128 tile, bytes", func(r *Runtime) any { return r.Tiles["LL128"] }},
		{"Simple tile, bytes", func(r *Runtime) any { return r.Tiles["Simple"] }},
	} {
		line := "| " + row.head
		if row.head == "" {
			line = "|"
		}
		for _, rt := range runtimes {
			line += fmt.Sprintf(" | %v", row.of(rt))
		}
		if !strings.Contains(text, line+" |\n") {
			t.Errorf("no line %q", line+" |")
		}
	}
	_, example, _ := strings.Cut(text, "```xml\n")
	example, _, _ = strings.Cut(example, "```")
	f := read(t, example)
	v := Verify(f, verify.Options{})
	if !v.OK() {
		t.Error(v.Report.Err())
	}
	for _, rt := range []string{"executor-nccl", "rccl"} {
		if !v.Runtimes[rt].Accepts {
			t.Errorf("%s: %v", rt, v.Runtimes[rt].Why)
		}
	}
	p, _, err := f.Program(true)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, p, WriteOptions{Runtime: "rccl", Protocol: "LL", MinBytes: 8, MaxBytes: 65536}); err != nil || again.String() != example {
		t.Errorf("writes as\n%s%v", again.String(), err)
	}
}
