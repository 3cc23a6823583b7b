package libraries

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colltune/colltune/autotune/strategy"
)

// Point is a call worth measuring next: a library under conditions, at a size.
type Point struct {
	Row           // without times
	Again bool    // it was measured before
	Gain  float64 // part of the fastest time at its size that further trials are expected to save
}

// Next returns the n points worth most to measure next among the sizes, which rise, by the
// strategy of few trials (package strategy, model). It knows the table's times at these sizes
// and no others. There are fewer where less than 1 % is expected of the rest. A library that was measured under several
// conditions, such as of several kernels, is a candidate under each.
func (c *Curves) Next(sizes []int64, n int, seed int64) ([]Point, error) {
	space := &strategy.Space{Sizes: sizes, Traits: slices.Concat([]string{"library", "version"}, ConditionNames())}
	candidates := c.candidates()
	for _, r := range candidates {
		space.Configs = append(space.Configs, strategy.Config{
			Name:   strings.Join(slices.Concat([]string{r.Library, r.Version}, r.Conditions[:]), " "),
			Traits: slices.Concat([]string{r.Library, r.Version}, r.Conditions[:]),
		})
	}
	var history []strategy.Observation
	for _, r := range c.rows {
		size, asked := slices.BinarySearch(sizes, r.Bytes)
		if !asked {
			continue
		}
		i, _ := slices.BinarySearchFunc(candidates, r, compareCandidates)
		history = append(history, strategy.Observation{Point: strategy.Point{Config: i, Size: size}, TimeUS: r.TimeUS})
	}
	model, err := strategy.Named("model")
	if err != nil {
		return nil, err
	}
	s := model.New(space, strategy.Options{Seed: seed})
	gains := s.Outlook(history)
	var points []Point
	seen := map[strategy.Point]bool{} // of a batch, a point is printed once, whatever its trials
	for _, p := range s.Next(history, n) {
		if seen[p] {
			continue
		}
		seen[p] = true
		row := *candidates[p.Config]
		row.Bytes, row.TimeUS, row.LowUS, row.HighUS, row.Runs, row.Source = sizes[p.Size], 0, 0, 0, 0, ""
		points = append(points, Point{
			Row:   row,
			Again: slices.ContainsFunc(history, func(o strategy.Observation) bool { return o.Point == p }),
			Gain:  gains[p.Size].Gain,
		})
	}
	return points, nil
}

// candidates are the query's libraries under their conditions, in order.
func (c *Curves) candidates() []*Row {
	all := slices.Clone(c.rows)
	slices.SortStableFunc(all, compareCandidates)
	return slices.CompactFunc(all, func(a, b *Row) bool { return compareCandidates(a, b) == 0 })
}

func compareCandidates(a, b *Row) int {
	return cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version), slices.Compare(a.Conditions[:], b.Conditions[:]))
}
