package strategy

import (
	"math"
	"slices"
)

// The hyperparameters are learned anew whenever the evidence has grown by a quarter, from
// the trials until then: so they depend on the history alone.

// learnAt is the length of the longest part of a history of n trials from which
// hyperparameters are learned, and 0 if n is too few.
func learnAt(n int) (at int) {
	for k := 6; k <= n; k += max(1, k/4) {
		at = k
	}
	return at
}

// guesses are the values that are tried for each hyperparameter, as multiples of the first
// guess, with the logarithm of what is believed of each before any trial.
var guesses = []guess{{1.0 / 8, -3}, {1.0 / 4, -2}, {1.0 / 2, -1}, {1, 0}, {2, -1}, {4, -2}, {8, -3}}

type guess struct{ factor, belief float64 }

// knob is a hyperparameter that is learned. set returns false for values out of range.
type knob func(p *params, factor float64, first *params) bool

// knobs lists the hyperparameters of a space.
func (s *Space) knobs() []knob {
	all := []knob{
		func(p *params, f float64, first *params) bool { p.kin = first.kin * f; return true },
		func(p *params, f float64, first *params) bool { p.noise = first.noise * f; return p.noise >= 0.003 },
		func(p *params, f float64, first *params) bool { p.rough = first.rough * f; return f >= 0.25 },
		func(p *params, f float64, first *params) bool {
			p.octaves = first.octaves * f
			return f >= 0.25 && f <= 4
		},
		func(p *params, f float64, first *params) bool { p.own = first.own * f; return p.own < 1 && f >= 0.25 },
	}
	for t := range s.Traits {
		all = append(all, func(p *params, f float64, first *params) bool {
			p.relevance[t] = math.Pow(first.relevance[t], f)
			return true
		})
	}
	return all
}

// learn climbs to the most likely hyperparameters: the best guess of one after another,
// twice.
func (k *kinship) learn(s *Space, first params, all float64, data []evidence) params {
	if len(data) == 0 {
		return first
	}
	data = thinned(data, 120)
	knobs := s.knobs()
	chosen := make([]int, len(knobs)) // indices of guesses
	for i := range chosen {
		chosen[i] = slices.IndexFunc(guesses, func(g guess) bool { return g.factor == 1 })
	}
	value := func() (params, float64) {
		p, belief := first, 0.0
		p.relevance = make([]float64, len(first.relevance))
		for i, set := range knobs {
			g := guesses[chosen[i]]
			if !set(&p, g.factor, &first) {
				return p, math.Inf(-1)
			}
			belief += g.belief
		}
		return p, k.with(p, all).given(data).likelihood() + belief
	}
	best, most := value()
	for range 2 {
		for i := range chosen {
			kept := chosen[i]
			for g := range guesses {
				if chosen[i] = g; g == kept {
					continue
				}
				if p, log := value(); log > most {
					best, most, kept = p, log, g
				}
			}
			chosen[i] = kept
		}
	}
	return best
}

// thinned keeps at most about n of the evidence, evenly.
func thinned(data []evidence, n int) []evidence {
	step := (len(data) + n - 1) / n
	if step < 2 {
		return data
	}
	var some []evidence
	for i := 0; i < len(data); i += step {
		some = append(some, data[i])
	}
	return some
}
