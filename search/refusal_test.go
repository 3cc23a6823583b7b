package search

import (
	"errors"
	"testing"

	"github.com/colltune/colltune/compiler/script"
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
		r := Refusal{"ring order=" + script.FormatValue(c.lists) + " ×2", TooLarge, "much"}
		if got := r.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestRefusedAll: what found nothing names the three commonest reasons, each once, and what
// to try.
func TestRefusedAll(t *testing.T) {
	s := &Space{}
	for reason, n := range map[Reason]int{Threadblocks: 5, Uncompiled: 4, NotApplicable: 3, Slots: 2, Runtime: 1} {
		for range n {
			s.Refusals = append(s.Refusals, Refusal{"ring ×32", reason, "at least " + string(reason)})
		}
	}
	err := refusedAll(s)
	want := "nothing found: 15 candidates, all refused: threadblocks 5, such as ring ×32: at least threadblocks; " +
		"compiler-limit 4, such as ring ×32: at least compiler-limit; not-applicable 3, such as ring ×32: at least not-applicable; " +
		"and 2 other reasons (-v names all); try --instances 1, or other families (no --family), or template show FAMILY for what it needs"
	var none *NothingFound
	if !errors.As(err, &none) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
