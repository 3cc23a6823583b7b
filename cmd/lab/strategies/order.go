package strategies

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/colltune/colltune/autotune/model"
)

// never reports that a point can't be run.
func never(s *Space, p Point) bool { return s.Never != nil && s.Never(p) }

// prior is a model's time in µs; 0: none.
func prior(s *Space, config, size int) float64 {
	if s.PriorUS == nil {
		return 0
	}
	return s.PriorUS[config][size]
}

// ranked lists the configurations that can be run at a size by their prior times, those
// without one last, and in random order where there is none.
func ranked(s *Space, size int, seed int64) (all []int) {
	for _, c := range rand.New(rand.NewPCG(uint64(seed), uint64(size))).Perm(len(s.Configs)) {
		if !never(s, Point{Config: c, Size: size}) {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := prior(s, a, size), prior(s, b, size)
		if x == 0 || y == 0 {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	return all
}

// firsts are the trials that make a table whole: the first in rank of every size, coarse
// sizes first.
func firsts(s *Space, seed int64) (all []Point) {
	for _, size := range model.CoarseFirst(len(s.Sizes)) {
		if of := ranked(s, size, seed); len(of) > 0 {
			all = append(all, Point{Config: of[0], Size: size})
		}
	}
	return all
}
