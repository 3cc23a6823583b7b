package accuracy

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/results/intervals"
)

// What shares of rows whose machine intervals were not made from they hold: of all rows, in the mean
// over machines, of which one generator of data has measured most rows, and of a zone's.
const (
	leastRows     = 0.91
	leastMachines = 0.85
	leastOfZone   = 0.80
	mostWider     = 2. // times, all intervals
	mostOfZone    = 8. // times, a zone's
)

// Study is what rows say of how far simulated times may be off.
type Study struct {
	rows    []Compared
	without map[string]*table // without each machine, as wide as the residuals ask
	whole   *table            // the same of all machines
	widths
}

// widths are how many times as wide as the residuals ask intervals are, for what the next machine
// adds: all, and some zones' once more, with those narrower ones that have too few rows to tell.
type widths struct {
	all   float64
	zones map[intervals.Zone]float64
}

// NewStudy returns the study of compared rows. Widths are the least, in steps of a twentieth, with
// which intervals hold what they should of the rows of a machine that is left out.
func NewStudy(rows []Compared) *Study {
	s := &Study{rows: rows, without: map[string]*table{}, whole: estimate(rows, "")}
	for i := range rows {
		if machine := rows[i].Machine; s.without[machine] == nil {
			s.without[machine] = estimate(rows, machine)
		}
	}
	var verdicts []Verdict
	for twentieths := 20; ; twentieths++ {
		s.all = float64(twentieths) / 20
		verdicts = s.LeaveOut()
		if inside, machines := Shares(verdicts); inside >= leastRows && machines >= leastMachines || s.all >= mostWider {
			break
		}
	}
	ofZone := map[intervals.Zone][]*Verdict{}
	for i := range verdicts {
		if v := &verdicts[i]; v.Supported() {
			for _, z := range v.zones() {
				ofZone[z] = append(ofZone[z], v)
			}
		}
	}
	zones := map[intervals.Zone]float64{}
	for z, of := range ofZone {
		for twentieths := 20; len(of) >= intervals.JudgedRows && twentieths <= 20*mostOfZone; twentieths++ {
			inside, wider := 0, float64(twentieths)/20
			for _, v := range of {
				if v.Interval.Wider(wider).Holds(v.TimeUS / v.SimulatedUS) {
					inside++
				}
			}
			if float64(inside) >= leastOfZone*float64(len(of)) {
				zones[z] = wider
				break
			}
		}
	}
	s.zones = zones
	return s
}

// Table returns the table to be shipped.
func (s *Study) Table() *intervals.Table {
	t := s.whole.wider(s.widths)
	held := countZones(s.LeaveOut())
	for i := range t.Entries {
		t.Entries[i].Held = held[t.Entries[i].Zone].Share()
	}
	return t
}

// LeaveOut leaves out one machine at a time, whose data sets the manifest calls so, and holds its
// rows to what the others say.
func (s *Study) LeaveOut() []Verdict {
	return judge(s.rows, func(machine string) *intervals.Table { return s.without[machine].wider(s.widths) })
}

// table is one that is being made.
type table struct {
	intervals.Table
	next map[intervals.Zone]intervals.Zone // the next wider zone of each
}

// wider returns the table with wider intervals. One that would say too little is no wider than says
// something, if its residuals are not.
func (t *table) wider(w widths) *intervals.Table {
	wide := &intervals.Table{Entries: slices.Clone(t.Entries), Constants: t.Constants}
	for i := range wide.Entries {
		e := &wide.Entries[i]
		once, known, ok := 1., false, true
		for z := e.Zone; ok && !known; z, ok = t.next[z] {
			once, known = w.zones[z]
		}
		times := w.all * max(once, 1)
		if most := e.MostWider(); most >= 1 {
			times = min(times, most)
		}
		e.Interval = e.Interval.Wider(times)
	}
	return wide
}

