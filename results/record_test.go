package results

import (
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	const deadline = 10 * time.Second
	for _, tc := range []struct {
		name  string
		trial Trial
		want  bool
	}{
		{"a time", Trial{Outcome: OK}, false},
		{"a wrong result", Trial{Outcome: Wrong}, false},
		{"a crash", Trial{Outcome: Crashed}, true},
		{"the second crash", Trial{Outcome: Crashed, Attempt: 1}, true},
		{"the third crash", Trial{Outcome: Crashed, Attempt: 2}, false},
		{"out of a shorter time", Trial{Outcome: TimedOut, Deadline: 5, Seconds: 5, Attempt: 9}, true},
		{"out of as much time", Trial{Outcome: TimedOut, Deadline: 10, Seconds: 10}, false},
		{"out of more time", Trial{Outcome: TimedOut, Deadline: 20, Seconds: 20}, false},
		{"stuck before its time was over", Trial{Outcome: TimedOut, Deadline: 10, Seconds: 3}, true},
		{"stuck for the third time", Trial{Outcome: TimedOut, Deadline: 10, Seconds: 3, Attempt: 2}, false},
	} {
		if got := tc.trial.Retryable(deadline); got != tc.want {
			t.Errorf("%s: open %v, want %v", tc.name, got, tc.want)
		}
	}
}
