package suggest

import "fmt"

// DidYouMean returns " (did you mean …?)" with the nearest of names, or "".
func DidYouMean(name string, names []string) string {
	best := Nearest(name, names)
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// Nearest returns the one of names that name is probably a misspelling of: a third of
// its letters may differ. It returns "" if there is none, and the first of several.
func Nearest(name string, names []string) string {
	best, least := "", (len(name)+2)/3+1
	for _, n := range names {
		if d := Distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance returns the number of letters to insert, remove, replace or swap with
// their neighbour to make a into b.
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b) // too different to matter
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			next[j] = min(last[j]+1, next[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
