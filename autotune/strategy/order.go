package strategy

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// gap is two sizes, by index, and the one in the middle of them.
type gap struct{ left, middle, right int }

// gaps lists those of the sizes 0 to last that have a middle, wide ones first.
func gaps(last int) (all []gap) {
	level := [][2]int{{0, last}}
	for len(level) > 0 {
		var finer [][2]int
		for _, g := range level {
			if middle := (g[0] + g[1]) / 2; middle > g[0] {
				all = append(all, gap{g[0], middle, g[1]})
				finer = append(finer, [2]int{g[0], middle}, [2]int{middle, g[1]})
			}
		}
		level = finer
	}
	return all
}

// CoarseFirst orders n sizes: the last, the first, then the middles of the gaps, so that
// any beginning of the list covers the range evenly.
func CoarseFirst(n int) []int {
	if n == 0 {
		return nil
	}
	order := slices.Compact([]int{n - 1, 0})
	for _, g := range gaps(n - 1) {
		order = append(order, g.middle)
	}
	return order
}

// ranked lists the configurations that can be run at a size by their prior times, those
// without one last, and in random order where there is none.
func (s *Space) ranked(size int, seed int64) (all []int) {
	for _, c := range rand.New(rand.NewPCG(uint64(seed), uint64(size))).Perm(len(s.Configs)) {
		if !s.never(Point{c, size}) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := s.prior(a, size), s.prior(b, size)
		if x == 0 || y == 0 {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return all
}

// firsts are the trials that make a table whole: every baseline, and the first in rank of
// every size, coarse sizes first.
func (s *Space) firsts(seed int64) (all []Point) {
	order := CoarseFirst(len(s.Sizes))
	for _, size := range order {
		for c := range s.Configs {
			if p := (Point{c, size}); s.Configs[c].Baseline && !s.never(p) {
				all = append(all, p)
			}
		}
	}
	for _, size := range order {
		if ranked := s.ranked(size, seed); len(ranked) > 0 {
			if p := (Point{ranked[0], size}); !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}
