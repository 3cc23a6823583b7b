package dispatcher

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/results/table"
)

// kin names what recipes have in common, the closest kin first.
var kin = []func(recipe) recipe{
	func(r recipe) recipe { return r },
	func(r recipe) recipe { r.tile = 0; return r },
	func(r recipe) recipe { r.tile, r.instances = 0, 0; return r },
	func(r recipe) recipe { return recipe{family: r.family, protocol: r.protocol} },
	func(r recipe) recipe { return recipe{family: r.family} },
	func(r recipe) recipe { return recipe{protocol: r.protocol} },
	func(recipe) recipe { return recipe{} },
}

// sameRouting is how many of kin are of one routing.
const sameRouting = 3

// corrections say on a number of nodes how far estimates are off: the median logarithm of
// measured ÷ estimated times, by size and placement, for each of kin.
type corrections map[table.Cell][]map[recipe]float64

func correct(measured, estimated times) corrections {
	all := corrections{}
	for at, recipes := range measured {
		known := false
		logs := make([]map[recipe][]float64, len(kin))
		for r, us := range recipes {
			guess, ok := estimated[at][r]
			if !ok {
				continue
			}
			known = true
			for i, of := range kin {
				if logs[i] == nil {
					logs[i] = map[recipe][]float64{}
				}
				logs[i][of(r)] = append(logs[i][of(r)], math.Log(us/guess))
			}
		}
		if !known {
			continue
		}
		medians := make([]map[recipe]float64, len(kin))
		for i := range kin {
			medians[i] = map[recipe]float64{}
			for k, all := range logs[i] {
				slices.Sort(all)
				medians[i][k] = all[len(all)/2]
			}
		}
		all[at] = medians
	}
	return all
}

// of returns the correction of a recipe by its closest kin; how close that is, an index of
// kin, or len(kin) where nothing is known.
func (c corrections) of(at table.Cell, r recipe) (log float64, close int) {
	for i, medians := range c[at] {
		if log, ok := medians[kin[i](r)]; ok {
			return log, i
		}
	}
	return 0, len(kin)
}

// between interpolates the corrections of the numbers of nodes on both sides. weight is the
// part of the upper one, from 0 to 1. A side that has only kin of other routings does not
// count where the other has the routing itself.
func between(low, high corrections, weight float64, at table.Cell, r recipe) float64 {
	a, i := low.of(at, r)
	b, j := high.of(at, r)
	switch {
	case j == len(kin) || i < sameRouting && j >= sameRouting:
		return a
	case i == len(kin) || j < sameRouting && i >= sameRouting:
		return b
	}
	return (1-weight)*a + weight*b
}

// prediction is the time in µs that is expected of a recipe.
type prediction struct {
	recipe
	us float64
}

// predict returns the expected times on a number of nodes of which estimates are known, by
// rising time, in each size and placement.
func predict(estimated times, low, high corrections, weight float64) map[table.Cell][]prediction {
	all := map[table.Cell][]prediction{}
	for at, recipes := range estimated {
		for r, us := range recipes {
			all[at] = append(all[at], prediction{r, us * math.Exp(between(low, high, weight, at, r))})
		}
		slices.SortFunc(all[at], func(a, b prediction) int {
			return cmp.Or(cmp.Compare(a.us, b.us), strings.Compare(a.routing, b.routing), cmp.Compare(a.instances, b.instances),
				strings.Compare(a.protocol, b.protocol), cmp.Compare(a.tile, b.tile))
		})
	}
	return all
}

// perSize is how many routings a short search tries for each size. On 4 nodes of frontier, left
// out between 1 and 16 (allgather, 1 MiB to 1 GiB by 4), the best of all was among them with 3;
// with 1 and 2 the best of them took 0.4 % longer in the geometric mean.
const perSize = 3

// promising returns the routings that are worth trying: at each size the first perSize.
func promising(all map[table.Cell][]prediction) map[string]bool {
	kept := map[string]bool{}
	for _, predictions := range all {
		first := map[string]bool{}
		for _, p := range predictions {
			if len(first) == perSize {
				break
			}
			first[p.routing], kept[p.routing] = true, true
		}
	}
	return kept
}
