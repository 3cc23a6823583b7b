package model

import (
	"math"
	"strconv"
)

// The model says how the logarithm of a time, less that of its prior, varies over the
// space. It is a Gaussian process whose covariance is the sum of four rows, each a
// correlation of configurations times one of sizes:
//
//	row            of two configurations               of two sizes
//	all            1                                   over 8 octaves
//	kin            exp(-sum over traits of decay·d)    over params.octaves
//	configuration  1 if they are the same, else 0      over params.octaves
//	point          1 if they are the same, else 0      1 if they are the same, else 0
//
// where d is a trait's distance: 0 for equal values, |log2(a/b)| of numbers, and else 1. A
// decay of 0 makes a trait irrelevant: configurations that differ in it alone behave alike.
//
// A number of workers, such as CTAs, may jump: W units of work are W/n whole rounds of n
// workers, and what is left, W mod n, takes longer than it would in a round. If a unit has
// some number of bytes, time is smooth in the workers but for a part in proportion to their
// rest, (W mod n)/n:
//
//	row            of two configurations at their sizes
//	kin            exp(-sum over other traits of decay·d)·(exp(-d²/8) + rest·rest/2)
//	configuration  0
//
// The units are not known: these rows and those above are summed over all guesses, each
// times the probability that the evidence gives it (units.go).

// params are the model's hyperparameters.
type params struct {
	kin     float64   // standard deviation of the rows kin and configuration together
	own     float64   // the row configuration's part of their variance
	octaves float64   // the size's scale
	rough   float64   // standard deviation of the row point
	noise   float64   // relative standard deviation of one trial; 0: times are exact
	decay   []float64 // by trait
	units   []unit    // of work; none: no workers
}

// What is not learned.
const (
	allOctaves = 8    // scale of the row all
	allPrior   = 1    // its deviation where there is a prior,
	allNoPrior = 3    // and where there is none
	drift      = 0.1  // deviation of an earlier campaign's time from this one's
	surprise   = 4    // standardised innovations beyond it are taken for outliers
	kinPrior   = 0.15 // first guesses of params.kin, with a prior
	kinNoPrior = 1    // and without
)

// firstGuess are the hyperparameters before any trial.
func (s *Space) firstGuess() params {
	p := params{kin: kinNoPrior, own: 0.1, octaves: 6, rough: 0.03, noise: 0.03, decay: make([]float64, len(s.Traits))}
	if s.PriorUS != nil {
		p.kin = kinPrior
	}
	for i := range p.decay {
		p.decay[i] = 0.5
	}
	return p
}

// kinship is the traits of a space, made fit for computing.
type kinship struct {
	value   [][]int       // by trait and configuration, an index into what is there
	apart   [][][]float64 // by trait and two values: their distance
	blind   []bool        // by configuration: it lacks a prior where it can be run, and others have one
	octave  []float64     // of a size: log2 of bytes
	bytes   []float64     // of a size
	configs int

	workers int       // the trait that is a number of workers; -1: none
	count   []float64 // of workers, by the index of their value; 0: it is no number
}

// kinshipOf numbers the values of each trait.
func kinshipOf(s *Space) *kinship {
	k := &kinship{configs: len(s.Configs), workers: -1}
	for t := range s.Traits {
		index, names := map[string]int{}, []string(nil)
		values := make([]int, len(s.Configs))
		for c := range s.Configs {
			name := s.Configs[c].Traits[t]
			if _, ok := index[name]; !ok {
				index[name] = len(names)
				names = append(names, name)
			}
			values[c] = index[name]
		}
		k.value = append(k.value, values)
		k.apart = append(k.apart, distances(names))
		if count := counts(names); len(count) > len(k.count) {
			k.workers, k.count = t, count
		}
	}
	for c := range s.Configs {
		lacks := false
		for size := range s.Sizes {
			lacks = lacks || s.PriorUS != nil && s.PriorUS[c][size] == 0 && !s.never(Point{c, size})
		}
		k.blind = append(k.blind, lacks)
	}
	for _, b := range s.Sizes {
		k.bytes = append(k.bytes, float64(b))
		k.octave = append(k.octave, math.Log2(float64(b)))
	}
	return k
}

