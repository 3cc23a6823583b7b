package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// latticeSpace is a space of families, protocols and instances whose times are smooth in
// size, with what the strategies see of it and, by configuration and size, the truth in µs.
func latticeSpace(prior bool) (*Space, [][]float64) {
	s := &Space{Traits: []string{"family", "protocol", "instances"}}
	for b := int64(1 << 10); b <= 1<<26; b <<= 2 {
		s.Sizes = append(s.Sizes, b)
	}
	var us [][]float64
	for f, family := range []string{"ring", "tree", "pairs"} {
		for p, protocol := range []string{"LL", "Simple"} {
			for i := 1; i <= 8; i *= 2 {
				s.Configs = append(s.Configs, Config{Name: fmt.Sprint(family, protocol, i), Traits: []string{family, protocol, fmt.Sprint(i)}})
				var row, priors []float64
				for _, b := range s.Sizes {
					latency := 5 * float64(f+1) * float64(1+2*p) * (1 + 0.05*float64(i))
					rate := 1e4 * float64(3-f) * float64(1+p) * math.Sqrt(float64(i))
					row = append(row, latency+float64(b)/rate)
					priors = append(priors, 1.2*latency+0.8*float64(b)/rate)
				}
				us, s.PriorUS = append(us, row), append(s.PriorUS, priors)
			}
		}
	}
	if !prior {
		s.PriorUS = nil
	}
	return s, us
}

// play follows a strategy to its end, n trials at a time, each with some noise. It fails on
// a trial that can't be run and on more trials than there are points, twice.
func play(t *testing.T, s *Space, us [][]float64, x *Model, n int) (history []Observation) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for {
		next := x.Next(history, n)
		if len(next) == 0 {
			return history
		}
		if len(next) > n || len(history) > 2*len(s.Configs)*len(s.Sizes) {
			t.Fatalf("%d trials after %d", len(next), len(history))
		}
		for _, p := range next {
			if s.never(p) {
				t.Fatalf("%v can't be run", p)
			}
			o := Observation{Point: p, TimeUS: us[p.Config][p.Size] * math.Exp(0.01*r.NormFloat64()), Seconds: 1}
			if us[p.Config][p.Size] == 0 {
				o.TimeUS, o.Failed = 0, true
			}
			history = append(history, o)
		}
	}
}

// The model ends on every kind of space with winners that were measured, within 5 % of the
// best.
func TestEnds(t *testing.T) {
	for _, prior := range []bool{false, true} {
		for _, n := range []int{1, 5} {
			s, us := latticeSpace(prior)
			s.Never = func(p Point) bool { return p.Config == 3 && p.Size > 2 }
			us[7] = make([]float64, len(s.Sizes)) // fails
			history := play(t, s, us, New(s, Options{Seed: 3}), n)
			for _, o := range New(s, Options{Seed: 3}).Outlook(history) {
				best := math.Inf(1)
				for c := range us {
					if x := us[c][o.Size]; x > 0 && !s.never(Point{c, o.Size}) {
						best = min(best, x)
					}
				}
				measured := slices.ContainsFunc(history, func(h Observation) bool { return h.Point == Point{o.Incumbent, o.Size} && !h.Failed })
				if !measured || !o.Done || us[o.Incumbent][o.Size] > 1.05*best {
					t.Errorf("prior %v, %d at a time: %+v, measured %v: %g µs, best %g", prior, n, o, measured, us[o.Incumbent][o.Size], best)
				}
			}
		}
	}
}

// A table is whole after a trial of every size.
func TestFirstAWholeTable(t *testing.T) {
	s, _ := latticeSpace(false)
	var sizes []int
	for _, p := range New(s, Options{Seed: 2}).Next(nil, len(s.Sizes)) {
		sizes = append(sizes, p.Size)
	}
	slices.Sort(sizes)
	if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(sizes, want) {
		t.Errorf("it begins with sizes %v", sizes)
	}
}

// What is next depends on the history, the seed and the space: not on the process, or on
// what was asked before.
func TestEqualHistoriesEqualTrials(t *testing.T) {
	s, us := latticeSpace(true)
	one := New(s, Options{Seed: 5})
	history := play(t, s, us, one, 1)
	for _, k := range []int{0, 1, 9, len(history) / 2, len(history) - 1, len(history)} {
		a, b := one.Next(history[:k], 4), New(s, Options{Seed: 5}).Next(history[:k], 4)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("after %d: %v and %v", k, a, b)
		}
		if k < len(history) && a[0] != history[k].Point {
			t.Errorf("after %d: %v, at first %v", k, a[0], history[k].Point)
		}
	}
}

// The model measures an outlier again, and its winner is not one.
func TestModelDoubtsAnOutlier(t *testing.T) {
	s, us := latticeSpace(true)
	x := New(s, Options{})
	var history []Observation
	again := 0
	for {
		next := x.Next(history, 1)
		if len(next) == 0 {
			break
		}
		p := next[0]
		o := Observation{Point: p, TimeUS: us[p.Config][p.Size], Seconds: 1}
		if slices.ContainsFunc(history, func(h Observation) bool { return h.Point == p }) {
			again++
		} else if p.Size == 4 {
			if again == 0 && len(history) < len(s.Sizes) {
				o.TimeUS *= 8 // the prior's choice of this size
			}
		}
		history = append(history, o)
	}
	logs := 0.0 // 1 % is what is left to gain in the mean
	for _, o := range x.Outlook(history) {
		best := math.Inf(1)
		for c := range us {
			best = min(best, us[c][o.Size])
		}
		if us[o.Incumbent][o.Size] > 1.03*best {
			t.Errorf("size %d: %g µs, best %g", o.Size, us[o.Incumbent][o.Size], best)
		}
		logs += math.Log(us[o.Incumbent][o.Size]/best) / float64(len(s.Sizes))
	}
	if mean := math.Exp(logs); mean > 1.01 {
		t.Errorf("%g of the best in the geometric mean", mean)
	}
}

// Trials of an earlier campaign save trials of this one, and choose no incumbent.
func TestModelTakesEarlierTrials(t *testing.T) {
	s, us := latticeSpace(false)
	alone := play(t, s, us, New(s, Options{}), 1)
	x := New(s, Options{Earlier: alone})
	if got := x.Outlook(nil)[0].Incumbent; got >= 0 {
		t.Errorf("incumbent %d without a trial", got)
	}
	if after := play(t, s, us, x, 1); 4*len(after) > 3*len(alone) {
		t.Errorf("%d trials with those of an earlier campaign, %d without", len(after), len(alone))
	}
}
