package model

import (
	"math"
	"slices"
	"strconv"
)

// unit is a guess at the bytes of a unit of work, of which each worker takes one in a round.
type unit struct {
	rests  [][]float64 // by size and value of the trait of workers; nil: times do not jump
	weight float64     // probability
}

// fewestCounts is the number of counts from which on jumps between them can be told.
const fewestCounts = 16

// counts are the numbers of workers that a trait's values are, 0 where one is no number;
// nil: it has too few.
func counts(names []string) []float64 {
	all, numbers := make([]float64, len(names)), 0
	for i, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			all[i] = float64(n)
			numbers++
		}
	}
	if numbers < fewestCounts {
		return nil
	}
	return all
}

// restsOf are, for a unit of some bytes, the part of the workers that the last units of work
// keep busy.
func (k *kinship) restsOf(unit float64) (all [][]float64) {
	for _, bytes := range k.bytes {
		work, row := math.Floor(bytes/unit+1e-6), make([]float64, len(k.count))
		for i, n := range k.count {
			if n > 0 {
				row[i] = math.Mod(work, n) / n
			}
		}
		all = append(all, row)
	}
	return all
}

// What is believed of units before any trial, and what is left out afterwards.
const (
	unitBelief = -3  // logarithm of how likely one is, compared with no jumps
	leastUnit  = 0.1 // weight, compared with the likeliest
)

// unitsOf weighs the guesses by the evidence: at the size that has most of it, from half a
// unit for each of the most workers to eight.
func (k *kinship) unitsOf(p params, all float64, data []evidence) (units []unit) {
	if k.workers < 0 {
		return nil
	}
	units = []unit{{nil, 1}}
	if len(data) == 0 {
		return units
	}
	trials := make([]int, len(k.bytes))
	for i := range data {
		trials[data[i].Size]++
	}
	bytes, most := k.bytes[slices.Index(trials, slices.Max(trials))], slices.Max(k.count)
	for n := math.Floor(most / 2); n <= 8*most; n++ {
		units = append(units, unit{k.restsOf(bytes / n), 1})
	}
	likeliest := math.Inf(-1)
	for i := range units {
		u := &units[i]
		p.units = []unit{*u}
		u.weight = k.with(p, all).given(data).likelihood()
		if u.rests != nil {
			u.weight += unitBelief
		}
		likeliest = max(likeliest, u.weight)
	}
	sum := 0.0
	for i := range units {
		if units[i].weight = math.Exp(units[i].weight - likeliest); units[i].weight >= leastUnit {
			sum += units[i].weight
		}
	}
	units = slices.DeleteFunc(units, func(u unit) bool { return u.weight < leastUnit })
	for i := range units {
		units[i].weight /= sum
	}
	return units
}
