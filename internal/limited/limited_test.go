package limited_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/limited"
)

// Whatever the jobs, the room and what each takes of it: no more than fits is under way
// at any time, they begin in order, and the error is the first one's in order.
func TestAbreast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, jobs, room := rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(0, 6).Draw(t, "jobs"), rapid.Int64Range(1, 10).Draw(t, "room")
		takes := rapid.SliceOfN(rapid.Int64Range(0, 14), n, n).Draw(t, "takes")
		fails := rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(t, "fails") // 0: it does
		errs := make([]error, n)
		var want error
		for i := range errs {
			if fails[i] == 0 {
				errs[i] = errors.New("failed")
				if want == nil {
					want = errs[i]
				}
			}
		}
		var under, taken atomic.Int64
		began := make([]atomic.Bool, n)
		got := limited.ForEach(context.Background(), jobs, n, room, func(i int) int64 { return takes[i] }, func(i int) error {
			if now := under.Add(1); now > int64(max(jobs, 1)) {
				t.Errorf("%d at a time, want at most %d", now, jobs)
			}
			if now := taken.Add(min(takes[i], room)); now > room {
				t.Errorf("%d taken of a room of %d", now, room)
			}
			began[i].Store(true)
			taken.Add(-min(takes[i], room))
			under.Add(-1)
			return errs[i]
		})
		if got != want {
			t.Fatalf("error %p, want the first one, %p", got, want)
		}
		last := true
		for i := range began {
			if began[i].Load() && !last {
				t.Fatalf("%d began and the one before did not", i)
			}
			if last = began[i].Load(); !last && want == nil {
				t.Fatalf("%d was left out", i)
			}
		}
	})
}

// Nothing begins once the context is done, and what has begun comes to its end.
func TestAbreastEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var began, ended atomic.Int64
	err := limited.ForEach(ctx, 2, 100, 3, func(int) int64 { return 1 }, func(i int) error {
		began.Add(1)
		switch {
		case i == 10:
			cancel()
		case i > 10:
			<-ctx.Done() // else the second job could do all of them before 10 is through
		}
		ended.Add(1)
		return nil
	})
	if err != nil || began.Load() != ended.Load() || began.Load() < 11 || began.Load() > 14 {
		t.Errorf("%v: %d began and %d ended, want 11 and those under way", err, began.Load(), ended.Load())
	}
}
