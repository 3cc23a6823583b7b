package results

import (
	"math"
	"slices"

	"github.com/colltune/colltune/internal/lists"
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

// Much is the ratio of two medians that no luck of a trial is expected to explain.
const Much = 1.2

// Apart reports whether two configurations differ, by their trials, each a list of
// iterations' times. Every trial of one must have a lower median than every trial of the
// other, since the iterations of a trial share its luck; and RankSum of all iterations must
// be below Significant or, where trials have too few for that, the medians differ by Much
// in two trials of each.
func Apart(a, b [][]float64) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	fast, slow := medians(a), medians(b)
	if slices.Min(fast) > slices.Min(slow) {
		fast, slow = slow, fast
	}
	if slices.Max(fast) >= slices.Min(slow) {
		return false
	}
	return RankSum(slices.Concat(a...), slices.Concat(b...)) < Significant ||
		min(len(a), len(b)) >= 2 && slices.Min(slow) > Much*slices.Max(fast)
}

func medians(trials [][]float64) []float64 {
	return lists.Map(trials, Median)
}
