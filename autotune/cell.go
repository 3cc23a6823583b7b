package autotune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

// cell is one size and placement, at which trials compete.
type cell struct {
	index         int // among the run's cells
	bytes         int64
	elem          int64 // bytes of an element
	placement     string
	trials        []*trial // once sorted by bound, then in the order of newCell
	classes       []class
	best          []*trial // the incumbent of each class, its fastest trial; nil while there is none
	requiredClass int      // the class that a trial must belong to
	unbounded     bool     // bounds exclude nothing; they only order the trials
	before        *cell    // of the same placement, a size below; nil at the least size
	sorted        bool     // trials are by bound
	next          int      // the trials before this one were measured or can't win
}

// trial is one program with its knobs, in a cell.
type trial struct {
	*candidate
	cell      *cell
	proto     topologies.Proto
	tile      int64
	bound     float64 // µs
	baseline  bool
	reference bool         // run for comparison only; it cannot win
	memberOf  []membership // by row of the table of classes
	record    results.Trial

	done    bool
	repeat  int // the last repetition
	wrong   bool
	outcome results.Outcome // of the last repetition
	note    string
	repeats [][]float64 // the iterations of each repetition that was ok
	time    float64     // their median
	seconds float64     // that the last repetition took
}

// membership is what is known so far of a trial and a class.
type membership uint8

const (
	unknown membership = iota
	isMember
	notMember
)

func (t *trial) ok() bool { return len(t.repeats) > 0 && !t.wrong }

// competes reports whether the trial can win anything.
func (t *trial) competes() bool { return t.ok() && !t.reference }

func (t *trial) chunk() int64 { return export.ChunkBytes(t.cell.bytes, t.cell.elem, t.loopChunks) }

func (t *trial) next() int {
	if !t.done {
		return 0
	}
	return t.repeat + 1
}

