package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fenceOf is the first block of a language on a page.
func fenceOf(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("the page has no block of %s", language)
	}
	return text
}

// The step that docs/workload.md works by hand is the command's, to the microsecond.
func TestWorkedStep(t *testing.T) {
	text, err := os.ReadFile("../../docs/workload.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, sum := range []string{"2 × 420 + 100 + 30 = **970 us**", "2 × 412 + 80 + 180 + 30 = **1114 us**", "2 × 380 + 100 + 30 = **890 us**", "2 × 372 + 100 + 30 = **874 us**"} {
		if !strings.Contains(page, sum) {
			t.Errorf("the page does not work out %s", sum)
		}
	}
	t.Chdir(t.TempDir())
	for name, language := range map[string]string{"step.toml": "toml", "worked.csv": "csv"} {
		if err := os.WriteFile(name, []byte(fenceOf(t, page, language)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, told bytes.Buffer
	if code := Main([]string{"table", "build", "--library", "worked.csv", "--out", "worked.table"}, strings.NewReader(""), io.Discard, &told); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &told)
	}
	if code := Main([]string{"workload", filepath.FromSlash("./step.toml"), "--table", "worked.table"}, strings.NewReader(""), &out, &told); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &told)
	}
	if want := fenceOf(t, page, "text"); out.String() != want {
		t.Errorf("the command prints\n%s\nthe page\n%s", &out, want)
	}
}
