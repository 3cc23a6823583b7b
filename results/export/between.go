package export

import (
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// A file serves the sizes between those of its campaign, too, where the library may change its
// algorithm and a program falls behind. So the range of a file ends before the first size at
// which the library is faster:
//
//	4K        5.8K        8K          a Clock computes both times at some sizes between
//	served    served      …
//
// Where nothing can, times are taken to be straight in logarithms between measured sizes, and a
// program that the next size has no time of to grow in proportion to the size, at most.

// Clock computes times at sizes that a campaign has not, in microseconds.
type Clock interface {
	// Library returns the library's times of calls of these sizes; one that it can't compute
	// is missing. A placement is "in" or "out" of place.
	Library(placement string, sizes []int64) (map[int64]float64, error)
	// Program returns the time of a program with a trial's knobs.
	Program(p *ir.Program, t *results.Trial, bytes int64) (float64, error)
}

// between lists the sizes to try after a place, up to the last: four an octave, which is where
// a library changes its algorithm or its channels, and the very last. A file of a granularity
// serves them.
func between(at, last, granularity int64) (sizes []int64) {
	granularity = max(granularity, 1)
	try := func(n int64) {
		if n -= n % granularity; n > at && (len(sizes) == 0 || n > sizes[len(sizes)-1]) {
			sizes = append(sizes, n)
		}
	}
	for octave := at; octave <= last; octave *= 2 {
		for quarter := range int64(4) {
			if n := octave + octave/4*quarter; n <= last {
				try(n)
			}
		}
		if octave > last/2 {
			break
		}
	}
	try(last)
	return sizes
}

// ends returns, by place, the last size up to which the file that is open there is no slower
// than the library.
func (c *chooser) ends() ([]int64, error) {
	ends, open := make([]int64, len(c.places)), make([]*table.Measured, len(c.places))
	tried := map[string][]int64{} // by placement
	for i, at := range c.places {
		ends[i], open[i] = c.before(i), c.chosen[i]
		if i > 0 && open[i] == nil && c.gaps[i] == Refused && open[i-1] != nil && open[i-1].Placement == at.Placement && c.reader.passes(open[i-1].Trial, at.Bytes) {
			open[i] = open[i-1]
		}
		if open[i] != nil {
			tried[at.Placement] = append(tried[at.Placement], between(at.Bytes, ends[i], c.reader.granularity(open[i].Trial))...)
		}
	}
	if c.slower {
		return ends, nil
	}
	library := map[table.Cell]float64{}
	for placement, sizes := range tried {
		if c.clock == nil || len(sizes) == 0 {
			continue
		}
		slices.Sort(sizes)
		us, err := c.clock.Library(placement, slices.Compact(sizes))
		if err != nil {
			return nil, fmt.Errorf("the library's times between sizes: %w", err)
		}
		for bytes, t := range us {
			library[table.Cell{Placement: placement, Bytes: bytes}] = t
		}
	}
	for i, m := range open {
		c.stage(Timing, i, len(open))
		switch {
		case m == nil:
			continue
		case c.clock == nil && c.libraryUS(c.places[i]) == 0:
			continue // nothing says where the library gets ahead
		case c.clock == nil:
			ends[i] = c.crossing(i, m)
			continue
		}
		at, end := c.places[i], c.places[i].Bytes
		for _, n := range between(at.Bytes, ends[i], c.reader.granularity(m.Trial)) {
			us, err := c.clocked(m, n)
			if err != nil {
				return nil, err
			}
			t, known := library[table.Cell{Placement: at.Placement, Bytes: n}]
			if !known {
				t = c.straight(i, n)
			}
			if t > 0 && slower(us, t) {
				ends[i] = end
				break
			}
			end = n
		}
	}
	return ends, nil
}

// clocked is what the clock says of a configuration's file at a size: of its program as the
// runtime reads it, with the tile that it uses there.
func (c *chooser) clocked(m *table.Measured, bytes int64) (us float64, err error) {
	p, err := c.load(m)
	if err != nil {
		return 0, err
	}
	t := *m.Trial
	t.TileBytes = c.reader.tileAt(m.Trial, bytes)
	if us, err = c.clock.Program(p, &t, bytes); err != nil {
		err = fmt.Errorf("%s at %d bytes: %w", m.Title(), bytes, err)
	}
	return us, err
}

// load returns a configuration's program as the runtime reads it from its file. It keeps the
// last.
func (c *chooser) load(m *table.Measured) (*ir.Program, error) {
	of := c.reader.fileKey(m.Trial)
	if c.loaded.program != nil && c.loaded.of == of {
		return c.loaded.program, nil
	}
	p, err := c.campaign.Program(m.Program)
	if err == nil {
		p, err = c.reader.loaded(p, m.Protocol)
	}
	c.loaded.of, c.loaded.program = of, p
	return p, err
}

// asLoaded returns a configuration with the time of its program as the runtime reads it, where
// that is another program than was run.
func (c *chooser) asLoaded(m *table.Measured) (*table.Measured, error) {
	if c.clock == nil || c.slower {
		return m, nil
	}
	p, err := c.load(m)
	if err != nil || p.Hash() == m.Program {
		return m, err
	}
	loaded := *m
	loaded.TimeUS, err = c.clocked(m, m.Bytes)
	loaded.CIUS = [2]float64{loaded.TimeUS, loaded.TimeUS}
	return &loaded, err
}

// crossing is the last size after a place at which a program is no slower than the library, by
// what was measured there and at the next.
func (c *chooser) crossing(i int, m *table.Measured) int64 {
	last := c.before(i)
	at := c.places[i]
	if last == at.Bytes {
		return last
	}
	next := c.places[i+1]
	library := [2]float64{c.libraryUS(at), c.libraryUS(next)}
	if library[1] == 0 {
		return last
	}
	ahead := [2]float64{} // logarithms of how much faster the program is
	for k, cell := range []table.Cell{at, next} {
		ahead[k] = math.Log(library[k] / c.timeAt(cell, m))
	}
	switch {
	case ahead[1] >= -sameTime:
		return last
	case ahead[0] <= 0:
		return at.Bytes
	}
	return min(last, int64(float64(at.Bytes)*math.Pow(float64(next.Bytes)/float64(at.Bytes), ahead[0]/(ahead[0]-ahead[1]))))
}

// straight is the library's time at a size after a place, straight in logarithms to the next;
// 0: nothing says it.
func (c *chooser) straight(i int, bytes int64) float64 {
	if c.before(i) == c.places[i].Bytes || c.libraryUS(c.places[i]) == 0 || c.libraryUS(c.places[i+1]) == 0 {
		return 0
	}
	at, next := c.places[i], c.places[i+1]
	share := math.Log(float64(bytes)/float64(at.Bytes)) / math.Log(float64(next.Bytes)/float64(at.Bytes))
	return c.libraryUS(at) * math.Pow(c.libraryUS(next)/c.libraryUS(at), share)
}

// timeAt is a program's time at a place: as it was measured, or in proportion to the size.
func (c *chooser) timeAt(at table.Cell, m *table.Measured) float64 {
	for i := range c.all[at] {
		o := &c.all[at][i]
		if c.reader.fileKey(o.Trial) != c.reader.fileKey(m.Trial) {
			continue
		}
		if refusal, err := c.refuses(o); err == nil && refusal == "" {
			return o.TimeUS
		}
	}
	return m.TimeUS * float64(at.Bytes) / float64(m.Bytes)
}

// sameTime is the relative difference up to which a program and the library count as equally
// fast.
const sameTime = table.SameTime

func faster(us, libraryUS float64) bool { return us < libraryUS*(1-sameTime) }
func slower(us, libraryUS float64) bool { return us > libraryUS*(1+sameTime) }
