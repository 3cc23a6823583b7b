package simplex

import (
	"math"
	"slices"
)

// Integers returns the smallest whole numbers in the proportions of xs, none of which is
// negative, such as the dual values of a solution: each is within tolerance times the
// largest of them of its proportion. If that takes a number larger than finest, the
// largest is finest and all are rounded.
func Integers(xs []float64, finest int64, tolerance float64) []int64 {
	whole, most := make([]int64, len(xs)), 0.0
	if len(xs) > 0 {
		most = slices.Max(xs)
	}
	if most == 0 {
		return whole
	}
	misfit := 0 // the first that is too far from a whole number, if any
	for scale := 1.0; ; scale++ {
		far := func(x float64) bool {
			x *= scale / most
			return math.Abs(x-math.Round(x)) > tolerance*scale
		}
		if scale < float64(finest) {
			if far(xs[misfit]) {
				continue
			}
			if i := slices.IndexFunc(xs, far); i >= 0 {
				misfit = i
				continue
			}
		}
		for i, x := range xs {
			whole[i] = int64(math.Round(x * scale / most))
		}
		return whole
	}
}
