package strategies

import (
	"math"
	"slices"
)

// measured is what a history says of its points: the median of the times in µs; infinite
// where a trial failed.
type measured map[Point]float64

// measuredBy sums a history up.
func measuredBy(history []Observation) measured {
	times := map[Point][]float64{}
	for _, o := range history {
		us := o.TimeUS
		if o.Failed {
			us = math.Inf(1)
		}
		times[o.Point] = append(times[o.Point], us)
	}
	m := measured{}
	for p, all := range times {
		slices.Sort(all)
		m[p] = (all[(len(all)-1)/2] + all[len(all)/2]) / 2
	}
	return m
}

// best returns a size's fastest configuration, the first of equals, and its time; -1 and
// infinity if none has a time.
func (m measured) best(s *Space, size int) (config int, us float64) {
	config, us = -1, math.Inf(1)
	for c := range s.Configs {
		if t, ok := m[Point{Config: c, Size: size}]; ok && t < us {
			config, us = c, t
		}
	}
	return config, us
}

// outlooks are those of a strategy that expects nothing of the points that are left: a
// size's incumbent, and the next point to measure there; none: the size is done.
func (m measured) outlooks(s *Space, next func(size int) (Point, bool)) []Outlook {
	all := make([]Outlook, len(s.Sizes))
	for size := range all {
		o := Outlook{Size: size}
		o.Incumbent, _ = m.best(s, size)
		p, open := next(size)
		o.Next, o.Done = p, !open
		all[size] = o
	}
	return all
}

// without returns the points that are not measured.
func (m measured) without(points []Point) (rest []Point) {
	for _, p := range points {
		if _, known := m[p]; !known {
			rest = append(rest, p)
		}
	}
	return rest
}
