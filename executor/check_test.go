package executor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
)

// Executors that fall short of the protocol in one thing each.
func init() {
	faults["deaf"] = fault{run: func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		time.Sleep(time.Duration(t.Iters) * 20 * time.Microsecond)
		return executor.Measurement{TimesUS: []float64{1}}, nil
	}}
	faults["patient"] = fault{run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		select {
		case <-time.After(time.Duration(t.Iters) * 20 * time.Microsecond):
			return executor.Measurement{TimesUS: []float64{1}}, nil
		case <-ctx.Done():
			return executor.Measurement{}, ctx.Err()
		}
	}}
	faults["never-the-same"] = fault{run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{float64(time.Now().UnixNano()%1e12 + 1)}}, nil
	}}
	strangers["stays"] = func() { executor.Serve(fake{run: right}); select {} }
	strangers["litters"] = func() {
		_ = os.WriteFile(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "another"), nil, 0o600)
		executor.Serve(fake{run: right})
		os.Exit(0)
	}
	strangers["changes"] = func() { executor.Serve(&changing{}); os.Exit(0) }
	strangers["boasts"] = func() { executor.Serve(boasting{}); os.Exit(0) }
	strangers["silent"] = func() { serveStranger(&stranger{runs: 1 << 30, pause: 20 * time.Microsecond}) }
}

type changing struct{ said atomic.Int64 }

func (c *changing) Describe(ctx context.Context) (executor.Description, error) {
	d, err := fake{}.Describe(ctx)
	d.Fingerprint = map[string]string{"said": fmt.Sprint(c.said.Add(1))}
	return d, err
}

func (*changing) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return right(ctx, t)
}

type boasting struct{ fake }

func (b boasting) Describe(ctx context.Context) (executor.Description, error) {
	d, err := b.fake.Describe(ctx)
	d.DTypes = []string{"f32", "q7"}
	return d, err
}

func (boasting) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return right(ctx, t)
}

// TestCheckWaitsNoLongerForAStart than the time that a trial was given.
func TestCheckWaitsNoLongerForAStart(t *testing.T) {
	t.Parallel()
	o := quick(t, executor.HostOptions{TrialTimeout: time.Second})
	o.StartTimeout, o.Starts = 0, 1
	_, _, err := executor.CheckProtocol(t.Context(), "sleeps-at-start", o)
	if !errors.Is(err, executor.ErrLost) || !strings.Contains(err.Error(), "in 5s (") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	// What a stranger that looks into no document can't refuse.
	careless := []string{"fingerprint", "traits", "refuses a broken program", "refuses a dtype it lacks", "refuses an operation it lacks", "refuses a size below 0", "refuses an algorithm it lacks"}
	for name, bad := range map[string][]string{
		"well":           nil,
		"library":        nil,
		"lonely":         nil,
		"patient":        nil,
		"far":            nil,
		"no-time":        {"run LL", "run Simple", "run f32", "run 3 ranks"},
		"wrong":          {"run LL", "run Simple", "run f32", "run 3 ranks"},
		"exits":          {"run LL", "run Simple", "run f32", "run 3 ranks", "repeats itself", "beats while it runs"},
		"never-the-same": {"repeats itself"},
		"deaf":           {"gives up when told"},
		"leaves-a-child": {"goodbye"},
		"stays":          {"goodbye"},
		"litters":        {"goodbye"},
		"changes":        {"describe again"},
		"boasts":         {"traits"},
		"silent":         append(slices.Clone(careless), "beats while it runs"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := executor.HostOptions{TrialTimeout: time.Minute} // what is right has all the time a busy machine takes
			if name == "deaf" {                                  // and what is not has its end
				o.TrialTimeout = 10 * time.Second
			}
			_, checks, err := executor.CheckProtocol(t.Context(), name, quick(t, o))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range checks {
				// What an executor says it lacks here is no failing of it.
				if lacks := strings.HasPrefix(c.Detail, "lacking here: "); lacks != (c.Name == "run its absent") {
					t.Errorf("%s: %s", c.Name, c.Detail)
				}
				if !c.OK {
					got = append(got, c.Name)
					t.Logf("%s: %.200s", c.Name, c.Detail)
				}
			}
			slices.Sort(got)
			slices.Sort(bad)
			if len(checks) < 8 || !slices.Equal(got, bad) {
				t.Errorf("not right: %q, want %q", got, bad)
			}
		})
	}
}

// wait says nothing.
func (s *stranger) wait(r *protocol.RunRequest) {
	time.Sleep(time.Duration(r.Iters) * s.pause)
}
