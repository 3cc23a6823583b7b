package score

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/colltune/colltune/cmd/lab/strategies"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// spaceOf reads rows of CSV.
func spaceOf(t *testing.T, text string) *recorded.Space {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := recorded.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := table.Of(recorded.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const three = `algorithm,bytes,time_us,prior_us
a,1024,10,5
a,2048,40,
b,1024,20,6
b,2048,20,
c,1024,,1
c,4096,,
`

func named(t *testing.T, names ...string) (rows []strategies.Row) {
	t.Helper()
	for _, n := range names {
		r, err := strategies.Named(n)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

// The regret of an order that is known: exhaustive makes the trials 1K a, 1K b, 1K c (which
// fails), 2K a, 2K b.
func TestRegretOfAKnownOrder(t *testing.T) {
	inf := Ratio(math.Inf(1))
	s, err := Play(context.Background(), spaceOf(t, three), Options{Strategies: named(t, "exhaustive"), Seeds: 2})
	if err != nil {
		t.Fatal(err)
	}
	if s.Configs != 3 || s.Sizes != 2 || s.Points != 5 || !s.Prior || s.Trials != 3 {
		t.Errorf("%+v: want 3 configurations at 2 sizes, the one that always failed left out, 5 points and a prior", s)
	}
	c := s.Curves[0]
	want := []Point{
		{1, Spread{inf, inf}, Spread{inf, inf}},
		{2, Spread{2, 2}, Spread{Ratio(math.Sqrt2), Ratio(math.Sqrt2)}},
		{3, Spread{1, 1}, Spread{1, 1}},
	}
	for i, p := range c.Points {
		p.Mean.Median, p.Mean.P90 = rounded(p.Mean.Median), rounded(p.Mean.P90)
		want[i].Mean.Median, want[i].Mean.P90 = rounded(want[i].Mean.Median), rounded(want[i].Mean.P90)
		if p != want[i] {
			t.Errorf("after %d trials a size %+v, want %+v", i+1, p, want[i])
		}
	}
	if c.Trials != 2.5 {
		t.Errorf("%g trials a size, want 5 trials at 2 sizes", c.Trials)
	}
}

func rounded(r Ratio) Ratio { return Ratio(math.Round(float64(r)*1e9) / 1e9) }

// taker is a strategy that takes what the test says, and keeps the last as its winner.
type taker struct {
	space *strategies.Space
	order []strategies.Point
}

func (x *taker) Next(h []strategies.Observation, n int) []strategies.Point {
	return x.order[min(len(h), len(x.order)):min(len(h)+n, len(x.order))]
}

func (x *taker) Outlook(h []strategies.Observation) []strategies.Outlook {
	all := make([]strategies.Outlook, len(x.space.Sizes))
	for i := range all {
		all[i] = strategies.Outlook{Size: i, Incumbent: -1}
	}
	for _, o := range h {
		if !o.Failed {
			all[o.Size].Incumbent = o.Config
		}
	}
	return all
}

// What a strategy is given: its seed, the prior unless it is hidden, the points that were
// recorded, and times with noise. The regret is that of the times without.
func TestWhatAStrategySees(t *testing.T) {
	space := spaceOf(t, three)
	for _, hidden := range []bool{false, true} {
		var seeds []int64
		var times []float64
		row := strategies.Row{Name: "taker", New: func(s *strategies.Space, o strategies.Options) strategies.Strategy {
			seeds = append(seeds, o.Seed)
			if (s.PriorUS != nil) == hidden {
				t.Errorf("hidden %v: priors %v", hidden, s.PriorUS)
			}
			if !hidden && (s.PriorUS[0][0] != 5 || s.PriorUS[0][1] != 0 || s.PriorUS[2][0] != 1) {
				t.Errorf("priors %v", s.PriorUS)
			}
			if !reflect.DeepEqual(s.Traits, []string{"algorithm"}) || s.Configs[1].Name != "b" || s.Configs[1].Traits[0] != "b" {
				t.Errorf("space %+v", s)
			}
			if !s.Never(strategies.Point{Config: 2, Size: 1}) || s.Never(strategies.Point{Config: 2, Size: 0}) {
				t.Error("what was not recorded can't be run, and what failed can")
			}
			return &watching{taker{s, []strategies.Point{{Config: 0, Size: 0}, {Config: 0, Size: 0}, {Config: 1, Size: 1}, {Config: 2, Size: 0}}}, &times}
		}}
		s, err := Play(context.Background(), space, Options{Strategies: []strategies.Row{row}, Seeds: 3, Seed: 7, Trials: 4, Noise: recorded.Noise{Spread: 0.1}, NoPrior: hidden, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(seeds, []int64{7, 8, 9}) {
			t.Errorf("seeds %v, want 7, 8, 9", seeds)
		}
		if len(times) < 2 || times[0] == times[1] || times[0] == 10 {
			t.Errorf("two trials of one point took %v us: want each with a noise of its own", times)
		}
		if end := s.Curves[0].End(); end.Largest.Median != 1 || end.Largest.P90 != 1 || s.Curves[0].Trials != 2 {
			t.Errorf("at the end %+v after %g trials a size, want a ratio of 1 after 2", end, s.Curves[0].Trials)
		}
	}
}

// watching keeps the times of the last history.
type watching struct {
	taker
	times *[]float64
}

func (w *watching) Next(h []strategies.Observation, n int) []strategies.Point {
	*w.times = nil
	for _, o := range h {
		*w.times = append(*w.times, o.TimeUS)
	}
	return w.taker.Next(h, n)
}

// Random finds the best of n equal chances after k trials a size with probability k/n: the
// median of many plays passes where that is a half.
func TestRandomAsItsOddsSay(t *testing.T) {
	var b strings.Builder
	b.WriteString("algorithm,bytes,time_us\n")
	const n = 40
	for i := range n {
		fmt.Fprintf(&b, "a%d,1024,%d\n", i, map[bool]int{true: 10, false: 30}[i == 17])
	}
	s, err := Play(context.Background(), spaceOf(t, b.String()), Options{Strategies: named(t, "random"), Seeds: 400, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, p := range s.Curves[0].Points {
		if p.Largest.Median == 1 && found["half"] == 0 {
			found["half"] = p.Trials
		}
		if p.Largest.P90 == 1 && found["most"] == 0 {
			found["most"] = p.Trials
		}
	}
	if found["half"] < 17 || found["half"] > 23 || found["most"] < 34 || found["most"] > 38 {
		t.Errorf("half found it after %d of 40 trials, nine tenths after %d: want about 20 and 36", found["half"], found["most"])
	}
}

// The number of jobs changes nothing, and an interrupt ends the play.
func TestJobsAndInterrupts(t *testing.T) {
	space := spaceOf(t, three)
	o := Options{Strategies: named(t, "random", "exhaustive"), Seeds: 20, Noise: recorded.Noise{Spread: 0.3, Outliers: 0.1}}
	var first *Score
	for _, jobs := range []int{1, 3, 64} {
		o.Jobs = jobs
		s, err := Play(context.Background(), space, o)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = s
		} else if !reflect.DeepEqual(s, first) {
			t.Errorf("%d jobs give another score", jobs)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Play(ctx, space, o); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := Play(context.Background(), spaceOf(t, "algorithm,bytes,time_us\na,1,\n"), o); err == nil || !strings.Contains(err.Error(), "no size with a time") {
		t.Errorf("a space without times: %v", err)
	}
}
