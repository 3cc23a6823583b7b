package strategies

import (
	"math"
	"slices"
	"strconv"
)

// descent is coordinate descent, as AutoCCL's (NSDI 2025): from a size's fastest
// configuration it measures those that differ in one trait, goes on from the fastest, and
// takes the next trait, until a round of all traits brings no more. The sizes follow one
// another, and each starts from the last one's winner if that is faster than its own first.
type descent struct {
	space  *Space
	firsts []Point
	values [][]string // by trait, rising where they are numbers
	steps  []bool     // by trait: its values are numbers, of which the next ones are tried
}

func newDescent(s *Space, o Options) Strategy {
	d := &descent{space: s, firsts: firsts(s, o.Seed)}
	for t := range s.Traits {
		var values []string
		for c := range s.Configs {
			if v := s.Configs[c].Traits[t]; !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		numbers := true
		for _, v := range values {
			_, err := strconv.ParseFloat(v, 64)
			numbers = numbers && err == nil
		}
		if numbers {
			slices.SortFunc(values, func(a, b string) int {
				x, _ := strconv.ParseFloat(a, 64)
				y, _ := strconv.ParseFloat(b, 64)
				return int(math.Copysign(1, x-y))
			})
		}
		d.values, d.steps = append(d.values, values), append(d.steps, numbers)
	}
	return d
}

// neighbours lists the points at which a configuration would have other values of a trait,
// and as few other differences as may be.
func (d *descent) neighbours(of Point, trait int) (all []Point) {
	own := d.space.Configs[of.Config].Traits
	values := d.values[trait]
	if d.steps[trait] {
		i := slices.Index(values, own[trait])
		values = values[max(i-1, 0):min(i+2, len(values))]
	}
	for _, v := range values {
		closest, fewest := Point{}, math.MaxInt
		for c := range d.space.Configs {
			p, traits := Point{Config: c, Size: of.Size}, d.space.Configs[c].Traits
			if v == own[trait] || traits[trait] != v || never(d.space, p) {
				continue
			}
			differences := 0
			for t := range traits {
				if traits[t] != own[t] {
					differences++
				}
			}
			if differences < fewest {
				closest, fewest = p, differences
			}
		}
		if fewest < math.MaxInt {
			all = append(all, closest)
		}
	}
	return all
}

// walk follows the descent of a size through what is measured, and returns the points that
// it needs next; none: it is at its end.
func (d *descent) walk(m measured, size int) (next []Point) {
	at, us := Point{Config: -1, Size: size}, math.Inf(1)
	try := func(p Point) {
		if t, known := m[p]; !known {
			next = append(next, p)
		} else if t < us {
			at, us = p, t
		}
	}
	for _, p := range d.firsts {
		if p.Size == size {
			try(p)
		}
	}
	if size > 0 {
		if last, _ := m.best(d.space, size-1); last >= 0 && !never(d.space, Point{Config: last, Size: size}) {
			try(Point{Config: last, Size: size})
		}
	}
	for still := 0; at.Config >= 0 && len(next) == 0 && still < len(d.values); {
		for trait := range d.values {
			before := at
			for _, p := range d.neighbours(before, trait) {
				try(p)
			}
			if len(next) > 0 {
				return next
			}
			if still++; at != before {
				still = 0
			}
		}
	}
	return next
}

// Next returns the first trials of all sizes, and then what the first size whose descent is
// not at its end needs.
func (d *descent) Next(history []Observation, n int) []Point {
	m := measuredBy(history)
	next := m.without(d.firsts)
	for size := 0; len(next) == 0 && size < len(d.space.Sizes); size++ {
		next = d.walk(m, size)
	}
	return next[:min(n, len(next))]
}

// Outlook says that a size is done at the end of its descent.
func (d *descent) Outlook(history []Observation) []Outlook {
	m := measuredBy(history)
	return m.outlooks(d.space, func(size int) (Point, bool) {
		if next := d.walk(m, size); len(next) > 0 {
			return next[0], true
		}
		return Point{}, false
	})
}
