package main

import "strings"

// nearest is the word closest to what was written, or "" where none is close:
// at most a third of it is different.
func nearest(written string, words []string) string {
	best, least := "", len(written)/3+1
	for _, w := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(w)); d <= least && (best == "" || d < least) {
			best, least = w, d
		}
	}
	return best
}

// didYouMean is a suggestion as the middle of a message.
func didYouMean(written string, words []string) string {
	if w := nearest(written, words); w != "" {
		return " (did you mean " + w + "?)"
	}
	return ""
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two words.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b) // nobody meant that
	}
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
