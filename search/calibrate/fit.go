package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
)

// Point is a measured call, with the program that the library would run.
type Point struct {
	search.LibraryCall
	MeasuredUS float64 // microseconds
}

// Table is one collective on one number of nodes, measured at several sizes.
type Table struct {
	Topology *topologies.Topology // of that many nodes
	Points   []Point
}

// Row is a point with the simulator's times before and after the fit, in microseconds.
type Row struct {
	Point
	Table             int // the number of the table it is from
	BeforeUS, AfterUS float64
}

// Result is a calibration, and the simulator's times with it.
type Result struct {
	topologies.Calibration
	Rows []Row
}

// What is believed of a topology file. A link is never faster than the file says,
// which has it from a data sheet; what is faster than expected is put down to the
// threadblocks.
var (
	ofLinks = limits{0.2, 1}
	ofSpeed = limits{0.5, 2}
)

type limits struct{ least, most float64 }

// speed stands for the threadblocks, where the others are kinds of link.
const speed topologies.LinkKind = 1<<8 - 1

// clearly is the part by which the sum of errors must fall for another number to
// be taken.
const clearly = 0.03

// passes is how often every factor is looked for, because one may hold up what another
// was blamed for; mostTried is how many values of it are tried at most.
const (
	passes    = 2
	mostTried = 18
)

// fitting is a fit under way.
type fitting struct {
	tables []Table
	points []point // of all tables
	elem   int64
	jobs   int
	tell   func() // that all points have been simulated once more
}

// point is a point of a table. All points of a table together weigh as much as
// those of another.
type point struct {
	Point
	table  int
	weight float64
	launch float64 // what the file says
}

// pointsOf puts the points of all tables one after the other.
func pointsOf(tables []Table) (all []point) {
	count := 0
	for _, t := range tables {
		count += len(t.Points)
	}
	for i, t := range tables {
		for _, p := range t.Points {
			weight := float64(count) / float64(len(tables)*len(t.Points))
			all = append(all, point{p, i, weight, float64(t.Topology.Protocols[p.Protocol].Launch)})
		}
	}
	return all
}

// kinds are the kinds of link that any table's system has.
func kinds(tables []Table) (all []topologies.LinkKind) {
	for _, t := range tables {
		all = append(all, t.Topology.Kinds()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Fit finds the one calibration with which the simulator is nearest to all tables: with
// the least sum of |log(simulated / measured)|, in which all tables have the same weight.
// The tables' systems differ in nothing but the number of nodes. elem is the bytes of an
// element. Fewer than two points are an error, as is the end of ctx. progress, unless nil,
// is told the number of simulations of all points that are done, and the most there can be.
func Fit(ctx context.Context, tables []Table, elem int64, jobs int, progress func(done, of int)) (*Result, error) {
	points, links := pointsOf(tables), kinds(tables)
	if len(points) < 2 {
		return nil, fmt.Errorf("%s to fit to: want times at two sizes or more", units.Count(len(points), "time"))
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	of := 2 + passes*mostTried*(len(links)+1)
	done := 0
	f := &fitting{tables, points, elem, max(jobs, 1), func() { done++; progress(done, of) }}
	first, err := f.simulate(ctx, topologies.Calibration{})
	if err != nil {
		return nil, err
	}
	best := &candidate{times: map[topologies.LinkKind]float64{}}
	best.launch, best.loss = f.launch(first)
	if none := f.loss(first, 0); best.loss > none*(1-clearly) {
		best.launch, best.loss = 0, none
	}
	for range passes {
		before := best.loss
		for _, what := range append(links, speed) {
			if best, err = f.factor(ctx, best, what); err != nil {
				return nil, err
			}
		}
		if best.loss >= before {
			break
		}
	}
	return f.result(ctx, first, best)
}

// candidate is a calibration and the sum of its errors.
type candidate struct {
	times  map[topologies.LinkKind]float64 // those that are not 1
	launch units.Duration
	loss   float64
}

// calibration is the candidate as topologies know one.
func (c *candidate) calibration() topologies.Calibration {
	links := maps.Clone(c.times)
	delete(links, speed)
	return topologies.Calibration{Launch: c.launch, Speed: c.times[speed], Links: links}
}

// factor looks for how many times as fast links of a kind are, or threadblocks,
// with the launch that goes with each: on a coarse grid, and then between the
// neighbours of the best.
func (f *fitting) factor(ctx context.Context, from *candidate, what topologies.LinkKind) (*candidate, error) {
	within := ofLinks
	if what == speed {
		within = ofSpeed
	}
	tried := map[float64]*candidate{}
	try := func(times float64) (*candidate, error) {
		times = math.Round(math.Min(math.Max(times, within.least), within.most)*1000) / 1000
		if c := tried[times]; c != nil {
			return c, nil
		}
		c := &candidate{times: maps.Clone(from.times)}
		if c.times[what] = times; times == 1 {
			delete(c.times, what)
		}
		us, err := f.simulate(ctx, c.calibration())
		if err != nil {
			return nil, err
		}
		c.launch, c.loss = f.launch(us)
		tried[times] = c
		return c, nil
	}
	best, step := cmp.Or(from.times[what], 1), 1.35
	least, err := try(best)
	if err != nil {
		return nil, err
	}
	for times := within.least; times <= within.most; times *= step {
		c, err := try(times)
		if err != nil {
			return nil, err
		}
		if c.loss < least.loss {
			best, least = times, c
		}
	}
	for step = math.Sqrt(step); step > 1.005; step = math.Sqrt(step) {
		for _, times := range []float64{best / step, best * step} {
			c, err := try(times)
			if err != nil {
				return nil, err
			}
			if c.loss < least.loss {
				best, least = times, c
			}
		}
	}
	if least.loss > from.loss*(1-clearly) {
		return from, nil
	}
	return least, nil
}

// simulate is the times of the points without their launch, on a calibrated system.
func (f *fitting) simulate(ctx context.Context, c topologies.Calibration) ([]float64, error) {
	c.Launch = 0
	prepared := f.prepared(c)
	times, errs := make([]float64, len(f.points)), make([]error, len(f.points))
	var workers sync.WaitGroup
	next := make(chan int)
	for range min(f.jobs, len(f.points)) {
		workers.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					times[i], errs[i] = f.time(ctx, prepared[f.points[i].table][f.points[i].Program], i)
				}
			}
		})
	}
	for i := range f.points {
		next <- i
	}
	close(next)
	workers.Wait()
	f.tell()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", f.points[i].Name, units.Bytes(f.points[i].Bytes), err)
		}
	}
	return times, nil
}

