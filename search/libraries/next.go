package libraries

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
)

// Point is a call worth measuring next: a library under conditions, at a size.
type Point struct {
	measured.Row         // without times
	Again        bool    // it was measured before
	Gain         float64 // part of the time of one size that a measurement is expected to save, summed over sizes
}

// leastGain ends a list of points: 1 % of the time at one size.
const leastGain = 0.01

// mostPoints bounds the candidates times the sizes, for their covariances.
const mostPoints = 2048

// Next returns at most n points worth measuring among the sizes, which rise, the best first;
// fewer where the others are expected to save less than 1 % of the time at one size. A
// library that was measured under several conditions, such as of several kernels, is a
// candidate under each.
//
// A candidate has no time beyond its own sizes (At), so what comes first are the ends of its
// curve. Then it is the point with the largest knowledge gradient (Frazier, Powell, Dayanik
// 2009, doi 10.1287/ijoc.1080.0314): how much faster the choices at all sizes are expected
// to be by knowing it, where the times are the process of belief.go. Points after the first
// are chosen as if those before had the times expected of them. More than 2,048 points are
// an error.
func (c *Curves) Next(sizes []int64, n int) ([]Point, error) {
	candidates := c.candidates()
	if len(candidates)*len(sizes) > mostPoints {
		return nil, fmt.Errorf("%d candidates at %d sizes: want at most %d points; choose among conditions or sizes", len(candidates), len(sizes), mostPoints)
	}
	b := newBelief(candidates, sizes, c.rows)
	var points []Point
	for len(points) < n {
		best, gain := -1, 0.0
		end := false
		for at := range b.mean {
			g, e := b.gradient(at), b.extends(at)
			if best < 0 || e && !end || e == end && g > gain {
				best, gain, end = at, g, e
			}
		}
		if best < 0 || !end && gain < leastGain {
			break
		}
		row := *candidates[best/len(sizes)]
		row.Bytes, row.TimeUS, row.LowUS, row.HighUS, row.Runs, row.Source = sizes[best%len(sizes)], 0, 0, 0, 0, ""
		points = append(points, Point{Row: row, Again: b.measured[best], Gain: gain})
		b.measure(best, b.mean[best])
		b.measured[best] = true
	}
	return points, nil
}

// candidates are the query's libraries under their conditions, in order.
func (c *Curves) candidates() []*measured.Row {
	all := slices.Clone(c.rows)
	slices.SortStableFunc(all, compareCandidates)
	return slices.CompactFunc(all, func(a, b *measured.Row) bool { return compareCandidates(a, b) == 0 })
}

func compareCandidates(a, b *measured.Row) int {
	return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), slices.Compare(a.Conditions[:], b.Conditions[:]))
}

// extends reports whether a point is an end of the sizes that its candidate's measurements
// do not reach.
func (b *belief) extends(at int) bool {
	c, s := at/len(b.octave), at%len(b.octave)
	return s == 0 && b.first[c] > b.octave[s] || s == len(b.octave)-1 && b.last[c] < b.octave[s]
}

// gradient is the knowledge gradient of a point: the expected fall, over all sizes, of the
// logarithm of the time of what is chosen.
func (b *belief) gradient(at int) (gain float64) {
	sizes := len(b.octave)
	c, d := at/sizes, math.Sqrt(b.variance(at, at)+noise*noise)
	for s := range sizes {
		rival, own := b.rival(c, s), c*sizes+s
		if rival < 0 {
			continue
		}
		// What is measured moves the difference of the two means by a normal variable times spread.
		if spread := math.Abs(b.variance(at, own)-b.variance(at, rival)) / d; spread > 1e-12 {
			z := math.Abs(b.mean[own]-b.mean[rival]) / spread
			gain += spread * (math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) - z*math.Erfc(z/math.Sqrt2)/2)
		}
	}
	return gain
}

// rival is the point of the fastest other candidate at a size, or -1.
func (b *belief) rival(c, s int) int {
	best := -1
	for at := s; at < len(b.mean); at += len(b.octave) {
		if at/len(b.octave) != c && (best < 0 || b.mean[at] < b.mean[best]) {
			best = at
		}
	}
	return best
}
