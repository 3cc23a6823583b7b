package conform_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/conform"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

// The timeout of a trial limits the start too.
func TestCheckWaitsNoLongerForAStart(t *testing.T) {
	t.Parallel()
	o := executortest.Quick(t, host.Options{TrialTimeout: time.Second})
	o.StartTimeout, o.Starts = 0, 1
	_, _, err := conform.Run(t.Context(), "sleeps-at-start", o)
	if !errors.Is(err, executor.ErrLost) || !strings.Contains(err.Error(), "in 5s (") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	// The cases that an executor that decodes no document fails.
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
			o := host.Options{TrialTimeout: time.Minute} // what is right has all the time a busy machine takes
			if name == "deaf" {                          // and what is not has its end
				o.TrialTimeout = 10 * time.Second
			}
			_, checks, err := conform.Run(t.Context(), name, executortest.Quick(t, o))
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