// estimate returns the table of rows, without those of a machine, whose constants stay known.
func estimate(all []Compared, without string) *table {
	e := estimator{map[intervals.Zone]map[string][]float64{}, map[intervals.Zone]intervals.Zone{}, map[intervals.Zone][]weighed{}}
	constants := map[string]bool{}
	for i := range all {
		c := &all[i]
		if !c.Guessed {
			constants[c.System.Constants] = true
		}
		if c.Machine == without {
			continue
		}
		zones := c.System.Zones(c.Call)
		for j, z := range zones[1:] {
			e.wider[zones[j]] = z
		}
		for _, z := range c.zones() {
			if e.logs[z] == nil {
				e.logs[z] = map[string][]float64{}
			}
			e.logs[z][c.Machine] = append(e.logs[z][c.Machine], math.Log(c.TimeUS/c.SimulatedUS))
		}
	}
	t := &table{intervals.Table{Constants: slices.Sorted(maps.Keys(constants))}, e.wider}
	for z, machines := range e.logs {
		rows := slices.Concat(slices.Collect(maps.Values(machines))...)
		slices.Sort(rows)
		from := e.residuals(z)
		interval := intervals.Interval{
			Low: math.Exp(min(at(from, 0.05), Percentile(rows, 0.05))), Median: math.Exp(at(from, 0.5)), High: math.Exp(max(at(from, 0.95), Percentile(rows, 0.95))),
		}
		t.Entries = append(t.Entries, intervals.Entry{Zone: z, Interval: interval, Machines: len(machines), Rows: len(rows), Held: 1})
	}
	slices.SortFunc(t.Entries, func(a, b intervals.Entry) int { return intervals.CompareZones(a.Zone, b.Zone) })
	return t
}

// zones are those that a row counts for.
func (c *Compared) zones() []intervals.Zone {
	all := c.System.Zones(c.Call)
	if c.Guessed {
		return all[:min(len(all), 1)]
	}
	return all
}

// estimator has the residuals of zones by machine, the next wider zone of each, and what it made.
type estimator struct {
	logs  map[intervals.Zone]map[string][]float64
	wider map[intervals.Zone]intervals.Zone
	made  map[intervals.Zone][]weighed
}

// weighed is a residual with its weight.
type weighed struct{ log, weight float64 }

// points are how many residuals a wider zone is cut down to.
const points = 50

// residuals returns those of the next machine in a zone, sorted, with weights that sum to 1. It is
// as one of the machines that measured the zone, or as any that measured the next wider one, each as
// likely as the others, however many rows it has.
func (e *estimator) residuals(z intervals.Zone) []weighed {
	if known := e.made[z]; known != nil {
		return known
	}
	var all []weighed
	machines := float64(len(e.logs[z]))
	if next, ok := e.wider[z]; ok {
		if from := e.residuals(next); len(from) > 0 {
			machines++
			for i := range points {
				all = append(all, weighed{at(from, (float64(i)+0.5)/points), 1. / points / machines})
			}
		}
	}
	for _, logs := range e.logs[z] {
		for _, l := range logs {
			all = append(all, weighed{l, 1 / float64(len(logs)) / machines})
		}
	}
	// Equal residuals by weight as well, so that sums have one order.
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Or(cmp.Compare(a.log, b.log), cmp.Compare(a.weight, b.weight)) })
	e.made[z] = all
	return all
}

// at returns the residual below which a share of the weight lies. One stands at the middle of its
// weight; between two it is interpolated.
func at(all []weighed, share float64) float64 {
	sum := 0.0
	for i, w := range all {
		middle := sum + w.weight/2
		if middle >= share {
			if i == 0 {
				return w.log
			}
			before := all[i-1]
			part := (share - (sum - before.weight/2)) / (middle - (sum - before.weight/2))
			return before.log + part*(w.log-before.log)
		}
		sum += w.weight
	}
	return all[len(all)-1].log
}

// Percentile returns the value below which the share p of sorted values lies,
// interpolated. It needs at least one value.
func Percentile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	next := min(i+1, len(sorted)-1)
	return sorted[i] + (at-float64(i))*(sorted[next]-sorted[i])
}
