package cost

import (
	"slices"
	"testing"
)

// Messages take the first gap of their connection that is long enough, and no notice of
// other connections.
func TestConnectionSchedule(t *testing.T) {
	l := &connectionSchedule{busy: make([][]interval, 2)}
	for i, row := range []struct {
		on           int32 // connection
		ready, takes float64
		ahead        int32
	}{
		{1, 0, 10, -1},  // 0 to 10
		{1, 0, 10, 0},   // 10 to 20
		{1, 30, 10, -1}, // 30 to 40
		{1, 5, 11, 2},   // 20 to 30 is too short: 40 to 51
		{1, 5, 10, 1},   // 20 to 30
		{1, 5, 1, 3},    // 51 to 52
		{1, 52, 1, -1},
		{0, 0, 5, -1}, // another connection
	} {
		l.of = append(l.of, row.on)
		if ahead := l.queue(int32(i), row.ready, row.takes); ahead != row.ahead {
			t.Errorf("message %d waits for %d, want %d", i, ahead, row.ahead)
		}
	}
	for _, busy := range l.busy {
		if !slices.IsSortedFunc(busy, func(a, b interval) int { return int(a.from - b.from) }) {
			t.Errorf("%v", busy)
		}
	}
}
