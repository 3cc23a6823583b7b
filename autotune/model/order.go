package model

import "slices"

// CoarseFirst orders n sizes: the last, the first, then the middles of the gaps, wide ones
// first, so that any beginning of the list covers the range evenly.
func CoarseFirst(n int) []int {
	if n == 0 {
		return nil
	}
	order := slices.Compact([]int{n - 1, 0})
	level := [][2]int{{0, n - 1}}
	for len(level) > 0 {
		var finer [][2]int
		for _, gap := range level {
			if middle := (gap[0] + gap[1]) / 2; middle > gap[0] {
				order = append(order, middle)
				finer = append(finer, [2]int{gap[0], middle}, [2]int{middle, gap[1]})
			}
		}
		level = finer
	}
	return order
}