// newCells lists the cells of a problem by rising size, in-place calls first.
func newCells(p *Problem, candidates []*candidate) (cells []*cell) {
	elem := p.ElemBytes()
	classes := newClasses(elem, p.Op, p.DType)
	sizes := slices.Clone(p.Sizes)
	slices.Sort(sizes)
	before := map[string]*cell{} // by placement
	for _, n := range slices.Compact(sizes) {
		for _, placement := range []string{"in", "out"} {
			if slices.ContainsFunc(candidates, func(c *candidate) bool { return c.placement == placement }) {
				c := newCell(p, classes, candidates, n, elem, placement)
				c.index, c.before = len(cells), before[placement]
				before[placement] = c
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// newCell lists the trials of one size and placement, in a fixed order. Tiles with
// which a program runs alike make one trial, under the runtime's own tile if that
// is among them.
func newCell(p *Problem, classes []class, candidates []*candidate, bytes, elem int64, placement string) *cell {
	c := &cell{bytes: bytes, elem: elem, placement: placement, classes: classes, best: make([]*trial, len(classes)), requiredClass: requiredClassOf(p, classes), unbounded: p.OtherLinks}
	for _, cand := range candidates {
		if cand.placement != placement {
			continue
		}
		chunk := export.ChunkBytes(bytes, elem, cand.loopChunks)
		for _, proto := range cand.protocols {
			var kept []*trial
			for _, k := range c.knobs(p, cand, proto) {
				alike := slices.IndexFunc(kept, func(t *trial) bool { return export.SameTile(chunk, cand.maxCount, t.tile, k.tile) })
				if alike >= 0 {
					// A baseline that is also a regular trial competes.
					kept[alike].reference = kept[alike].reference && k.reference
					continue
				}
				kept = append(kept, &trial{candidate: cand, cell: c, proto: proto, tile: k.tile, baseline: k.baseline, reference: k.reference})
			}
			for _, t := range kept {
				t.record = cand.record(c, t)
				t.memberOf = make([]membership, len(classes))
			}
			kept = slices.DeleteFunc(kept, func(t *trial) bool { return !c.admit(t) })
			cand.possible = cand.possible || len(kept) > 0
			c.trials = append(c.trials, kept...)
		}
	}
	return c
}

// sortByBound computes the bounds of all trials, jobs at a time, and sorts the trials
// by them, once. The first bound of a program is the expensive one: it reads all of it.
func (c *cell) sortByBound(ctx context.Context, jobs int) error {
	if c.sorted {
		return nil
	}
	var asking errgroup.Group
	asking.SetLimit(max(jobs, 1))
	for from := 0; from < len(c.trials); {
		of := c.trials[from:]
		if end := slices.IndexFunc(of, func(t *trial) bool { return t.candidate != of[0].candidate }); end > 0 {
			of = of[:end]
		}
		from += len(of)
		asking.Go(func() error {
			for _, t := range of {
				if ctx.Err() != nil {
					return stopCause(ctx)
				}
				t.setBound(c.bytes)
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		return err
	}
	slices.SortStableFunc(c.trials, func(a, b *trial) int { return cmp.Compare(a.bound, b.bound) })
	c.sorted = true
	return nil
}

// setBound sets the trial's bound; 0 where none is known.
func (t *trial) setBound(bytes int64) {
	if t.Bound == nil {
		return
	}
	if b := t.Bound(bytes, t.proto, t.tile); b > 0 && !math.IsInf(b, 0) {
		t.bound = b
	}
}

// carriedOver returns the trials of this cell whose configuration is the best so far of
// the cell before, at the next smaller size. They are likely to be fast, and a fast
// incumbent excludes more trials.
func (c *cell) carriedOver() []*trial {
	if c.before == nil {
		return nil
	}
	var all []*trial
	for _, best := range c.before.best {
		if best == nil {
			continue
		}
		for _, t := range c.trials {
			// The cell may have an equivalent tile in place of the winner's.
			if t.candidate == best.candidate && t.proto == best.proto && !slices.Contains(all, t) &&
				export.SameTile(export.ChunkBytes(c.bytes, c.elem, t.loopChunks), t.maxCount, t.tile, best.tile) {
				all = append(all, t)
			}
		}
	}
	return all
}

// knob is a tile to try.
type knob struct {
	tile      int64
	baseline  bool // the vendor's library would choose it
	reference bool // run for comparison only
}

// knobs lists the tiles to try a candidate with, the vendor's first.
func (c *cell) knobs(p *Problem, cand *candidate, proto topologies.Proto) []knob {
	var list []knob
	for _, b := range cand.Baseline {
		if b.Bytes == c.bytes && b.Protocol == proto {
			tile := b.TileBytes
			if tile == 0 && cand.Program != nil {
				tile = p.ownTile(proto)
			}
			list = append(list, knob{tile, true, true})
		}
	}
	if cand.Reference || !slices.Contains(cand.allowedProtocols(p), proto) {
		return list
	}
	if cand.Setting != nil {
		if _, ok := cand.Setting.At(c.bytes, proto); !ok {
			return list
		}
	}
	if cand.Program == nil {
		return append(list, knob{0, false, false})
	}
	for _, tile := range p.tiles(proto) {
		list = append(list, knob{tile, false, false})
	}
	return list
}

// record returns the journal record of a trial that has not run yet.
func (cand *candidate) record(c *cell, t *trial) results.Trial {
	proto := t.proto.String()
	if cand.Chooses {
		proto = results.ProtocolAuto
	}
	r := results.Trial{
		Bytes: c.bytes, Placement: c.placement,
		Algorithm: cand.Algorithm, Source: cand.Source, Parameters: cand.Parameters,
		Channels: cand.Channels, Instances: cand.Instances,
		Protocol: proto, TileBytes: t.tile,
		Program: cand.Hash, LoopChunks: cand.loopChunks, MaxCount: cand.maxCount, Granularity: cand.granularity,
		Threadblocks: cand.threadblocks, Steps: cand.steps,
		Reference: t.reference,
	}
	if cand.Setting != nil {
		set, _ := cand.Setting.At(c.bytes, t.proto)
		r.Threadblocks, r.Evidence = set.Threadblocks, set.Evidence
	}
	return r
}

// admit reports whether a trial is to be run. A trial that the problem's runtime would
// not run is dropped, unless it is a setting of the runtime's own, or a baseline: then it becomes a reference.
func (c *cell) admit(t *trial) bool {
	if t.reference || t.Setting != nil || c.inClass(c.requiredClass, t) {
		return true
	}
	t.reference, t.record.Reference = t.baseline, t.baseline
	return t.baseline
}

// inClass reports whether a trial belongs to a class. The first call may be expensive:
// it may have to read the whole program.
func (c *cell) inClass(class int, t *trial) bool {
	if t.memberOf[class] == unknown {
		t.memberOf[class] = notMember
		if c.classes[class].contains(&t.record, t.Program) {
			t.memberOf[class] = isMember
		}
	}
	return t.memberOf[class] == isMember
}

// hopeless reports whether a trial can win none of its classes.
func (c *cell) hopeless(t *trial) bool {
	for i := range c.classes {
		if c.mayWin(i, t) && c.inClass(i, t) {
			return false
		}
	}
	return true
}

// mayWin reports whether a trial's bound lets it win a class that it belongs to: it is no more than the
// incumbent's time, where with an equal bound it could still win the tie, or about that, and the trial is
// lighter: so the table, which takes the lightest of those that are about as fast, misses none.
func (c *cell) mayWin(class int, t *trial) bool {
	best := c.best[class]
	if best == nil || c.unbounded || t.bound <= best.time {
		return true
	}
	if best.threadblocks < 1 || !table.AboutAsFast(t.bound, best.time) {
		return false
	}
	return table.Lighter(&t.record, &best.record) < 0
}

// faster orders trials that have a time like the winning table.
func faster(a, b *trial) int {
	return cmp.Or(cmp.Compare(a.time, b.time), table.Tie(&a.record, &b.record))
}

// addResult adds the result of a trial, or of one of its repetitions.
func (t *trial) addResult(r results.Trial) {
	t.done, t.tried, t.outcome, t.note = true, true, r.Outcome, r.Note
	t.repeat, t.seconds = max(t.repeat, r.Repeat), r.Seconds
	switch r.Outcome {
	case results.OK:
		t.repeats = append(t.repeats, r.TimesUS)
		t.time = results.Median(slices.Concat(t.repeats...))
	case results.Wrong:
		t.wrong = true
	case results.Crashed:
		t.crashes++
	}
}

// updateIncumbents compares newly measured trials with the incumbents.
func (c *cell) updateIncumbents(measured []*trial) {
	for i, best := range c.best {
		for _, t := range measured {
			if t.competes() && (best == nil || faster(t, best) < 0) && c.inClass(i, t) {
				best = t
			}
		}
		c.best[i] = best
	}
}

// recomputeIncumbents finds the incumbents anew after times have changed.
func (c *cell) recomputeIncumbents() {
	clear(c.best)
	c.updateIncumbents(c.trials)
}
