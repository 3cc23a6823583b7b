package model

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

// knob is a hyperparameter that is learned, with the values tried for it.
type knob struct {
	of      func(*params) *float64
	guesses []guess
}

// guess is a value, and the logarithm of how likely it is before any trial.
type guess struct{ value, belief float64 }

// around guesses at powers of two times a value, from 2^low to 2^high.
func around(value float64, low, high int) (all []guess) {
	for i := low; i <= high; i++ {
		all = append(all, guess{math.Ldexp(value, i), -math.Abs(float64(i))})
	}
	return all
}

// knobs lists the hyperparameters of a space.
func knobs(first params) []knob {
	all := []knob{
		{func(p *params) *float64 { return &p.kin }, around(first.kin, -3, 3)},
		{func(p *params) *float64 { return &p.rough }, around(first.rough, -2, 3)},
		{func(p *params) *float64 { return &p.octaves }, around(first.octaves, -2, 2)},
		{func(p *params) *float64 { return &p.own }, around(first.own, -2, 3)},
	}
	if first.noise > 0 {
		all = append(all, knob{func(p *params) *float64 { return &p.noise }, around(first.noise, -3, 3)})
	}
	for t := range first.decay {
		all = append(all, knob{func(p *params) *float64 { return &p.decay[t] }, around(first.decay[t], -3, 3)})
	}
	return all
}

// learn climbs to the most likely hyperparameters: the best guess of one after another,
// twice.
func (k *kinship) learn(first params, all float64, data []evidence) params {
	if len(data) == 0 {
		first.units = k.unitsOf(first, all, data)
		return first
	}
	data = thinned(data, 120)
	p, learned := first, knobs(first)
	p.decay = slices.Clone(first.decay)
	beliefs := make([]float64, len(learned)) // of the values that p has
	for range 2 {
		p.units = k.unitsOf(p, all, data)
		most := k.with(p, all).given(data).likelihood()
		for _, b := range beliefs {
			most += b
		}
		for i, knob := range learned {
			at := knob.of(&p)
			best := guess{*at, beliefs[i]}
			for _, g := range knob.guesses {
				if g == best {
					continue
				}
				*at, beliefs[i] = g.value, g.belief
				log := k.with(p, all).given(data).likelihood()
				for _, b := range beliefs {
					log += b
				}
				if log > most {
					most, best = log, g
				}
			}
			*at, beliefs[i] = best.value, best.belief
		}
	}
	return p
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
