package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/search"
)

func TestExitCodes(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errors.New("disk full"), 1},
		{&os.PathError{Op: "open", Path: "x", Err: os.ErrPermission}, 1},
		{usagef("--jobs 0"), 2},
		{fmt.Errorf("%w: x", executor.ErrNotFound), 2},
		{&lang.Error{Msg: "stale"}, 2},
		{&search.NothingFound{Why: "none"}, 3},
		{&autotune.LimitError{Limit: "trials"}, 4},
		{usage(&lang.Error{Msg: "wrong result", Wrong: true}), 5},
		{&wrongError{errors.New("race")}, 5},
		{&executor.LostError{Last: errors.New("died")}, 6},
		{autotune.ErrInterrupted, 130},
		{fmt.Errorf("run: %w", context.Canceled), 130},
	} {
		if got := exitCode(tc.err); got != tc.code {
			t.Errorf("%v: exit %d, want %d", tc.err, got, tc.code)
		}
	}
}

func TestSheetForms(t *testing.T) {
	s := sheet{columns: []column{text("name"), number("time us"), number("busbw GB/s")}}
	s.add("a|b", "1.50", "20")
	s.add("longer, name", "12.25", "3")
	for _, tc := range []struct {
		form  string
		write func(*sheet, *bytes.Buffer) error
		want  string
	}{
		{"table", func(s *sheet, b *bytes.Buffer) error { return s.writeTable(b, look{}) },
			"name          time us  busbw GB/s\na|b              1.50          20\nlonger, name    12.25           3\n"},
		{"csv", func(s *sheet, b *bytes.Buffer) error { return s.writeCSV(b, look{}) },
			"name,time_us,busbw_gbps\na|b,1.50,20\n\"longer, name\",12.25,3\n"},
		{"md", func(s *sheet, b *bytes.Buffer) error { return s.writeMarkdown(b, look{}) },
			"| name | time us | busbw GB/s |\n| :-- | --: | --: |\n| a\\|b | 1.50 | 20 |\n| longer, name | 12.25 | 3 |\n"},
	} {
		var b bytes.Buffer
		if err := tc.write(&s, &b); err != nil || b.String() != tc.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tc.form, err, b.String(), tc.want)
		}
	}
}

func TestRanges(t *testing.T) {
	for want, ns := range map[string][]int{"": nil, "3": {3}, "0-7": {0, 1, 2, 3, 4, 5, 6, 7}, "0,2-3,9": {0, 2, 3, 9}} {
		if got := ranges(ns); got != want {
			t.Errorf("%v: %s, want %s", ns, got, want)
		}
	}
}

// Without a terminal no bar is drawn.
func TestNoProgressBarOffTerminals(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b)
	p.interval = 0 // the test says when it is looked
	p.last = p.last.Add(-lineInterval)
	p.event(autotune.Event{Kind: autotune.TrialDone, Bytes: 1 << 20, Cell: 2, Cells: 5, Trials: 8, Done: 4, Made: 30, Known: 3, Failed: 1, Incumbent: "ring", IncumbentUS: 12.345})
	p.last = time.Now().Add(time.Hour) // however long this takes, no line is due
	p.event(autotune.Event{Kind: autotune.CellFinished, Bytes: 1 << 20})
	p.done()
	if want := "1M (3 of 5): 33 trials, 1 failed, best ring 12.35 us\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// Any file of settings is read or refused without a panic, and every accepted setting is
// a known flag's.
func FuzzSettings(f *testing.F) {
	f.Add("topology = \"ring:8\"\njobs = 4\nfamily = [\"ring\", \"direct\"]\n")
	f.Add("jobs = [1, [2]]")
	f.Add("[jobs]\nx = 1")
	f.Add("fromat = 1")
	f.Add("[executor]\ndefault = \"x\"\n[executor.x]\nkind = \"sim\"\nlauncher = [\"sh\", 1]\nenv = {A = 1}")
	known := []string{"topology", "jobs", "family"}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "colltune.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		settings, err := readSettings(path, known)
		if err != nil && !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%q names no file", err)
		}
		for name, s := range settings.flags {
			if name != "executor" && !slices.Contains(known, name) || s.where == "" {
				t.Errorf("took %q = %v", name, s)
			}
		}
		for name, table := range settings.executors {
			if err := table.configure(name); err != nil && !strings.HasPrefix(err.Error(), path) {
				t.Errorf("%q names no file", err)
			}
		}
	})
}

// With a budget, a query takes at most a twentieth of it.
func TestShareOfBudget(t *testing.T) {
	for _, tc := range []struct{ timeout, budget, want time.Duration }{
		{time.Minute, 0, time.Minute},
		{time.Minute, time.Hour, time.Minute},
		{time.Minute, time.Minute, 3 * time.Second},
		{time.Minute, 200 * time.Millisecond, 10 * time.Millisecond},
	} {
		if got := queryTimeout(tc.timeout, tc.budget); got != tc.want {
			t.Errorf("of a budget of %v with a time limit of %v a query takes %v, want %v", tc.budget, tc.timeout, got, tc.want)
		}
	}
}
