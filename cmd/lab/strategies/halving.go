package strategies

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/autotune/model"
)

// halving is successive halving where what a configuration is given more of is sizes: all
// configurations are measured at the ends of the range, the faster half of them in the
// middle, a quarter in the middles of the two halves, and so on. At least two are left.
//
//	size     1K   2K   4K   8K   16K
//	trials    n  n/4  n/2  n/4    n
type halving struct {
	space  *Space
	firsts []Point
	order  [][]int // configurations in the order of their trials, by size
}

func newHalving(s *Space, o Options) Strategy {
	h := &halving{space: s, firsts: firsts(s, o.Seed)}
	for size := range s.Sizes {
		h.order = append(h.order, ranked(s, size, o.Seed))
	}
	return h
}

// gap is two sizes, by index, and the one in the middle of them.
type gap struct{ left, middle, right int }

// gaps lists those of n sizes that have a middle, wide ones first.
func gaps(n int) (all []gap) {
	order := model.CoarseFirst(n)
	for k := 2; k < n; k++ {
		g := gap{0, order[k], n - 1}
		for _, end := range order[:k] {
			if end < g.middle {
				g.left = max(g.left, end)
			} else {
				g.right = min(g.right, end)
			}
		}
		all = append(all, g)
	}
	return all
}

// survivors lists the trials of a gap's middle: of the configurations that both its ends
// tried, the half that came closest to the best of either.
func (h *halving) survivors(m measured, g gap, tried [][]Point) (all []Point) {
	ratio := map[int]float64{}
	for _, end := range []int{g.left, g.right} {
		_, best := m.best(h.space, end)
		for _, p := range tried[end] {
			r, known := ratio[p.Config]
			if us := m[p] / best; !known || us < r {
				ratio[p.Config] = us
			}
		}
	}
	for _, c := range h.order[g.middle] {
		if p := (Point{Config: c, Size: g.middle}); !never(h.space, p) {
			if _, known := ratio[c]; known {
				all = append(all, p)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Point) int { return cmp.Compare(ratio[a.Config], ratio[b.Config]) })
	return all[:min(max(len(all)/2, 2), len(all))]
}

// Next returns the first trials of all sizes, and then those of the first size that lacks
// some, ends before middles.
func (h *halving) Next(history []Observation, n int) []Point {
	m := measuredBy(history)
	next := m.without(h.firsts)
	if len(next) == 0 {
		for _, points := range h.rungs(m) {
			if next = m.without(points); len(next) > 0 {
				break
			}
		}
	}
	return next[:min(n, len(next))]
}

// rungs lists the trials of each size, coarse ones first, as far as they are known: those
// of a middle are, once all of its gap's ends are measured.
func (h *halving) rungs(m measured) (all [][]Point) {
	last := len(h.space.Sizes) - 1
	tried := make([][]Point, last+1)
	for _, end := range slices.Compact([]int{last, 0}) {
		for _, c := range h.order[end] {
			if p := (Point{Config: c, Size: end}); !never(h.space, p) {
				tried[end] = append(tried[end], p)
			}
		}
		all = append(all, tried[end])
	}
	for _, g := range gaps(len(h.space.Sizes)) {
		if len(m.without(tried[g.left]))+len(m.without(tried[g.right])) > 0 {
			break
		}
		tried[g.middle] = h.survivors(m, g, tried)
		all = append(all, tried[g.middle])
	}
	return all
}

// Outlook says that a size is done once all its trials are made.
func (h *halving) Outlook(history []Observation) []Outlook {
	m := measuredBy(history)
	rungs := h.rungs(m)
	order := model.CoarseFirst(len(h.space.Sizes))
	return m.outlooks(h.space, func(size int) (Point, bool) {
		rung := slices.Index(order, size)
		if rung >= len(rungs) {
			return Point{Config: -1, Size: size}, true
		}
		if next := m.without(rungs[rung]); len(next) > 0 {
			return next[0], true
		}
		return Point{}, false
	})
}
