package libraries

import (
	"math"
	"slices"

	"github.com/colltune/colltune/executor/measured"
)

// belief is what is known of the logarithm of the time of each point, a candidate at a size:
// point = candidate × sizes + size. It is a Gaussian process, the sum of three:
//
//	of all candidates   how times grow with the size: deviation 3, over 12 octaves
//	of a candidate      an offset: deviation 1
//	of a candidate      its own course: deviation 1, over 5 octaves
//
// with Matérn correlations of order 3/2 over octaves of the size, whose curves have slopes,
// and noise of 2 % on what is measured. The numbers were chosen on 2, 4 and 8 H200 and B200;
// docs/tables.md says what others give.
type belief struct {
	octave      []float64 // of the sizes: log2 of the bytes
	mean        []float64
	rows        [][]float64 // by measurement: (Cholesky factor)⁻¹ × its covariances with the points
	measured    []bool
	first, last []float64 // by candidate: the octaves between which it was measured
}

const (
	growth, growthOctaves = 3, 12
	offset                = 1
	course, courseOctaves = 1, 5
	noise                 = 0.02
)

// newBelief is the belief after the rows, each of one of the candidates, which are in order.
func newBelief(candidates []*measured.Row, sizes []int64, rows []*measured.Row) *belief {
	points := len(candidates) * len(sizes)
	b := &belief{mean: make([]float64, points), measured: make([]bool, points)}
	for _, bytes := range sizes {
		b.octave = append(b.octave, math.Log2(float64(bytes)))
	}
	b.first, b.last = make([]float64, len(candidates)), make([]float64, len(candidates))
	for c := range candidates {
		b.first[c], b.last[c] = math.Inf(1), math.Inf(-1)
	}
	centre := 0.0
	for _, r := range rows {
		centre += math.Log(r.TimeUS) / float64(len(rows))
	}
	for at := range b.mean {
		b.mean[at] = centre
	}
	for _, r := range rows {
		c, _ := slices.BinarySearchFunc(candidates, r, compareCandidates)
		octave := math.Log2(float64(r.Bytes))
		b.first[c], b.last[c] = min(b.first[c], octave), max(b.last[c], octave)
		if s, asked := slices.BinarySearch(sizes, r.Bytes); asked {
			at := c*len(sizes) + s
			b.measured[at] = true
			b.measure(at, math.Log(r.TimeUS))
		}
	}
	return b
}

// measure adds a measurement of a point, the logarithm of its time.
func (b *belief) measure(at int, log float64) {
	row := make([]float64, len(b.mean))
	d := math.Sqrt(b.variance(at, at) + noise*noise)
	for other := range row {
		row[other] = b.variance(at, other) / d
	}
	surprise := (log - b.mean[at]) / d
	for other := range row {
		b.mean[other] += surprise * row[other]
	}
	b.rows = append(b.rows, row)
	c, octave := at/len(b.octave), b.octave[at%len(b.octave)]
	b.first[c], b.last[c] = min(b.first[c], octave), max(b.last[c], octave)
}

// variance is the covariance of two points, after what was measured.
func (b *belief) variance(i, j int) float64 {
	octaves := math.Abs(b.octave[i%len(b.octave)] - b.octave[j%len(b.octave)])
	v := growth * growth * matern(octaves/growthOctaves)
	if i/len(b.octave) == j/len(b.octave) {
		v += offset*offset + course*course*matern(octaves/courseOctaves)
	}
	for _, row := range b.rows {
		v -= row[i] * row[j]
	}
	return v
}

func matern(d float64) float64 {
	r := math.Sqrt(3) * d
	return (1 + r) * math.Exp(-r)
}
