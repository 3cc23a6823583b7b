package model

import (
	"math"
	"slices"
)

// evidence is all trials of one point that have a time.
type evidence struct {
	Point
	earlier bool
	logs    []float64 // of the times, each less the mean before any trial; rising
}

// centre is what the trials say: their median, or the mean of two.
func (e *evidence) centre() float64 {
	n := len(e.logs)
	return (e.logs[(n-1)/2] + e.logs[n/2]) / 2
}

// variance is that of the centre where one trial has the noise given. A median's is larger
// than a mean's; two that disagree are both in doubt until there is a third.
func (e *evidence) variance(noise float64) float64 {
	n := len(e.logs)
	v := noise * noise / float64(n)
	switch gap := e.logs[n-1] - e.logs[0]; {
	case n > 2:
		v *= 1.4
	case gap > surprise*math.Sqrt2*noise:
		v += gap * gap / 4
	}
	if e.earlier {
		v += drift * drift
	}
	return v
}

// repeats is the logarithm of the likelihood of the differences between a point's trials,
// of which one beyond three deviations counts as if it had three.
func (e *evidence) repeats(noise float64) (log float64) {
	n := len(e.logs)
	if noise == 0 {
		return 0
	}
	for _, x := range e.logs {
		d := min(math.Abs(x-e.centre())/noise, 3)
		log -= d * d / 2
	}
	return log - float64(n-1)*math.Log(noise)
}

// posterior is the model after the evidence: the Cholesky factor of its covariance.
type posterior struct {
	*covariance
	data   []evidence
	factor [][]float64 // lower triangle, by row
	z      []float64   // standardised innovations: factor⁻¹ × centres
	alpha  []float64   // covariance⁻¹ × centres
}

// given conditions the model on the evidence, in order. An innovation beyond surprise is
// an outlier until the point is measured again, unless times are exact: its variance grows
// by its own square.
func (c *covariance) given(data []evidence) *posterior {
	p := &posterior{covariance: c, data: data, z: make([]float64, len(data))}
	for i := range data {
		row, rest, v := p.solve(c.cross(data, i)), data[i].centre(), c.before(&data[i])
		for j, x := range row {
			rest -= x * p.z[j]
			v -= x * x
		}
		v += data[i].variance(c.noise)
		if c.noise > 0 && len(data[i].logs) == 1 && rest*rest > surprise*surprise*v {
			v += rest * rest
		}
		d := math.Sqrt(v)
		p.factor = append(p.factor, append(row, d))
		p.z[i] = rest / d
	}
	return p
}

// before is the variance of a point before all evidence.
func (c *covariance) before(e *evidence) float64 {
	v := c.of(e.Point, e.Point)
	if e.earlier {
		v += c.all2
	}
	return v
}

// cross is the covariance of evidence i and all before it. Those of the earlier campaign
// share an offset.
func (c *covariance) cross(data []evidence, i int) []float64 {
	row := make([]float64, i, i+1)
	for j := range row {
		row[j] = c.of(data[i].Point, data[j].Point)
		if data[i].earlier && data[j].earlier {
			row[j] += c.all2
		}
	}
	return row
}

// solve replaces b by factor⁻¹ × b.
func (p *posterior) solve(b []float64) []float64 {
	for i := range b {
		row := p.factor[i]
		x := b[i]
		for j, y := range row[:i] {
			x -= y * b[j]
		}
		b[i] = x / row[i]
	}
	return b
}

// likelihood is the logarithm of that of the evidence, up to a constant.
func (p *posterior) likelihood() (log float64) {
	for i, z := range p.z {
		log -= z*z/2 + math.Log(p.factor[i][i])
		log += p.data[i].repeats(p.noise)
	}
	return log
}

// weights solves for alpha, once.
func (p *posterior) weights() []float64 {
	if p.alpha == nil {
		p.alpha = slices.Clone(p.z)
		for i := len(p.alpha) - 1; i >= 0; i-- {
			p.alpha[i] /= p.factor[i][i]
			for j := range i {
				p.alpha[j] -= p.factor[i][j] * p.alpha[i]
			}
		}
	}
	return p.alpha
}

// means are those of all points, by size and configuration.
func (p *posterior) means() [][]float64 {
	all := make([][]float64, len(p.octave))
	alpha := p.weights()
	for s := range all {
		all[s] = make([]float64, p.configs)
		common := 0.0
		for i := range p.data {
			e := p.data[i].Point
			common += alpha[i] * p.all2 * p.wide[s][e.Size]
			w := alpha[i] * p.near[s][e.Size]
			for c, v := range p.row(e, s) {
				all[s][c] += w * v
			}
		}
		for c := range all[s] {
			all[s][c] += common
		}
	}
	for i := range p.data {
		all[p.data[i].Size][p.data[i].Config] += alpha[i] * p.rough * p.rough
	}
	return all
}

// spreads bound the standard deviations of all points from above, by size and
// configuration, each by the one point of the evidence that tells most of it. The row all
// is left out: it moves all configurations alike.
func (p *posterior) spreads() [][]float64 {
	all := make([][]float64, len(p.octave))
	for s := range all {
		all[s] = make([]float64, p.configs)
		for i := range p.data {
			e := &p.data[i]
			w := p.near[s][e.Size] * p.near[s][e.Size] / (p.alike(e.Point, e.Point) + p.rough*p.rough + e.variance(p.noise))
			for c, v := range p.row(e.Point, s) {
				all[s][c] = max(all[s][c], w*v*v)
			}
		}
		for c, v := range all[s] {
			at := Point{c, s}
			all[s][c] = math.Sqrt(max(p.alike(at, at)-v, 0))
		}
	}
	return all
}
