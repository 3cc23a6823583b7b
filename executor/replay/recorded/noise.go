package recorded

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// Noise is how the times of a trial differ from the recorded ones: by one factor for all of
// them, which follows from the seed, the configuration, the size and the numbers of trials
// before. The zero value is none.
type Noise struct {
	Spread   float64 // standard deviation of the logarithm of the factor
	Drift    float64 // part by which times have grown after a hundred trials, of whatever
	Outliers float64 // part of the trials that take 2 to 5 times as long
	Seed     int64
}

// Validate returns an error for values that no machine has.
func (n Noise) Validate() error {
	switch {
	case !(n.Spread >= 0 && n.Spread <= 1):
		return fmt.Errorf("noise %g %%: want 0 to 100 %%", n.Spread*100)
	case !(n.Drift > -1 && n.Drift <= 1):
		return fmt.Errorf("drift %g %%: want more than -100, and at most 100 %%", n.Drift*100)
	case !(n.Outliers >= 0 && n.Outliers <= 1):
		return fmt.Errorf("outliers %g %%: want 0 to 100 %%", n.Outliers*100)
	}
	return nil
}

// None reports whether all times are as recorded.
func (n Noise) None() bool { return n.Spread == 0 && n.Drift == 0 && n.Outliers == 0 }

// Factor returns the factor of a trial of a configuration, by name, at a size. same is how
// many trials that configuration had at the size before, all how many there were of any.
func (n Noise) Factor(config string, bytes int64, same, all int) float64 {
	f := math.Pow(1+n.Drift, float64(all)/100)
	if n.Spread == 0 && n.Outliers == 0 {
		return f
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d\x00%d", config, bytes, same)
	r := rand.New(rand.NewPCG(uint64(n.Seed), h.Sum64()))
	f *= math.Exp(n.Spread * r.NormFloat64())
	if r.Float64() < n.Outliers {
		f *= 2 + 3*r.Float64()
	}
	return f
}

// TimeUS returns the median of the recorded times, in µs; 0: there is none.
func (c *Cell) TimeUS() float64 {
	n := len(c.TimesUS)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(c.TimesUS))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
