package cpu

import (
	"errors"
	"slices"
	"testing"
)

// Notes sent before a process was told to stop are not taken for its final state, and
// final states may arrive in any order.
func TestStandstillIsToldByAll(t *testing.T) {
	coming := []note{
		{kind: noteStatus, from: 2, at: 4},
		{kind: noteReport, from: 1, at: 4, text: []byte("took too long")},
		{kind: noteReport, from: 2, at: atPlaces, text: []byte("rank 2 waits")},
		{kind: noteStatus, from: 1, at: atPlaces},
		{kind: noteReport, from: 3, at: atPlaces},
		{kind: noteReport, from: 1, at: atPlaces, text: []byte("rank 1 waits")},
		{kind: noteReport, from: 1, at: atPlaces, text: []byte("of the next trial")},
	}
	await := func() (note, error) {
		if len(coming) == 0 {
			return note{}, errors.New("nobody else is there")
		}
		n := coming[0]
		coming = coming[1:]
		return n, nil
	}
	all, err := standstill(4, "rank 0 waits", await)
	if want := []string{"rank 0 waits", "rank 1 waits", "rank 2 waits"}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%q, %v, want %q", all, err, want)
	}
	if len(coming) != 1 {
		t.Errorf("%d notes left, want 1: the last one needed ends it", len(coming))
	}
	coming = nil
	if all, err := standstill(2, "rank 0 waits", await); err == nil {
		t.Errorf("%q of a launch that has ended, want its error", all)
	}
}
