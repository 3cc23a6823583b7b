package strategies_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/cmd/lab/strategies"
)

// Every strategy but the model, which has its own tests, ends with winners that were measured,
// within what it promises of the best, and makes no trial that can't be run.
func TestEveryStrategyEnds(t *testing.T) {
	s := &model.Space{Traits: []string{"family", "channels"}, Never: func(p model.Point) bool { return p.Config == 3 && p.Size > 2 }}
	for n := int64(1 << 10); n <= 1<<26; n <<= 2 {
		s.Sizes = append(s.Sizes, n)
	}
	var us [][]float64
	for family := range 3 {
		for channels := 1; channels <= 8; channels *= 2 {
			s.Configs = append(s.Configs, model.Config{Name: fmt.Sprint(family, channels), Traits: []string{fmt.Sprint("f", family), fmt.Sprint(channels)}})
			var row []float64
			for _, n := range s.Sizes {
				row = append(row, 5*float64(1+family)+float64(channels)+float64(n)/1e4/float64((3-family)*channels))
			}
			us = append(us, row)
		}
	}
	us[7] = make([]float64, len(s.Sizes)) // fails
	within := map[string]float64{"exhaustive": 1, "random": 1, "halving": 1.5, "descent": 1.1}
	for _, row := range strategies.Table {
		if row.Name == "model" {
			continue
		}
		x := row.New(s, model.Options{Seed: 3})
		var history []model.Observation
		for next := x.Next(nil, 5); len(next) > 0; next = x.Next(history, 5) {
			for _, p := range next {
				if s.Never(p) || slices.ContainsFunc(history, func(o model.Observation) bool { return o.Point == p }) {
					t.Fatalf("%s: %v can't be run, or was", row.Name, p)
				}
				history = append(history, model.Observation{Point: p, TimeUS: us[p.Config][p.Size], Failed: us[p.Config][p.Size] == 0})
			}
		}
		for _, o := range x.Outlook(history) {
			best := us[0][o.Size]
			for c := range us {
				if us[c][o.Size] > 0 && !s.Never(model.Point{Config: c, Size: o.Size}) {
					best = min(best, us[c][o.Size])
				}
			}
			measured := slices.ContainsFunc(history, func(h model.Observation) bool {
				return h.Point == model.Point{Config: o.Incumbent, Size: o.Size} && !h.Failed
			})
			if !measured || !o.Done || us[o.Incumbent][o.Size] > within[row.Name]*best {
				t.Errorf("%s: %+v, measured %v; best %g us", row.Name, o, measured, best)
			}
		}
	}
}
