package library

import (
	"context"
	"maps"
	"slices"

	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/program"
)

// Call returns what the library takes for a call of a number of bytes, where that comes from, and its
// verified program if there is one. ok is false where the library's choice has no time here.
// An error is about a call that makes no sense, a lost solver, or ctx.
func Call(ctx context.Context, t program.Target, bytes int64, o program.Options) (_ Time, ok bool, err error) {
	b := program.New(t, o)
	defer b.Close()
	l := New(b, Options{}, o.Observer.Say)
	times, err := l.Calls(ctx, []int64{bytes})
	if err != nil || len(times) == 0 {
		return Time{}, false, err
	}
	times[0].US, err = l.US(ctx, &times[0])
	return times[0], err == nil, err
}

// Calls returns the times of calls, by rising size, with the verified programs of those that come
// from one, which are not simulated. A size whose choice has no time here is missing.
func (l *Library) Calls(ctx context.Context, sizes []int64) ([]Time, error) {
	times, err := l.allCalls(ctx, sizes)
	return slices.DeleteFunc(times, func(t Time) bool { return t.Program == nil && t.US == 0 }), err
}

// LeastUS returns the library's times in microseconds, by size: in the fastest state of the buffers
// that it is asked of, or, where nothing says what that takes, as called.
func (l *Library) LeastUS(ctx context.Context, sizes []int64) (map[int64]float64, error) {
	times, err := l.allCalls(ctx, sizes)
	if err != nil {
		return nil, err
	}
	least, called := map[int64]float64{}, map[int64]float64{}
	for i := range times {
		t := &times[i]
		us := 0.
		if t.From != Unclocked && (t.US > 0 || t.Program != nil) {
			if us, err = l.US(ctx, t); err != nil {
				return nil, err
			}
		} else if t.From != Unclocked {
			continue
		}
		if t.Registered == l.options.Registered {
			called[t.Bytes] = us
		}
		if known, ok := least[t.Bytes]; !ok || us < known {
			least[t.Bytes] = us
		}
	}
	for bytes, us := range least {
		if us == 0 {
			least[bytes] = called[bytes]
		}
	}
	maps.DeleteFunc(least, func(_ int64, us float64) bool { return us == 0 })
	return least, nil
}

// allCalls is Calls in all states asked for, with what has no time.
func (l *Library) allCalls(ctx context.Context, sizes []int64) ([]Time, error) {
	if err := l.target.Check(sizes); err != nil {
		return nil, err
	}
	if _, err := l.build.Solvers(); err != nil {
		return nil, err
	}
	chosen, err := l.Choose(ctx, sizes)
	if err != nil {
		return nil, err
	}
	for _, d := range chosen.Drafts {
		if !d.Compared {
			continue
		}
		made, err := l.build.Build(ctx, d)
		if err != nil {
			return nil, err
		}
		if made.Refusal == nil {
			for i := range chosen.Times {
				if t := &chosen.Times[i]; t.Draft == d {
					t.Program = made.Program
				}
			}
			continue
		}
		left, err := l.Instead(ctx, chosen.Times, d)
		if err != nil {
			return nil, err
		}
		if left > 0 {
			l.say("baseline " + d.String() + " has no program here: " + made.Refusal.Detail)
		}
	}
	return chosen.Times, nil
}

// US returns a time of Calls in microseconds: that of a program is simulated.
func (l *Library) US(ctx context.Context, t *Time) (float64, error) {
	if t.US > 0 {
		return t.US, nil
	}
	prepared := l.prepared[t.Program]
	if prepared == nil {
		var err error
		if prepared, err = sim.Prepare(t.Program, l.target.Topology); err != nil {
			return 0, err
		}
		l.prepared[t.Program] = prepared
	}
	r, err := prepared.RunContext(ctx, t.Knobs(l.target.ElemBytes()))
	return t.Of(r.TimeUS), err
}
