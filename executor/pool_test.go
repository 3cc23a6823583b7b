package executor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/colltune/colltune/executor"
)

// pooled counts what a pool does with it.
type pooled struct{ asked, closed int }

func (e *pooled) Describe(context.Context) (executor.Description, error) {
	e.asked++
	return executor.Description{Name: "pooled"}, nil
}

func (*pooled) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, errors.New("it runs nothing")
}

func (e *pooled) Close() error { e.closed++; return nil }

// The executor that was opened or described is the first that is used; only then are
// others started. All are closed, each once.
func TestPool(t *testing.T) {
	var made []*pooled
	pool := executor.NewPool(func() (executor.Executor, error) {
		made = append(made, &pooled{})
		return made[len(made)-1], nil
	})
	if err := pool.Open(); err != nil || len(made) != 1 {
		t.Fatalf("%v, %d made", err, len(made))
	}
	for range 2 {
		if d, err := pool.Describe(t.Context()); err != nil || d.Name != "pooled" || len(made) != 1 || made[0].asked != 1 {
			t.Errorf("%v, %q of %d, asked %d times", err, d.Name, len(made), made[0].asked)
		}
	}
	var got []executor.Executor
	for i := range 2 {
		e, err := pool.Get()
		if err != nil || len(made) != i+1 || e != made[i] {
			t.Errorf("get %d: %v, %d made", i, err, len(made))
		}
		got = append(got, e)
	}
	pool.Put(got[0])
	if e, err := pool.Get(); err != nil || e != got[0] || len(made) != 2 {
		t.Errorf("%v, %d made: want the idle one", err, len(made))
	}
	for range 2 {
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range made {
		if e.closed != 1 {
			t.Errorf("%d: closed %d times", i, e.closed)
		}
	}
}

// What fails to open is not tried again by the first use, but by the second.
func TestPoolThatFailsToOpen(t *testing.T) {
	broken, starts := errors.New("broken"), 0
	pool := executor.NewPool(func() (executor.Executor, error) {
		if starts++; starts == 1 {
			return nil, broken
		}
		return &pooled{}, nil
	})
	for range 2 {
		if err := pool.Open(); starts == 1 && err != broken {
			t.Fatal(err)
		}
		if starts == 1 {
			if _, err := pool.Get(); err != broken || starts != 1 {
				t.Errorf("%v after %d starts", err, starts)
			}
		}
	}
	if _, err := pool.Get(); err != nil || starts != 2 {
		t.Errorf("%v after %d starts: want the second's", err, starts)
	}
}
