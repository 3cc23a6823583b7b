package calibrate

import (
	"cmp"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/topologies"
)

// Origin says who chose what ran.
type Origin uint8

// The origins. What the library ran is known only by its cost model; of a program every
// instruction is known.
const (
	Library Origin = iota
	Program
)

// Origins lists all origins.
var Origins = [...]Origin{Library, Program}

// String returns library or program.
func (o Origin) String() string { return [...]string{"library", "program"}[o] }

// Point is a measured call, with the program that ran, or that the library would run.
type Point struct {
	Bytes    int64
	Name     string // ring ×24 LL
	Program  *ir.Program
	Protocol topologies.Proto
	Tile     int64 // bytes; 0: the protocol's own
	// ExtraUS and LeastUS are what a library's call takes beyond its program's simulated time, and
	// at least, in microseconds.
	ExtraUS, LeastUS float64
	MeasuredUS       float64 // microseconds
}

// Called is a library's call, by the time from its program, that was measured.
func Called(t *library.Time, measuredUS float64) Point {
	return Point{t.Bytes, t.Name, t.Program, t.Protocol, t.Tile, t.ExtraUS, t.LeastUS, measuredUS}
}

// simulatedUS is the call's time, given the simulated one of its program.
func (p *Point) simulatedUS(program float64) float64 { return max(program+p.ExtraUS, p.LeastUS) }

// Table is measured calls of one origin on one number of nodes.
type Table struct {
	File       string // or the campaign's folder, without folders above it
	Collective string
	DType      string               // of the library's calls; empty of programs
	Topology   *topologies.Topology // of that many nodes
	Origin     Origin
	Elem       int64 // bytes of an element
	Points     []Point
}

// Row is a point with the simulator's times before and after the fit, in microseconds.
type Row struct {
	Point
	Origin            Origin
	Table             int  // the number of the table it is from
	Judged            bool // it is not fitted to, but judges the fit
	BeforeUS, AfterUS float64
}

// series is what rows of rising sizes have in common: a table of the library's calls, or
// a program with its protocol and tile.
type series struct {
	table    int
	program  *ir.Program
	protocol topologies.Proto
	tile     int64
}

// sizeOf is the rows of a table that have a size.
type sizeOf struct {
	table int
	bytes int64
}

// split divides rows into a half to fit to and a half to judge by. Series by series, and
// by rising size, each row goes where there are fewer of its series and of its size, so
// that sizes, collectives and programs are spread over both: a single table's sizes go
// to either half in turn. Rows of one series and size stay together.
func split(rows []Row) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	seriesOf, first := make([]series, len(rows)), map[series]int{}
	for i, r := range rows {
		s := series{table: r.Table}
		if r.Origin == Program {
			s = series{r.Table, r.Program, r.Protocol, r.Tile}
		}
		if seriesOf[i] = s; first[s] == 0 {
			first[s] = i + 1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(first[seriesOf[a]], first[seriesOf[b]]), cmp.Compare(rows[a].Bytes, rows[b].Bytes))
	})
	bySeries, bySize, all := map[series]int{}, map[sizeOf]int{}, 0 // rows to fit to, less those that judge
	for k, i := range order {
		r, s, z := &rows[i], seriesOf[i], sizeOf{rows[i].Table, rows[i].Bytes}
		if k > 0 && seriesOf[order[k-1]] == s && rows[order[k-1]].Bytes == r.Bytes {
			r.Judged = rows[order[k-1]].Judged
			continue
		}
		r.Judged = cmp.Or(bySeries[s]+bySize[z], all) > 0
		step := 1
		if r.Judged {
			step = -1
		}
		bySeries[s], bySize[z], all = bySeries[s]+step, bySize[z]+step, all+step
	}
}

// Errors is how far off the simulator is over some rows, before and after a fit.
type Errors struct {
	Rows          int
	Before, After Error
}

// Error is how far off simulated times are.
type Error struct {
	Median float64 // of |simulated ÷ measured - 1|: 0.1 is 10 %
	Mean   float64 // of |log(simulated ÷ measured)|
}

// repeat is by how much times of one call differ when it is measured again, as a part.
const repeat = 0.02

// rounding is that of sums of errors.
const rounding = 1e-9

// zone is rows that a fit is not to spoil for others: those of an origin, in all or in a
// band of sizes (intervals.Bands).
type zone struct {
	Origin
	band string // empty: all
}

// String names a zone, for people.
func (z zone) String() string {
	of := [...]string{Library: "the library", Program: "programs"}[z.Origin]
	if z.band != "" {
		of += " " + z.band
	}
	return of
}

// zones lists all zones: of each origin all its rows, and then each band.
var zones = func() (all []zone) {
	for _, o := range Origins {
		for _, band := range append([]string{""}, intervals.Bands()...) {
			all = append(all, zone{o, band})
		}
	}
	return all
}()

func (z zone) has(r *Row) bool {
	return r.Origin == z.Origin && (z.band == "" || z.band == intervals.BandOf(r.Bytes))
}

// shared is the part of what all rows of an origin gain that a band may lose.
const shared = 0.5

// slack is by how much the mean error over a zone may grow where it is fitted to: over a band by
// what measuring again would change, or by part of what all rows of its origin gain, as one
// constant serves all sizes.
func (z zone) slack(gain float64) float64 {
	if z.band != "" {
		return max(repeat, shared*gain)
	}
	return rounding
}

// worse reports whether the errors over a zone that judges are larger after a fit: over
// all rows in the mean or in the median, over a band in the mean, beyond what measuring
// both halves again would change, or its part of what all rows gain.
func (e Errors) worse(z zone, all Errors) bool {
	allowed := max(2*z.slack(0), z.slack(all.Before.Mean-all.After.Mean))
	return e.After.Mean > e.Before.Mean+allowed || z.band == "" && e.After.Median > e.Before.Median+rounding
}

// errorsOf returns the errors over the rows that are asked for.
func errorsOf(rows []Row, of func(*Row) bool) Errors {
	var before, after []float64
	for i := range rows {
		if r := &rows[i]; of(r) {
			before, after = append(before, r.BeforeUS/r.MeasuredUS), append(after, r.AfterUS/r.MeasuredUS)
		}
	}
	return Errors{len(before), errorOf(before), errorOf(after)}
}

// errorOf returns the error of ratios simulated ÷ measured; 0 of none.
func errorOf(ratios []float64) (e Error) {
	if len(ratios) == 0 {
		return e
	}
	var off []float64
	for _, r := range ratios {
		off = append(off, math.Abs(r-1))
		e.Mean += math.Abs(math.Log(r)) / float64(len(ratios))
	}
	e.Median = median(off)
	return e
}

// median sorts; of an even number it is the mean of the two in the middle.
func median(of []float64) float64 {
	slices.Sort(of)
	n := len(of)
	return (of[(n-1)/2] + of[n/2]) / 2
}
