package export

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// lines is a clock of straight times: of the library, and of every program.
type lines struct{ library, program func(bytes int64) float64 }

func (l lines) Library(_ string, sizes []int64) (map[int64]float64, error) {
	us := map[int64]float64{}
	for _, n := range sizes {
		us[n] = l.library(n)
	}
	return us, nil
}

func (l lines) Program(_ *ir.Program, _ *results.Trial, bytes int64) (float64, error) {
	return l.program(bytes), nil
}

// crossed is a campaign of one ring at 1K and 16K, beside a library's times.
func crossed(t testing.TB, us, library [2]float64) *results.Campaign {
	c := resultstest.Create(t, resultstest.Plan(1024, 16384))
	var points []results.Point
	for i, n := range []int64{1024, 16384} {
		if us[i] > 0 {
			resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "LL", 32768, n, us[i]))
		}
		points = append(points, results.Point{Bytes: n, Placement: "in", Baseline: &results.Baseline{Name: "library", TimeUS: library[i]}})
	}
	resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 7, true), "other", "LL", 32768, 16384, 1))
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 1, Tuned: 1, Points: points}); err != nil {
		t.Fatal(err)
	}
	return c
}

// A file ends where the library becomes faster: by the clock, or by what was measured on both
// sides.
func TestFilesEndWhereTheLibraryIsFaster(t *testing.T) {
	byHalf := lines{func(int64) float64 { return 10 }, func(n int64) float64 { return float64(n) / 410 }} // 4,100 bytes
	for _, tc := range []struct {
		name        string
		us, library [2]float64
		clock       Clock
		least, most int64
	}{
		{"straight to the next, where it is faster, too", [2]float64{5, 9}, [2]float64{10, 10}, nil, 16383, 16383},
		{"twice as fast and half as fast: midway in ratio", [2]float64{5, 20}, [2]float64{10, 10}, nil, 4095, 4096},
		{"not measured at the next: in proportion", [2]float64{5, 0}, [2]float64{10, 10}, nil, 2047, 2048},
		{"not measured at the next, and the library in proportion", [2]float64{5, 0}, [2]float64{10, 160}, nil, 16383, 16383},
		{"a clock", [2]float64{5, 9}, [2]float64{10, 10}, byHalf, 3585, 4100},
		{"a clock, always faster", [2]float64{5, 9}, [2]float64{10, 10}, lines{byHalf.library, func(int64) float64 { return 9 }}, 16383, 16383},
		{"a clock, never again", [2]float64{5, 9}, [2]float64{10, 10}, lines{byHalf.library, func(int64) float64 { return 11 }}, 1024, 1024},
	} {
		report, _ := exported(t, crossed(t, tc.us, tc.library), Options{To: "msccl-xml", Runtime: "executor-nccl", Clock: tc.clock})
		if most := report.Files[0].MaxBytes; most < tc.least || most > tc.most {
			t.Errorf("%s: served up to %d, want %d to %d", tc.name, most, tc.least, tc.most)
		}
		report, _ = exported(t, crossed(t, tc.us, tc.library), Options{To: "msccl-xml", Runtime: "executor-nccl", Clock: tc.clock, KeepSlower: true})
		if most := report.Files[0].MaxBytes; most != 16383 {
			t.Errorf("%s: served up to %d where slower programs are kept", tc.name, most)
		}
	}
}

// Sizes between two rise, are multiples of the granularity and end with the last.
func TestBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(1, 1<<40).Draw(t, "at")
		last := at + rapid.Int64Range(0, 1<<40).Draw(t, "more")
		granularity := rapid.Int64Range(1, 1<<20).Draw(t, "granularity")
		sizes := between(at, last, granularity)
		if !slices.IsSorted(sizes) || len(sizes) > 4*41+1 {
			t.Errorf("sizes %v", sizes)
		}
		for _, n := range sizes {
			if n <= at || n > last || n%granularity != 0 {
				t.Errorf("%d is no multiple of %d in (%d, %d]", n, granularity, at, last)
			}
		}
		if n := last - last%granularity; n > at && !slices.Contains(sizes, n) {
			t.Errorf("sizes %v lack the last, %d", sizes, n)
		}
	})
}
