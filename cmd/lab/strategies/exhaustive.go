package strategies

import (
	"math/rand/v2"
	"slices"

	"github.com/colltune/colltune/autotune/model"
)

// listed measures all points of a space in an order known from the start.
type listed struct {
	space *Space
	order []Point
}

func newExhaustive(s *Space, _ Options) Strategy {
	l := &listed{space: s}
	for size := range s.Sizes {
		for c := range s.Configs {
			l.order = append(l.order, Point{Config: c, Size: size})
		}
	}
	return l.runnable()
}

// newRandom measures a configuration of every size before a second one of any.
func newRandom(s *Space, o Options) Strategy {
	r := rand.New(rand.NewPCG(uint64(o.Seed), 0))
	configs := make([][]int, len(s.Sizes))
	for size := range s.Sizes {
		configs[size] = r.Perm(len(s.Configs))
	}
	l := &listed{space: s}
	for i := range s.Configs {
		for _, size := range model.CoarseFirst(len(s.Sizes)) {
			l.order = append(l.order, Point{Config: configs[size][i], Size: size})
		}
	}
	return l.runnable()
}

// runnable leaves out what can't be run.
func (l *listed) runnable() *listed {
	l.order = slices.DeleteFunc(l.order, func(p Point) bool { return never(l.space, p) })
	return l
}

// Next returns the first points in order that are not measured.
func (l *listed) Next(history []Observation, n int) []Point {
	next := measuredBy(history).without(l.order)
	return next[:min(n, len(next))]
}

// Outlook says that a size is done with the last of its points.
func (l *listed) Outlook(history []Observation) []Outlook {
	m := measuredBy(history)
	return m.outlooks(l.space, func(size int) (Point, bool) {
		for _, p := range l.order {
			if _, known := m[p]; !known && p.Size == size {
				return p, true
			}
		}
		return Point{}, false
	})
}
