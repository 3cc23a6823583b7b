package calibrate

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
)

// TestSplitSpreads: whatever was measured, the two halves have about as many rows of each
// series and of each size, and no call is in both.
func TestSplitSpreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		programs := make([]*ir.Program, rapid.IntRange(1, 20).Draw(t, "programs"))
		for i := range programs {
			programs[i] = &ir.Program{}
		}
		var rows []Row
		for i := range rapid.IntRange(1, 3).Draw(t, "tables") {
			origin := rapid.SampledFrom(Origins[:]).Draw(t, "origin")
			for range rapid.IntRange(0, 60).Draw(t, "rows") {
				at := Point{Bytes: 1 << rapid.IntRange(0, 12).Draw(t, "size"), Program: programs[rapid.IntRange(0, len(programs)-1).Draw(t, "program")]}
				rows = append(rows, Row{Point: at, Origin: origin, Table: i})
			}
		}
		split(rows)
		type call struct {
			series
			bytes int64
		}
		halves, bySeries, bySize := map[call]bool{}, map[series]int{}, map[sizeOf]int{}
		for _, r := range rows {
			s := series{table: r.Table}
			if r.Origin == Program {
				s.program = r.Program
			}
			c := call{s, r.Bytes}
			judged, known := halves[c]
			if known && judged != r.Judged {
				t.Fatalf("a call of %d bytes is in both halves", r.Bytes)
			}
			if halves[c] = r.Judged; known {
				continue
			}
			step := 1
			if r.Judged {
				step = -1
			}
			bySeries[s] += step
			bySize[sizeOf{r.Table, r.Bytes}] += step
		}
		total := 0
		for s, n := range bySeries {
			if total += n; n < -4 || n > 4 {
				t.Errorf("%+v: %d more of one half", s, n)
			}
		}
		for z, n := range bySize {
			if n < -4 || n > 4 {
				t.Errorf("%+v: %d more of one half", z, n)
			}
		}
	})
}

// TestSplitTakesTurns: a table's sizes go to either half in turn, from the smallest on.
func TestSplitTakesTurns(t *testing.T) {
	var rows []Row
	for _, n := range []int64{8, 1, 4, 2, 16} {
		rows = append(rows, Row{Point: Point{Bytes: n}})
	}
	split(rows)
	got := ""
	for _, r := range rows {
		got += fmt.Sprintf("%d %t, ", r.Bytes, r.Judged)
	}
	if want := "8 true, 1 false, 4 false, 2 true, 16 false, "; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestErrors(t *testing.T) {
	var r Result
	for _, off := range []float64{0.1, 0.4, -0.2, 0.9} {
		r.Rows = append(r.Rows, Row{Point: Point{MeasuredUS: 10}, BeforeUS: 10 * (1 + off), AfterUS: 10})
	}
	if e := r.AllErrors(); math.Abs(e.Before.Median-0.3) > 1e-9 || e.After != (Error{}) || e.Rows != 4 {
		t.Errorf("off by %+v: want 0.3 and 0", e)
	}
	r.Rows[3].Judged, r.Rows[2].Judged = true, true
	e := r.Errors(Library, true)
	if want := (math.Log(1.9) - math.Log(0.8)) / 2; math.Abs(e.Before.Mean-want) > 1e-9 || e.Rows != 2 {
		t.Errorf("mean %+v: want %g", e, want)
	}
	if e := r.Errors(Program, true); e != (Errors{}) {
		t.Errorf("programs: %+v", e)
	}
}
