package score

import (
	"path/filepath"
	"testing"

	"github.com/colltune/colltune/cmd/lab/strategies"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// judged is a strategy that is judged before each of its choices.
type judged struct {
	strategies.Strategy
	judge func([]strategies.Observation)
}

func (j judged) Next(history []strategies.Observation, n int) []strategies.Point {
	j.judge(history)
	return j.Strategy.Next(history, n)
}

// Where times are exact, no size's winner gets slower as trials are added: of recorded times,
// of which some stand out of their own curve, and of a space that jumps.
func TestWinnersNeverGetSlower(t *testing.T) {
	spaces := map[string]*recorded.Space{"jumping": spaceOf(t, jumping(240))}
	for _, name := range []string{"rtx_allreduce", "mi300x_allgather"} {
		table, err := recorded.Read(filepath.Join("testdata", name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		spaces[name] = &table.Spaces[0]
	}
	for name, space := range spaces {
		for _, prior := range []bool{false, true} {
			if prior && !space.HasPrior() {
				continue
			}
			g, err := newGame(space, prior)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range int64(seedsOf(1)) {
				for _, row := range named(t, "model", "descent", "halving", "random") {
					winners, trials := make([]float64, len(g.best)), 0
					row := strategies.Row{Name: row.Name, New: func(s *strategies.Space, o strategies.Options) strategies.Strategy {
						x := row.New(s, o)
						return judged{x, func(history []strategies.Observation) {
							trials = len(history)
							for _, o := range x.Outlook(history) {
								if o.Incumbent < 0 {
									continue
								}
								us := g.truth[o.Incumbent][o.Size]
								if was := winners[o.Size]; was > 0 && us > was {
									t.Errorf("%s, prior %v, %s, seed %d, trial %d: at %d bytes the winner takes %g us, before %g", name, prior, row.Name, seed, trials, g.space.Sizes[o.Size], us, was)
								}
								winners[o.Size] = us
							}
						}}
					}}
					g.play(t.Context(), row, Options{}, 4, seed)
					if trials < len(g.best) {
						t.Errorf("%s, %s: %d trials", name, row.Name, trials)
					}
				}
			}
		}
	}
}

// With hardly any noise, of which it knows nothing, the model's winner may be one that was
// measured slower, but by no more than chance may explain.
func TestWinnerIsCloseToFastestMeasured(t *testing.T) {
	table, err := recorded.Read(filepath.Join("testdata", "rtx_allreduce.csv"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGame(&table.Spaces[0], true)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range int64(seedsOf(4)) {
		fastest := map[int]float64{}
		row := strategies.Row{Name: "model", New: func(s *strategies.Space, o strategies.Options) strategies.Strategy {
			x := named(t, "model")[0].New(s, o)
			return judged{x, func(history []strategies.Observation) {
				for _, o := range history {
					if !o.Failed && (fastest[o.Size] == 0 || o.TimeUS < fastest[o.Size]) {
						fastest[o.Size] = o.TimeUS
					}
				}
				for _, o := range x.Outlook(history) {
					if o.Incumbent >= 0 && g.truth[o.Incumbent][o.Size] > 1.09*fastest[o.Size] {
						t.Errorf("seed %d, %d trials: at %d bytes the winner takes %g us, the fastest measured %g", seed, len(history), g.space.Sizes[o.Size], g.truth[o.Incumbent][o.Size], fastest[o.Size])
					}
				}
			}}
		}}
		g.play(t.Context(), row, Options{Noise: recorded.Noise{Spread: 1e-9}}, 6, seed)
	}
}
