package program_test

import (
	"testing"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/search/program"
)

// TestShortLists: lines for people hold no list of hundreds of ranks.
func TestShortLists(t *testing.T) {
	ranks := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	for _, c := range []struct {
		lists [][]int
		want  string
	}{
		{[][]int{ranks(8)}, "ring order=0,1,2,3,4,5,6,7 ×2: too-large: much"},
		{[][]int{ranks(31)}, "ring order=" + script.FormatValue([][]int{ranks(31)}) + " ×2: too-large: much"},
		{[][]int{ranks(512), ranks(512)}, "ring order=0,1,2,3,4,5,6,7,… (1016 more) ×2: too-large: much"},
	} {
		r := program.Refusal{Candidate: "ring order=" + script.FormatValue(c.lists) + " ×2", Reason: program.TooLarge, Detail: "much"}
		if got := r.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
