package lang

import (
	"errors"
	"testing"
)

// A rank may send to as many ranks as the limit says, any number of times, and copy within
// itself.
func TestMaxPeers(t *testing.T) {
	for _, most := range []int{1, 2, 3, 4} {
		w := &writer{Trace: NewTrace("p", coll(t, "broadcast", 4, 1, true))}
		w.SetMaxPeers(most)
		w.copy(w.chunk(0, in, 0, 1), 0, sc, 0)
		for range 2 {
			for to := 1; to < 4; to++ {
				w.copy(w.chunk(0, in, 0, 1), to, sc, 0)
			}
		}
		var e *Error
		switch few := most < 3; {
		case few && (!errors.As(w.err, &e) || !e.Peers || w.Len() != 1+most):
			t.Errorf("at most %d: %v after %d operations", most, w.err, w.Len())
		case !few && w.err != nil:
			t.Errorf("at most %d: %v", most, w.err)
		}
	}
	w := NewSketch("p", coll(t, "broadcast", maxCounted+1, 1, true))
	if w.SetMaxPeers(1); w.peers.sent != nil {
		t.Errorf("%d ranks are counted", maxCounted+1)
	}
}
