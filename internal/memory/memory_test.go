package memory

import (
	"testing"
	"time"
)

func TestRounded(t *testing.T) {
	const G = 1 << 30
	for n, want := range map[int64]int64{1: 1, 2: 2, 3: 3, 5: 4, 6: 6, 7: 6, 12 * G: 12 * G, 18 * G: 16 * G, 24*G - 1: 16 * G, 24 * G: 24 * G} {
		if got := rounded(n); got != want {
			t.Errorf("%d is rounded to %d, want %d", n, got, want)
		}
	}
	if limit := Default(); limit < 1<<20 || Machine() > 0 && limit > Machine() {
		t.Errorf("by default %d bytes of %d", limit, Machine())
	}
}

// The guard speaks up once, when more is in use than the limit although garbage was
// collected, and counts the other processes.
func TestGuard(t *testing.T) {
	for _, c := range []struct {
		own, others int64
		over        bool
	}{{10, 10, false}, {10, 90, false}, {10, 91, true}, {101, 0, true}} {
		said := make(chan *Exceeded, 2)
		looked := make(chan struct{}, 100)
		use := func() (int64, int64) {
			select {
			case looked <- struct{}{}:
			default:
			}
			return c.own, c.others
		}
		stop := guard(100, use, func(e *Exceeded) { said <- e }, func(e *Exceeded) {
			if e.Used <= 125 {
				t.Errorf("%+v: ended at once: %v", c, e)
			}
		})
		if c.over {
			select {
			case e := <-said:
				if e.Used != c.own+c.others || e.Limit != 100 {
					t.Errorf("%+v: %v", c, e)
				}
			case <-time.After(time.Minute):
				t.Errorf("%+v: not a word", c)
			}
		} else {
			<-looked
			<-looked
		}
		stop()
		if len(said) > 0 {
			t.Errorf("%+v: %v", c, <-said)
		}
	}
}
