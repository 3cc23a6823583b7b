package columns_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/columns"
)

// Folded lines fit, and have every character but the blanks at which they were broken.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringOf(rapid.RuneFrom([]rune("ab/ -×"))).Draw(t, "line")
		width := rapid.IntRange(3, 40).Draw(t, "width")
		lines := columns.Fold(line, width, "  ")
		for _, part := range lines {
			if n := utf8.RuneCountInString(part); n > width {
				t.Errorf("%q has %d characters, want at most %d", part, n, width)
			}
		}
		without := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if got := without(strings.Join(lines, "")); got != without(line) {
			t.Errorf("%q became %q", line, lines)
		}
	})
	for line, want := range map[string]string{
		"one two three": "one two|  three",
		"/tmp/ab.jsonl": "/tmp/ab.|  jsonl",
		"abcdefghijkl":  "abcdefghi|  jkl",
		"short":         "short",
		"":              "",
	} {
		if got := strings.Join(columns.Fold(line, 9, "  "), "|"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// However long the cells, no line is longer than asked, and nothing is lost.
func TestPrintFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &columns.Sheet{}
		for range rapid.IntRange(1, 6).Draw(t, "columns") {
			s.Columns = append(s.Columns, columns.Column{Name: "head", Right: rapid.Bool().Draw(t, "right")})
		}
		letters := 4 * len(s.Columns)
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			var cells []string
			for range rapid.IntRange(1, len(s.Columns)).Draw(t, "cells") {
				cells = append(cells, strings.Repeat("x", rapid.IntRange(0, 150).Draw(t, "length")))
				letters += len(cells[len(cells)-1])
			}
			s.Add(cells...)
		}
		var b bytes.Buffer
		if err := s.Print(&b, columns.Width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns.Width {
				t.Errorf("%d characters: %s", n, line)
			}
		}
		if got := len(strings.Join(strings.Fields(b.String()), "")); got != letters {
			t.Errorf("%d letters, want %d:\n%s", got, letters, b.String())
		}
	})
}

// There are no columns that are wide or empty. What is the same in all rows is said once, and what
// differs above the rows that it is of.
func TestHeaded(t *testing.T) {
	s := &columns.Sheet{Columns: []columns.Column{columns.Text("system").OnceAbove(), columns.Number("ranks").OnceAbove(), columns.Number("us"), columns.Text("note"), columns.Text("by"), columns.Number("low").InWide()}}
	s.Add("a", "4", "1", "", "x", "0")
	s.Add("a", "4", "2", "", "y", "0")
	s.Add("a", "8", "3", "", "z", "0")
	some, once := s.Shown().Headed()
	var b bytes.Buffer
	if err := some.Print(&b, columns.Width); err != nil {
		t.Fatal(err)
	}
	if want := "us  by\nranks 4:\n 1  x\n 2  y\nranks 8:\n 3  z\n"; b.String() != want || once != "system a" {
		t.Errorf("%q and %q, want %q and %q", b.String(), once, want, "system a")
	}
}

// Columns are picked by their names in CSV, in the order given.
func TestPick(t *testing.T) {
	s := &columns.Sheet{Columns: []columns.Column{columns.Number("time us"), columns.Text("name")}}
	s.Add("1", "ring")
	some, err := s.Pick([]string{"name", "time_us"})
	if err != nil || strings.Join(some.Rows[0].Cells, " ") != "ring 1" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := s.Pick([]string{"tme_us"}); err == nil || !strings.Contains(err.Error(), "did you mean time_us?") {
		t.Errorf("%v, want the name that was meant", err)
	}
}

// The last cell of a short row runs to the end of the line, and folds there.
func TestShortRow(t *testing.T) {
	s := &columns.Sheet{Columns: []columns.Column{columns.Text("size"), columns.Number("us"), columns.Text("verdict")}}
	s.Add("1K", "14.5", "faster")
	s.Add("", "launch 58 %; half the launch")
	var b bytes.Buffer
	if err := s.Print(&b, 24); err != nil {
		t.Fatal(err)
	}
	if want := "size    us  verdict\n1K    14.5  faster\n      launch 58 %; half\n      the launch\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// A folded command, with its lines joined as a shell joins them, has the words that it had.
func TestFoldShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z/:=]{1,60}`), 1, 6).Draw(t, "words")
		width := rapid.IntRange(10, 40).Draw(t, "width")
		lines := columns.FoldShell(strings.Join(words, " "), width)
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%q has %d characters, want at most %d", line, n, width)
			}
		}
		joined := strings.ReplaceAll(strings.Join(lines, "\n"), "\\\n", "")
		if got := strings.Fields(joined); !slices.Equal(got, words) {
			t.Errorf("%q became %q", words, lines)
		}
	})
}

// A word in quotes is closed before the end of a line, and opened again.
func TestFoldShellQuotes(t *testing.T) {
	got := columns.FoldShell(`export A='my own files/x' B=it\'s`, 16)
	want := []string{`export \`, `  A='my own fi'\`, `'les/x' \`, `  B=it\'s`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
