package results

import (
	"math"
	"slices"
)

// Significant is the probability of chance (RankSum) below which two times differ.
const Significant = 0.05

// RankSum returns the probability that two samples of one distribution differ as much as
// a and b do, in either direction: the p-value of the test of Wilcoxon (Biometrics
// Bulletin 1, 1945) and of Mann and Whitney (Annals of Mathematical Statistics 18, 1947),
// by the normal approximation with corrections for continuity and for ties. It assumes no
// distribution, so that outliers count as no more than the largest values. An empty sample
// gives 1.
func RankSum(a, b []float64) float64 {
	n, m := float64(len(a)), float64(len(b))
	if n == 0 || m == 0 {
		return 1
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	rank := map[float64]float64{} // of each value, the mean of its places
	ties := 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j] == all[i] {
			j++
		}
		t := float64(j - i)
		rank[all[i]] = float64(i+j+1) / 2
		ties += t*t*t - t
		i = j
	}
	sum := 0.0
	for _, x := range a {
		sum += rank[x]
	}
	N := n + m
	variance := n * m / 12 * (N + 1 - ties/(N*(N-1)))
	if variance <= 0 {
		return 1 // all values are equal
	}
	off := max(math.Abs(sum-n*(N+1)/2)-0.5, 0)
	return math.Erfc(off / math.Sqrt(2*variance))
}