// prepared prepares each program once, as soon as one of its points is simulated:
// a library runs few programs over all of a table's sizes.
func (f *fitting) prepared(c topologies.Calibration) []map[*ir.Program]func() (*sim.Prepared, error) {
	all := make([]map[*ir.Program]func() (*sim.Prepared, error), len(f.tables))
	for i, table := range f.tables {
		all[i] = map[*ir.Program]func() (*sim.Prepared, error){}
		t := table.Topology.Calibrated(c)
		for _, at := range table.Points {
			if all[i][at.Program] == nil {
				all[i][at.Program] = sync.OnceValues(func() (*sim.Prepared, error) { return sim.Prepare(at.Program, t) })
			}
		}
	}
	return all
}

// time is the time of a point without its launch.
func (f *fitting) time(ctx context.Context, prepared func() (*sim.Prepared, error), i int) (float64, error) {
	at := f.points[i]
	p, err := prepared()
	if err != nil {
		return 0, err
	}
	r, err := p.RunContext(ctx, sim.Knobs{Bytes: at.Bytes, Protocol: at.Protocol, TileBytes: at.Tile, ElemBytes: f.elem})
	return at.TimeUS(r.TimeUS) - at.launch, err
}

// loss is the sum of errors with a launch that is longer by more.
func (f *fitting) loss(us []float64, more float64) float64 {
	sum := 0.0
	for i, at := range f.points {
		sum += at.weight * math.Abs(math.Log(f.whole(us[i], i, more)/at.MeasuredUS))
	}
	return sum
}

// whole is a time with its launch.
func (f *fitting) whole(us float64, i int, more float64) float64 {
	return us + math.Max(0, f.points[i].launch+more)
}

// launch finds by how much the launch must be longer for the least errors: one of
// the points is met then, to a tenth of a microsecond.
func (f *fitting) launch(us []float64) (units.Duration, float64) {
	shortest := math.Inf(1)
	for _, at := range f.points {
		shortest = math.Min(shortest, at.launch)
	}
	best, least := 0.0, f.loss(us, 0)
	for i, at := range f.points {
		more := math.Max(math.Round((at.MeasuredUS-f.whole(us[i], i, 0))*10)/10, -math.Floor(shortest*10)/10)
		if l := f.loss(us, more); l < least {
			best, least = more, l
		}
	}
	return units.Duration(best), least
}

// result puts the candidate beside what was there before.
func (f *fitting) result(ctx context.Context, first []float64, best *candidate) (*Result, error) {
	r := &Result{Calibration: best.calibration()}
	last, err := f.simulate(ctx, r.Calibration)
	if err != nil {
		return nil, err
	}
	for i, at := range f.points {
		r.Rows = append(r.Rows, Row{at.Point, at.table, f.whole(first[i], i, 0), f.whole(last[i], i, float64(best.launch))})
	}
	return r, nil
}

// Off returns the simulator's error before and after the fit: the median over the points
// of |simulated / measured - 1|, so 0.1 is 10 %.
func (r *Result) Off() (before, after float64) { return off(r.Rows) }

// OffTable is Off of one table's points.
func (r *Result) OffTable(table int) (before, after float64) {
	return off(slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Table != table }))
}

func off(rows []Row) (before, after float64) {
	var b, a []float64
	for _, row := range rows {
		b = append(b, math.Abs(row.BeforeUS/row.MeasuredUS-1))
		a = append(a, math.Abs(row.AfterUS/row.MeasuredUS-1))
	}
	return median(b), median(a)
}

// median sorts; of an even number it is the mean of the two in the middle.
func median(of []float64) float64 {
	slices.Sort(of)
	n := len(of)
	return (of[(n-1)/2] + of[n/2]) / 2
}

// Doubtful reports whether threadblocks came out more than 1.5 times faster or slower
// than the file says: then the library probably runs something other than its model says.
func (r *Result) Doubtful() bool { return r.Speed > 1.5 || r.Speed > 0 && r.Speed < 1/1.5 }
