package results

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The approximation is near the exact test, which counts all ways to divide the values
// into two samples.
func TestRankSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		a, b := make([]float64, 5+r.IntN(3)), make([]float64, 5+r.IntN(3))
		shift := r.Float64() * 2
		for i := range a {
			a[i] = math.Round(r.NormFloat64()*4) / 4 // some values tie
		}
		for i := range b {
			b[i] = math.Round((r.NormFloat64()+shift)*4) / 4
		}
		got, want := RankSum(a, b), exactRankSum(a, b)
		if math.Abs(got-want) > 0.055 {
			t.Errorf("%v and %v: %.4f, exactly %.4f", a, b, got, want)
		}
		if back := RankSum(b, a); math.Abs(back-got) > 1e-12 {
			t.Errorf("%v and %v: %v, and %v the other way round", a, b, got, back)
		}
	}
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{nil, []float64{1}, 1},
		{[]float64{2, 2}, []float64{2, 2, 2}, 1},
		{[]float64{1}, []float64{2}, 1},
	} {
		if got := RankSum(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestApart(t *testing.T) {
	steady := func(us float64) []float64 { return []float64{us, us + 0.1, us + 0.2, us + 0.3, us + 0.4} }
	for _, c := range []struct {
		name string
		a, b [][]float64
		want bool
	}{
		{"no trial", nil, [][]float64{steady(10)}, false},
		{"a trial each", [][]float64{steady(10)}, [][]float64{steady(11)}, true},
		{"iterations overlap", [][]float64{{10, 12, 14}}, [][]float64{{11, 13, 15}}, false},
		{"the trials' luck varies as much", [][]float64{steady(10), steady(12)}, [][]float64{steady(11), steady(13)}, false},
		{"all trials below", [][]float64{steady(10), steady(11)}, [][]float64{steady(12), steady(13)}, true},
		{"one time a trial is no proof", [][]float64{{10}}, [][]float64{{20}}, false},
		{"two are, of much", [][]float64{{10}, {10.5}}, [][]float64{{13}, {14}}, true},
		{"two of less", [][]float64{{10}, {10.5}}, [][]float64{{11}, {12}}, false},
		{"four of less", [][]float64{{10}, {10.5}, {10.2}, {10.4}}, [][]float64{{11}, {12}, {11.5}, {12.5}}, true},
	} {
		if got, back := Apart(c.a, c.b), Apart(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%s: %v, and %v the other way round, want %v", c.name, got, back, c.want)
		}
	}
}

// exactRankSum is the part of all divisions of the values whose rank sum is as far from
// the mean as that of a.
func exactRankSum(a, b []float64) float64 {
	all := slices.Concat(a, b)
	ranks := make([]float64, len(all))
	for i, x := range all {
		for _, y := range all {
			switch {
			case y < x:
				ranks[i]++
			case y == x:
				ranks[i] += 0.5
			}
		}
	}
	mean := 0.0
	for _, x := range ranks {
		mean += x * float64(len(a)) / float64(len(all))
	}
	off := func(sum float64) float64 { return math.Abs(sum - mean) }
	seen := 0.0
	for _, x := range ranks[:len(a)] {
		seen += x
	}
	as, of := 0, 0
	for set := range 1 << len(all) {
		n, sum := 0, 0.0
		for i, x := range ranks {
			if set>>i&1 == 1 {
				n, sum = n+1, sum+x
			}
		}
		if n == len(a) {
			of++
			if off(sum) >= off(seen)-1e-9 {
				as++
			}
		}
	}
	return float64(as) / float64(of)
}
