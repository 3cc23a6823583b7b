package report

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestScales holds axes to holding what is drawn on them, marks in order and inside.
func TestScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e12), 1, 8).Draw(t, "values")
		s := valueScale(values, rapid.Bool().Draw(t, "log"), 300, 20)
		for _, v := range values {
			if y := s.at(v); math.IsNaN(y) || y < 20-1e-6 || y > 300+1e-6 {
				t.Fatalf("%g lies at %g on %+v", v, y, s)
			}
		}
		marks := valueTicks(s)
		for i, m := range marks {
			if m.At < 20-1e-6 || m.At > 300+1e-6 || i > 0 && m.At >= marks[i-1].At || m.Label == "" {
				t.Fatalf("marks %v on %+v", marks, s)
			}
		}
		if len(marks) > 14 {
			t.Fatalf("%d marks on %+v", len(marks), s)
		}
	})
}

// TestMarks are axes as they were looked at.
func TestMarks(t *testing.T) {
	labels := func(marks []tick) (all []string) {
		for _, m := range marks {
			all = append(all, m.Label)
		}
		return all
	}
	same := func(got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("marks %q, want %q", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("marks %q, want %q", got, want)
			}
		}
	}
	sizes := []int64{1 << 10, 1 << 20, 1 << 30}
	same(labels(sizeTicks(sizeScale(sizes, 0, 100), sizes, 12)), "1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M", "64M", "256M", "1G")
	// As many marks as are wanted are not too many.
	same(labels(sizeTicks(sizeScale(sizes, 0, 100), sizes, 11)), "1K", "4K", "16K", "64K", "256K", "1M", "4M", "16M", "64M", "256M", "1G")
	same(labels(sizeTicks(sizeScale(sizes, 0, 100), sizes, 10)), "1K", "32K", "1M", "32M", "1G")
	sizes = []int64{1000}
	same(labels(sizeTicks(sizeScale(sizes, 0, 100), sizes, 12)), "1000")
	same(labels(valueTicks(valueScale([]float64{0.13, 283}, true, 100, 0))), "0.1", "1", "10", "100")
	same(labels(valueTicks(valueScale([]float64{1, 2.12}, false, 100, 0))), "1", "1.5", "2", "2.5")
	same(labels(valueTicks(valueScale([]float64{7}, true, 100, 0))), "5", "10")
}

// TestWhereValuesLie: halfway between the ends lies their mean, or where the axis
// is logarithmic the root of their product.
func TestWhereValuesLie(t *testing.T) {
	for _, c := range []struct {
		s    scale
		v    float64
		want float64
	}{
		{scale{min: 10, max: 30, from: 0, to: 100}, 20, 50},
		{scale{min: 1, max: 100, from: 0, to: 100, log: true}, 10, 50},
		{scale{min: 1, max: 100, from: 300, to: 20, log: true}, 10, 160},
		{scale{min: 1, max: 100, from: 300, to: 20}, 100, 20},
	} {
		if got := c.s.at(c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%g lies at %g on %+v, want %g", c.v, got, c.s, c.want)
		}
	}
}

func TestNamesText(t *testing.T) {
	names := make([]string, mostNames+3)
	for i := range names {
		names[i] = "a"
	}
	all := strings.Repeat("a, ", mostNames)
	for n, want := range map[int]string{1: "a", mostNames: strings.TrimSuffix(all, ", "), mostNames + 3: all + "3 others"} {
		if got := namesText(names[:n]); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}