// distances are those of a trait's values.
func distances(names []string) [][]float64 {
	all := make([][]float64, len(names))
	for i := range all {
		all[i] = make([]float64, len(names))
		for j := range all[i] {
			a, errA := strconv.ParseFloat(names[i], 64)
			b, errB := strconv.ParseFloat(names[j], 64)
			switch {
			case i == j:
			case errA == nil && errB == nil && a > 0 && b > 0:
				all[i][j] = math.Abs(math.Log2(a / b))
			default:
				all[i][j] = 1
			}
		}
	}
	return all
}

// covariance is the table of rows with values for its hyperparameters.
type covariance struct {
	*kinship
	params
	all2      float64     // variance of the row all
	deviation []float64   // by configuration: kin, or kinNoPrior if it lacks a prior
	near      [][]float64 // by two sizes: correlation over params.octaves
	wide      [][]float64 // the same over allOctaves
	rows      map[[3]int][]float64
}

// with gives the rows their hyperparameters.
func (k *kinship) with(p params, all float64) *covariance {
	c := &covariance{kinship: k, params: p, all2: all * all, rows: map[[3]int][]float64{}}
	for _, lacks := range k.blind {
		if lacks {
			c.deviation = append(c.deviation, kinNoPrior)
		} else {
			c.deviation = append(c.deviation, p.kin)
		}
	}
	c.near, c.wide = k.sizes(p.octaves), k.sizes(allOctaves)
	return c
}

// sizes is the Matérn 3/2 correlation of all pairs of sizes.
func (k *kinship) sizes(scale float64) [][]float64 {
	all := make([][]float64, len(k.octave))
	for i := range all {
		all[i] = make([]float64, len(k.octave))
		for j := range all[i] {
			d := math.Sqrt(3) * math.Abs(k.octave[i]-k.octave[j]) / scale
			all[i][j] = (1 + d) * math.Exp(-d)
		}
	}
	return all
}

// alike is the covariance of the configurations of two points, as if their sizes were equal,
// without the row all.
func (c *covariance) alike(a, b Point) float64 {
	v, others := c.deviation[a.Config]*c.deviation[b.Config], 0.0
	for t, decay := range c.decay {
		if t != c.workers {
			others += decay * c.distance(t, a, b)
		}
	}
	still := 1.0
	if a.Config != b.Config {
		still = 1 - c.own
	}
	if c.workers < 0 {
		return v * still * math.Exp(-others)
	}
	d, of := c.distance(c.workers, a, b), c.value[c.workers]
	still *= math.Exp(-c.decay[c.workers] * d)
	smooth, sum := math.Exp(-d*d/8), 0.0
	for _, u := range c.units {
		if u.rests == nil {
			sum += u.weight * still
		} else {
			sum += u.weight * (smooth + u.rests[a.Size][of[a.Config]]*u.rests[b.Size][of[b.Config]]/2)
		}
	}
	return v * math.Exp(-others) * sum
}

// distance is that of two points in a trait.
func (c *covariance) distance(trait int, a, b Point) float64 {
	of := c.value[trait]
	return c.apart[trait][of[a.Config]][of[b.Config]]
}

// row is alike of a point and all configurations at a size. It is kept.
func (c *covariance) row(a Point, size int) []float64 {
	key := [3]int{a.Config}
	if c.workers >= 0 {
		key = [3]int{a.Config, a.Size, size}
	}
	if r := c.rows[key]; r != nil {
		return r
	}
	r := make([]float64, c.configs)
	for b := range r {
		r[b] = c.alike(a, Point{b, size})
	}
	c.rows[key] = r
	return r
}

// of is the covariance of two points.
func (c *covariance) of(a, b Point) float64 {
	v := c.all2*c.wide[a.Size][b.Size] + c.alike(a, b)*c.near[a.Size][b.Size]
	if a == b {
		v += c.rough * c.rough
	}
	return v
}
