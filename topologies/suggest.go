package topologies

import "fmt"

// DidYouMean returns ` (did you mean "x"?)` for the most similar known name, or
// "" if none is similar.
func DidYouMean(got string, known []string) string {
	best, at := "", len(got)/3+1
	for _, k := range known {
		if d := distance(got, k, at); d < at || (d == at && best == "") {
			best, at = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance returns the number of letters must be inserted, deleted, replaced,
// or swapped with their neighbour to turn a into b. Anything above limit is
// limit+1.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return min(last[len(b)], limit+1)
}
