package results

import (
	"math"
	"slices"
)

// confidence is the probability with which an interval covers the median.
const confidence = 0.95

// Median returns the median of a sample, in its unit: the mean of the middle two if
// their number is even. The sample must not be empty; it is not changed.
func Median(sample []float64) float64 {
	s := slices.Sorted(slices.Values(sample))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1] + (s[n/2]-s[n/2-1])/2
}

// maxTimes limits the times kept of a trial. With 4096 quantiles, the ranks of the
// median and its interval are exact to a per mille of the sample. It is even.
const maxTimes = 4096

// Downsample reduces a sample to at most maxTimes values: evenly spaced quantiles, in
// rising order. The median is nearly the same, and its confidence interval is wider. A
// smaller sample is returned as it is.
func Downsample(sample []float64) []float64 {
	n := len(sample)
	if n <= maxTimes {
		return sample
	}
	s := slices.Sorted(slices.Values(sample))
	kept := make([]float64, maxTimes)
	for i := range kept {
		kept[i] = s[(2*i+1)*n/(2*maxTimes)]
	}
	return kept
}

// MedianCI returns an interval that contains the median with 95 % confidence, whatever
// the distribution: the narrowest symmetric pair of order statistics with enough
// binomial coverage. Below six values no pair has it, and the interval is the
// whole sample; with one value, both ends are that value.
func MedianCI(sample []float64) [2]float64 {
	s := slices.Sorted(slices.Values(sample))
	n := len(s)
	// outside is the chance that the median lies outside [s[i], s[n-1-i]], which
	// means that at most i values fall on one side of it.
	outside, k := 0.0, 0
	for i := 0; i < n/2; i++ {
		outside += 2 * binomialPMF(n, i)
		if outside > 1-confidence {
			break
		}
		k = i
	}
	return [2]float64{s[k], s[n-1-k]}
}

// binomialPMF is the probability of k successes in n trials with probability 1/2.
func binomialPMF(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	heads, _ := math.Lgamma(float64(k) + 1)
	tails, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(all - heads - tails - float64(n)*math.Ln2)
}
