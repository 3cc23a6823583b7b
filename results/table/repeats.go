package table

import (
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Repeats is what the measurements behind a winner say of it, where times are measured.
type Repeats struct {
	TrialsUS []float64 `json:"trials_us"` // the median of each measurement, in the journal's order
	// Outliers are the iterations beyond the outer fence of their measurement: the upper
	// quartile and three times the distance to the lower one (Tukey, Exploratory Data
	// Analysis, 1977). SlowestUS is the longest of all.
	Iterations int     `json:"iterations"`
	Outliers   int     `json:"outliers"`
	SlowestUS  float64 `json:"slowest_us"`
	// RunnerUp is the fastest other configuration; null: there is none.
	RunnerUp *RunnerUp `json:"runner_up"`
	// BaselineApart reports whether the baseline's time can be told from the winner's. Null:
	// it was not measured here, or is the winner.
	BaselineApart *bool `json:"baseline_told_apart"`
}

// RunnerUp is the configuration that is next to the winner.
type RunnerUp struct {
	Name   string     `json:"name"`
	TimeUS float64    `json:"time_us"`
	CIUS   [2]float64 `json:"time_ci_us"`
	// Apart reports whether the winner's time can be told from its (results.Apart). If not,
	// they tie.
	Apart bool `json:"told_apart"`
}

// repeatsOf describes the winner of a cell, from the cell's measurements, fastest first.
func repeatsOf(ms []Measured, winner int, b *results.Baseline) *Repeats {
	w := &ms[winner]
	r := &Repeats{TrialsUS: []float64{}}
	for _, us := range w.Repeats {
		r.TrialsUS = append(r.TrialsUS, results.Median(us))
		r.Iterations += len(us)
		fence := outerFence(us)
		for _, x := range us {
			r.SlowestUS = max(r.SlowestUS, x)
			if x > fence {
				r.Outliers++
			}
		}
	}
	for i := range ms {
		second := &ms[i]
		if i == winner || !second.Competes() {
			continue
		}
		r.RunnerUp = &RunnerUp{second.Title(), second.TimeUS, second.CIUS, results.Apart(w.Repeats, second.Repeats)}
		break
	}
	for i := range ms {
		if i != winner && ms[i].is(b) {
			apart := results.Apart(w.Repeats, ms[i].Repeats)
			r.BaselineApart = &apart
		}
	}
	return r
}

// is reports whether m is the trial that a baseline's time is taken from.
func (m *Measured) is(b *results.Baseline) bool {
	return b != nil && b.TimeUS == 0 && m.Program == b.Program && m.Protocol == b.Protocol && m.TileBytes == b.TileBytes
}

// outerFence is the time beyond which an iteration is an outlier among the others.
func outerFence(us []float64) float64 {
	s := slices.Sorted(slices.Values(us))
	n := len(s)
	return s[n-1-n/4] + 3*(s[n-1-n/4]-s[n/4])
}

// tieText names a row's runner-up if it can't be told from the winner.
func (r *Row) tieText() string {
	if r.Repeats == nil || r.Repeats.RunnerUp == nil || r.Repeats.RunnerUp.Apart {
		return ""
	}
	return r.Repeats.RunnerUp.Name
}

// outlierText says how many of the winner's iterations are outliers, and how long the
// longest took: 3 of 40, to 2.1 x.
func (r *Row) outlierText() string {
	if r.Repeats == nil || r.Repeats.Outliers == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d, to %.1f x", r.Repeats.Outliers, r.Repeats.Iterations, r.Repeats.SlowestUS/r.TimeUS)
}

// repeatNotes counts the rows that are not decided, and says how times drifted.
func (t *Table) repeatNotes() (notes []string) {
	ties, same := 0, 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.tieText() != "" {
			ties++
		}
		if r.Repeats != nil && r.Repeats.BaselineApart != nil && !*r.Repeats.BaselineApart {
			same++
		}
	}
	if ties > 0 {
		notes = append(notes, fmt.Sprintf("tied: the winner of %d of %s can't be told from the runner-up", ties, units.Count(len(t.Rows), "row")))
	}
	if same > 0 {
		notes = append(notes, fmt.Sprintf("no difference: the winner of %d of %s can't be told from the baseline", same, units.Count(len(t.Rows), "row")))
	}
	if d := t.Campaign.Drift; d != nil {
		notes = append(notes, d.note())
	}
	return notes
}

// Drift is a change of times while a search went on, seen where configurations were
// measured again.
type Drift struct {
	Again  int     `json:"measured_again"` // configurations
	Slower int     `json:"slower"`         // of these, those whose last time was longer than the first
	Ratio  float64 `json:"ratio"`          // last ÷ first, their median
}

// Below this change, drift is not told.
const leastDrift = 0.02

// driftOf returns the drift that measurements show; nil if chance explains it: where times
// only scatter, as many are slower as faster (sign test). The first measurement counts for
// baselines alone: others were measured again because their first was fast.
func driftOf(all map[Cell][]Measured, baselines map[Cell]results.Point) *Drift {
	var ratios []float64
	d := Drift{}
	for at, ms := range all {
		for i := range ms {
			again := ms[i].Repeats
			if !ms[i].is(baselines[at].Baseline) {
				again = again[1:]
			}
			if len(again) < 2 {
				continue
			}
			first, last := results.Median(again[0]), results.Median(again[len(again)-1])
			d.Again++
			if last > first {
				d.Slower++
			}
			ratios = append(ratios, last/first)
		}
	}
	if d.Again == 0 {
		return nil
	}
	d.Ratio = results.Median(ratios)
	if math.Abs(math.Log(d.Ratio)) < leastDrift || signTest(d.Slower, d.Again) >= results.Significant {
		return nil
	}
	return &d
}

// signTest returns the probability that of n fair coins as many as k, or as few, show
// heads.
func signTest(k, n int) float64 {
	k = max(k, n-k)
	p, all := 0.0, math.Exp2(-float64(n))
	for i, ways := 0, 1.0; i <= n; i++ {
		if i >= k || i <= n-k {
			p += ways * all
		}
		ways *= float64(n-i) / float64(i+1)
	}
	return min(p, 1)
}

// note tells of the drift in a line.
func (d *Drift) note() string {
	how, n := "slower", d.Slower
	if d.Ratio < 1 {
		how, n = "faster", d.Again-d.Slower
	}
	return fmt.Sprintf("drift: of %s measured again, %d were %s the last time than the first, in the median by %.1f %%: times of different moments may not be comparable", units.Count(d.Again, "configuration"), n, how, 100*math.Abs(d.Ratio-1))
}
