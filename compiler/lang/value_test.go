package lang

import "testing"

// TestRanksNamed says who is in a wrong sum, and who too often, in a few words.
func TestRanksNamed(t *testing.T) {
	odd := map[int]int{}
	for r := 1; r < 24; r += 2 {
		odd[r] = 1
	}
	for _, c := range []struct {
		times map[int]int
		want  string
	}{
		{map[int]int{3: 1}, "rank 3"},
		{map[int]int{3: 2}, "rank 3 (rank 3 twice)"},
		{map[int]int{0: 1, 1: 1, 2: 1, 5: 1}, "ranks 0-2, 5"},
		{map[int]int{0: 1, 1: 3, 2: 2}, "ranks 0-2 (rank 1 3 times, rank 2 twice)"},
		{odd, "ranks 1, 3, 5, 7, 9, 11, 13, 15, 4 others"},
	} {
		if got := rankRanges(c.times); got != c.want {
			t.Errorf("%v: %q, want %q", c.times, got, c.want)
		}
	}
}
