package model

import (
	"math"
	"math/rand/v2"
	"slices"
)

func (b *belief) outlook(size int) Outlook {
	o := Outlook{Size: size, Incumbent: -1}
	best, second := b.incumbent(size)
	if best == nil {
		o.Gain = 1
		if c := b.first(size); c != nil {
			o.Next = c.Point
			return o
		}
		o.Gain, o.Done = 0, true
		return o
	}
	o.Incumbent = best.Config
	most := 0.0
	for _, c := range b.sizes[size] {
		if v := b.worth(c, best, second); v > most {
			most, o.Next = v, c.Point
		}
	}
	o.Gain = 1 - math.Exp(-b.left(size, best))
	o.Done = o.Gain < b.m.options.Gain
	return o
}

// draws is how often the contenders' times are drawn to learn what is left to gain.
const draws = 256

// left is the expected improvement of a time's logarithm if all of a size's contenders
// became known: of the fastest over the incumbent, in draws of all of them together from a
// Student's t distribution with 5 degrees of freedom. The sum of what each is expected to
// gain would be several times that, since they are kin and one of them is chosen.
func (b *belief) left(size int, best *contender) (mean float64) {
	all := b.sizes[size]
	factor := b.together(all)
	normal, logs := make([]float64, len(all)), make([]float64, len(all))
	r := rand.New(rand.NewPCG(1, uint64(size)))
	for range draws {
		squares := 0.0
		for range 5 {
			x := r.NormFloat64()
			squares += x * x
		}
		for i := range normal {
			normal[i] = r.NormFloat64() * math.Sqrt(5/squares)
		}
		for i, row := range factor {
			logs[i] = all[i].mean
			for k, x := range row {
				logs[i] += x * normal[k]
			}
		}
		incumbent := logs[slices.Index(all, best)]
		least := incumbent
		for i, c := range all {
			if r.Float64() < c.succeeds {
				least = min(least, logs[i])
			}
		}
		mean += (incumbent - least) / draws
	}
	return mean
}

// together is the Cholesky factor of contenders' covariance after the evidence, by row.
func (b *belief) together(all []*contender) [][]float64 {
	factor := make([][]float64, len(all))
	for i, c := range all {
		factor[i] = make([]float64, i+1)
		for j, o := range all[:i+1] {
			v := b.of(c.Point, o.Point)
			for k, x := range c.solved {
				v -= x * o.solved[k]
			}
			for k, x := range factor[j][:j] {
				v -= factor[i][k] * x
			}
			if i == j {
				factor[i][i] = math.Sqrt(max(v, 1e-12))
			} else {
				factor[i][j] = v / factor[j][j]
			}
		}
	}
	return factor
}
