package results

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMedianCI(t *testing.T) {
	upTo := func(n int) []float64 {
		s := make([]float64, n)
		for i := range s {
			s[n-1-i] = float64(i + 1)
		}
		return s
	}
	// The ranks are those of the textbooks' tables of the sign test.
	for _, c := range []struct {
		n         int
		median    float64
		low, high float64
	}{
		{1, 1, 1, 1}, {2, 1.5, 1, 2}, {5, 3, 1, 5}, {6, 3.5, 1, 6}, {8, 4.5, 1, 8}, {9, 5, 2, 8},
		{10, 5.5, 2, 9}, {20, 10.5, 6, 15}, {25, 13, 8, 18}, {50, 25.5, 18, 33}, {100, 50.5, 40, 61},
	} {
		s := upTo(c.n)
		if got := Median(s); got != c.median {
			t.Errorf("median of 1 to %d is %v, want %v", c.n, got, c.median)
		}
		if got := MedianCI(s); got != [2]float64{c.low, c.high} {
			t.Errorf("interval of 1 to %d is %v, want [%v %v]", c.n, got, c.low, c.high)
		}
		if s[0] != float64(c.n) {
			t.Fatal("the sample was reordered")
		}
	}
	if ci := MedianCI(upTo(20000)); ci[0] < 9800 || ci[1] > 10201 || ci[0] > 9900 {
		t.Errorf("interval of 1 to 20000 is %v", ci)
	}
}

// The interval covers the true median at least as often as it says, whatever
// the distribution.
func TestMedianCICovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{6, 9, 20, 41} {
		const rounds = 4000
		hits := 0
		for range rounds {
			s := make([]float64, n)
			for i := range s {
				s[i] = r.ExpFloat64()
			}
			if ci := MedianCI(s); ci[0] <= 0.6931471805599453 && 0.6931471805599453 <= ci[1] {
				hits++
			}
		}
		if share := float64(hits) / rounds; share < confidence-0.012 {
			t.Errorf("of samples of %d, %.3f cover the median, want %.2f", n, share, confidence)
		}
	}
}

func TestMedianLiesInItsInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SliceOfN(rapid.Float64Range(1e-3, 1e9), 1, 200).Draw(t, "sample")
		m, ci := Median(s), MedianCI(s)
		if !(ci[0] <= m && m <= ci[1]) {
			t.Fatalf("median %v outside of %v", m, ci)
		}
	})
}

// A long sample is thinned to one that tells the same median, and a wider interval.
func TestThin(t *testing.T) {
	var short, long []float64
	for i := range maxTimes {
		short = append(short, float64(i+1))
	}
	if got := Downsample(short); !slices.Equal(got, short) {
		t.Error("a short sample is changed")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_001 {
		long = append(long, 10+r.ExpFloat64())
	}
	kept := Downsample(long)
	if len(kept) != maxTimes || slices.Min(kept) < slices.Min(long) || slices.Max(kept) > slices.Max(long) {
		t.Fatalf("%d times from %g to %g", len(kept), slices.Min(kept), slices.Max(kept))
	}
	if got, want := Median(kept), Median(long); math.Abs(got-want) > 1e-3 {
		t.Errorf("median %g, want %g", got, want)
	}
	if got, want := MedianCI(kept), MedianCI(long); got[0] > want[0] || got[1] < want[1] {
		t.Errorf("interval %v, want one around %v", got, want)
	}
}
