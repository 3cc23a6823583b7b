package autotune

import (
	"context"

	"github.com/colltune/colltune/autotune/model"
)

// everything are all points of a space, size by size.
type everything struct{ *space }

func startExhaustive(r *tuner) chooser {
	b := newByModel(r, func(_ context.Context, f *follower) error {
		f.policy = everything{f.space}
		return nil
	})
	b.wholly = true
	return b
}

func (e everything) Next(history []model.Observation, n int) (next []model.Point) {
	for _, all := range e.left(history) {
		next = append(next, all[:min(n-len(next), len(all))]...)
	}
	return next
}

// Outlook says that a size is done with the last of its points.
func (e everything) Outlook(history []model.Observation) (all []model.Outlook) {
	for size, left := range e.left(history) {
		o := model.Outlook{Size: size, Incumbent: -1, Done: len(left) == 0}
		if !o.Done {
			o.Next = left[0]
		}
		all = append(all, o)
	}
	return all
}

// left lists the points that were not measured, by size.
func (e everything) left(history []model.Observation) [][]model.Point {
	seen := map[model.Point]bool{}
	for _, o := range history {
		seen[o.Point] = true
	}
	all := make([][]model.Point, len(e.Sizes))
	for size := range all {
		for config := range e.Configs {
			if p := (model.Point{Config: config, Size: size}); !e.Never(p) && !seen[p] {
				all[size] = append(all[size], p)
			}
		}
	}
	return all
}
