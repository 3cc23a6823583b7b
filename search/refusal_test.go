package search

import (
	"errors"
	"testing"

	"github.com/colltune/colltune/search/program"
)

// TestRefusedAll: what found nothing names the three commonest reasons, each once, and what
// to try.
func TestRefusedAll(t *testing.T) {
	s := &Space{}
	for reason, n := range map[program.Reason]int{program.Threadblocks: 5, program.Uncompiled: 4, program.NotApplicable: 3, program.Slots: 2, program.Runtime: 1} {
		for range n {
			s.Refusals = append(s.Refusals, program.Refusal{Candidate: "ring ×32", Reason: reason, Detail: "at least " + string(reason)})
		}
	}
	err := refusedAll(s, 0)
	want := "nothing found: 15 candidates, all refused: threadblocks 5, such as ring ×32: at least threadblocks; " +
		"compiler-limit 4, such as ring ×32: at least compiler-limit; not-applicable 3, such as ring ×32: at least not-applicable; " +
		"and 2 other reasons (-v names all); try --instances 1, or other families (no --family), or template show FAMILY for what it needs"
	var none *NothingFound
	if !errors.As(err, &none) || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}
