package autotune

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/results/export"
)

// A runtime that loads few files needs programs that serve several sizes well, even if
// they win at none of them. So once every cell has its winners, tuning runs the
// export's choice of files (export.Runtime.Cover) over all trials, with the bound of a
// trial in place of a time that is not measured yet. It measures what is chosen, and
// chooses again.
//
// Once every chosen trial is measured, no other choice can be better. The result does
// not depend on which other trials were measured, nor on interruptions, so an export
// chooses the same files.

// limitedRuntimes lists the indices of the classes whose runtimes load fewer files
// than there are cells.
func limitedRuntimes(classes []class, cells int) (all []int) {
	for i := range classes {
		if runtime := classes[i].runtime; runtime != nil && runtime.Files() < cells {
			all = append(all, i)
		}
	}
	return all
}

// dropUnexportable drops the trials of a finished cell that were not run and that no
// runtime of these classes could be given.
func (c *cell) dropUnexportable(classes []int) {
	c.trials = slices.Clip(slices.DeleteFunc(slices.Clone(c.trials), func(t *trial) bool {
		return !t.done && !slices.ContainsFunc(classes, func(i int) bool { return c.mayExport(i, t) })
	}))
}

// mayExport reports whether a trial could be exported to the runtime of a class, as far
// as is known without reading its program.
func (c *cell) mayExport(class int, t *trial) bool {
	if t.memberOf[class] == unknown && c.classes[class].runtime.Runs(&t.record, c.elem) != "" {
		t.memberOf[class] = notMember
	}
	return t.memberOf[class] != notMember && !t.reference && (!t.done || t.ok())
}

// cover chooses the trials that decide which files runtimes get.
type cover struct {
	*tuner
	cells   []*cell // by placement
	classes []int   // of runtimes that load few files
	class   int     // of these, the first that may be undecided
	chosen  []*trial
}

func newCover(r *tuner) cover {
	f := cover{tuner: r, cells: slices.Clone(r.cells)}
	slices.SortStableFunc(f.cells, func(a, b *cell) int { return cmp.Compare(a.placement, b.placement) })
	if len(r.cells) > 0 {
		f.classes = limitedRuntimes(r.cells[0].classes, len(r.cells))
	}
	return f
}

// next returns the trials to measure next, each as often as is left.
func (f *cover) next() []*trial {
	repeats := f.practice.repeats
	if len(f.chosen) > 0 {
		f.chosen = slices.DeleteFunc(f.chosen, func(t *trial) bool { return t.next() >= repeats })
		if len(f.chosen) == 0 && repeats > 1 {
			f.class = 0 // times that vary may have changed another's choice
		}
	}
	for ; len(f.chosen) == 0 && f.class < len(f.classes); f.class++ {
		if f.chosen = f.undecided(f.classes[f.class]); len(f.chosen) > 0 {
			f.summary.Undecided = f.cells[0].classes[f.classes[f.class]].name
			f.event.Runtime = f.summary.Undecided
			return f.chosen
		}
	}
	if len(f.chosen) == 0 {
		f.summary.Undecided = ""
	}
	return f.chosen
}

// undecided lists the trials that an export to the runtime of a class would choose by
// what is known so far, and that need more measurements.
func (f *cover) undecided(class int) []*trial {
	cells := f.cells
	for {
		places, from := make([]export.Place, len(cells)), make([][]*trial, len(cells))
		for i, c := range cells {
			places[i] = export.Place{Bytes: c.bytes, Placement: c.placement}
			for _, t := range c.trials {
				// Without a best, all that the runtime would run was made, and has
				// no result.
				if c.best[class] == nil || !c.mayExport(class, t) {
					continue
				}
				offer := export.Offer{Trial: &t.record, TimeUS: t.time}
				if !t.done {
					offer.TimeUS, offer.Bound = max(t.bound, math.SmallestNonzeroFloat64), true
				}
				places[i].Offers, from[i] = append(places[i].Offers, offer), append(from[i], t)
			}
		}
		var open []*trial
		refused := false
		for i, n := range cells[0].classes[class].runtime.Cover(places) {
			switch {
			case n < 0:
			case !cells[i].inClass(class, from[i][n]):
				refused = true
			case from[i][n].next() < f.practice.repeats:
				open = append(open, from[i][n])
			}
		}
		if !refused {
			return open
		}
	}
}
