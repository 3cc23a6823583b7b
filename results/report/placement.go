package report

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// placement is the part of a page about one placement.
type placement struct {
	Name     string // in or out
	Title    string // if there are two
	Verdict  []string
	Rows     []row
	Omitted  string // a note on omitted rows; empty: none
	Interval bool   // times vary
	Compared bool   // some row has a baseline
	Bounded  bool   // some row has a bound
	Banded   bool   // simulated figures have intervals
	Bus      bool   // rows have bus bandwidths
	Strip    *chart
	Band     *chart
	Speedup  *chart
	Front    *front
	Families []family
	Others   []other
}

// row is a line of the winning table.
type row struct {
	Size, Algorithm, Parameters, Protocol, Tile        string
	Channels, Instances                                int
	Time, Low, High, AlgBW, BusBW                      string
	Baseline, BaselineTime, Speedup, Bound, IR, Colour string
	TimeBand, SpeedupBand, SpeedupVerdict              string
	Begins                                             bool // it has another winner than the line before
	Unchecked                                          bool // some of its measurements' data were not checked
}

// mostTableRows is the most rows of a table that is printed whole. Of a longer one the
// rows that begin or end a range are printed.
const mostTableRows = 200

// palette is the number of colours. If there are more algorithms, some share one.
const palette = 8

// colours gives a colour to every algorithm that wins somewhere; the first colour
// goes to the one that wins most.
func colours(t *table.Table) map[string]string {
	wins := map[string]int{}
	for i := range t.Rows {
		wins[t.Rows[i].Algorithm]++
	}
	of := map[string]string{}
	for i, n := range byCount(wins) {
		of[n] = fmt.Sprintf("c%d", i%palette+1)
	}
	return of
}

// newPlacement makes the part about one placement; nil if nothing of it was measured.
func newPlacement(name string, sizes []int64, t *table.Table, curves []table.Curve, colour map[string]string) *placement {
	var rows []*table.Row
	for i := range t.Rows {
		if t.Rows[i].Placement == name {
			rows = append(rows, &t.Rows[i])
		}
	}
	if len(rows) == 0 {
		return nil
	}
	p := &placement{Name: name, Title: results.PlacementText(name)}
	for _, r := range rows {
		p.Interval = p.Interval || r.TimeCIUS[0] != r.TimeCIUS[1]
		p.Compared = p.Compared || r.Speedup != nil
		p.Bounded = p.Bounded || r.BoundUS != nil
		p.Banded = p.Banded || r.TimeBandUS != nil || r.Verdict() != ""
		p.Bus = p.Bus || r.BusBW != nil
	}
	p.Verdict = verdict(rows)
	p.table(rows, colour)
	p.Strip = strip(sizes, name, t.Ranges, colour)
	if p.Bus {
		p.Band = bandwidth(sizes, rows)
	}
	p.Speedup, p.Front = speedup(sizes, rows), newFront(name, t)
	p.families(sizes, curves, rows, colour)
	return p
}

// table fills in the rows of the table, at most mostTableRows.
func (p *placement) table(rows []*table.Row, colour map[string]string) {
	begins := func(i int) bool {
		return i == 0 || rows[i].IR != rows[i-1].IR || rows[i].Algorithm != rows[i-1].Algorithm || rows[i].Protocol != rows[i-1].Protocol ||
			rows[i].TileBytes != rows[i-1].TileBytes || parametersText(rows[i].Parameters) != parametersText(rows[i-1].Parameters)
	}
	for i, r := range rows {
		last := i == len(rows)-1
		if len(rows) > mostTableRows && !begins(i) && !last && !begins(i+1) {
			continue
		}
		if len(p.Rows) >= mostTableRows-1 && !last {
			continue
		}
		compared := r.Compared()
		line := row{
			Size: sizeText(r.Bytes), Algorithm: clip(r.Algorithm, wordRoom), Parameters: parametersText(r.Parameters), Protocol: r.Protocol,
			Channels: r.Channels, Instances: r.Instances,
			Time: brief(r.TimeUS), Low: brief(r.TimeCIUS[0]), High: brief(r.TimeCIUS[1]), AlgBW: brief(r.AlgBW), BusBW: briefOr(r.BusBW), Unchecked: r.Checked != nil && !*r.Checked,
			Baseline: clip(compared.Baseline, wordRoom), BaselineTime: briefOr(compared.TimeUS), Speedup: briefOr(compared.Speedup), TimeBand: bandText(r.TimeBandUS), SpeedupBand: bandText(compared.SpeedupBand), Bound: briefOr(r.BoundRatio), IR: results.ShortHash(r.IR),
			Colour: colour[r.Algorithm], Begins: begins(i),
		}
		line.SpeedupVerdict = r.Verdict()
		if r.TileBytes > 0 {
			line.Tile = sizeText(r.TileBytes)
		}
		p.Rows = append(p.Rows, line)
	}
	if n := len(rows) - len(p.Rows); n > 0 {
		p.Omitted = fmt.Sprintf("%d of %d sizes; the others are left out, of those with one winner all but the first and the last. colltune results prints all.", len(p.Rows), len(rows))
	}
}

// verdict sums up a placement in sentences.
func verdict(rows []*table.Row) (says []string) {
	faster, asCalled, compared, left, logs := 0, 0, 0, 0, 0.0
	verdicts := map[string]int{}
	var most, busiest, nearest *table.Row
	for _, r := range rows {
		if r.BusBW != nil && (busiest == nil || *r.BusBW > *busiest.BusBW) {
			busiest = r
		}
		if r.BoundRatio != nil && (nearest == nil || *r.BoundRatio > *nearest.BoundRatio) {
			nearest = r
		}
		verdicts[r.Verdict()]++
		if r.FasterAsCalled() {
			asCalled++
		}
		if r.LeaveToLibrary {
			left++
		}
		if r.Speedup == nil {
			continue
		}
		compared++
		logs += math.Log(*r.Speedup)
		if r.Wins() {
			faster++
		}
		if most == nil || *r.Speedup > *most.Speedup {
			most = r
		}
	}
	say := func(n int, format string) {
		if n > 0 {
			says = append(says, fmt.Sprintf(format, units.Count(n, "size")))
		}
	}
	if most != nil {
		ahead := fmt.Sprintf("Faster than the baseline at %d of %s", faster, units.Count(compared, "size"))
		if n := verdicts["faster (predicted)"]; n > 0 {
			ahead += fmt.Sprintf(", at %d of these by the vendor's own model", n)
		}
		says = append(says, ahead)
	}
	say(asCalled, "Faster than the library as called, and not surely than its best, at %s")
	say(left, "%s left to the library, which is faster there than every program")
	say(verdicts[table.Unsure], "At %s the difference may be the simulator's error alone")
	say(verdicts[table.NoEvidence], "At %s no measurement says how far the speedup may be off")
	if most != nil {
		says = append(says, fmt.Sprintf("Speedup %s× in the geometric mean, at most %s× (%s)", brief(math.Exp(logs/float64(compared))), brief(*most.Speedup), sizeText(most.Bytes)))
	}
	if busiest != nil {
		says = append(says, fmt.Sprintf("Bus bandwidth up to %s GB/s (%s)", brief(*busiest.BusBW), sizeText(busiest.Bytes)))
	}
	if nearest != nil {
		says = append(says, fmt.Sprintf("Up to %s of what no routing can beat (%s)", brief(*nearest.BoundRatio), sizeText(nearest.Bytes)))
	}
	return says
}

// The sizes of a chart that stands alone, and of one among many.
var (
	wide  = chart{Width: 960, Height: 312, Left: 56, Top: 24, Right: 850, Bottom: 288}
	lower = chart{Width: 960, Height: 212, Left: 56, Top: 24, Right: 850, Bottom: 188}
	small = chart{Width: 300, Height: 150, Left: 44, Top: 20, Right: 286, Bottom: 128, Small: true}
)

// bandwidth draws winners, baseline and bound as bus bandwidths.
func bandwidth(sizes []int64, rows []*table.Row) *chart {
	won := series{class: "won", label: "winner"}
	base := series{class: "base", label: "baseline"}
	bound := series{class: "bound", label: "bound"}
	for _, r := range rows {
		if r.BusBW == nil {
			continue
		}
		at := func(us float64) float64 { return *r.BusBW * r.TimeUS / us }
		won.points = append(won.points, point{x: r.Bytes, value: *r.BusBW, low: at(r.TimeCIUS[1]), high: at(r.TimeCIUS[0]), tooltip: fmt.Sprintf("%s: %s GB/s, %s us, %s", sizeText(r.Bytes), brief(*r.BusBW), brief(r.TimeUS), clip(r.Algorithm, wordRoom))})
		if r.BaselineTimeUS != nil {
			base.points = append(base.points, point{x: r.Bytes, value: at(*r.BaselineTimeUS), tooltip: fmt.Sprintf("%s: %s GB/s, %s us, %s", sizeText(r.Bytes), brief(at(*r.BaselineTimeUS)), brief(*r.BaselineTimeUS), clip(*r.Baseline, wordRoom))})
		}
		if r.BoundUS != nil {
			bound.points = append(bound.points, point{x: r.Bytes, value: at(*r.BoundUS)})
		}
	}
	c := wide
	c.Title, c.Unit = "Bus bandwidth over size", "GB/s"
	return over(sizes, c, true, nil, bound, base, won)
}

// speedup draws how many times faster than the baseline the winners are.
func speedup(sizes []int64, rows []*table.Row) *chart {
	s := series{class: "won", label: "speedup"}
	low, high := 1.0, 1.0
	for _, r := range rows {
		if r.Speedup == nil {
			continue
		}
		low, high = min(low, *r.Speedup), max(high, *r.Speedup)
		s.points = append(s.points, point{x: r.Bytes, value: *r.Speedup, tooltip: fmt.Sprintf("%s: %s×, %s us against %s us of %s", sizeText(r.Bytes), brief(*r.Speedup), brief(r.TimeUS), brief(*r.BaselineTimeUS), clip(*r.Baseline, wordRoom))})
	}
	if len(s.points) == 0 {
		return nil
	}
	c := lower
	c.Title, c.Unit = "Speedup over the baseline", "×"
	even := series{class: "base", label: "baseline"}
	for _, p := range s.points {
		even.points = append(even.points, point{x: p.x, value: 1})
	}
	return over(sizes, c, high/low > 8, []float64{1}, even, s)
}

// strip draws where the winner changes: algorithms above, protocols below.
func strip(sizes []int64, placement string, ranges []table.Range, colour map[string]string) *chart {
	c := chart{Width: 960, Height: 88, Left: 56, Top: 4, Right: 850, Bottom: 64, Title: "Who wins where"}
	x := sizeScale(sizes, c.Left, c.Right)
	c.X = sizeTicks(x, sizes, 12)
	protocols := map[string]string{"LL": "p1", "LL128": "p2", "Simple": "p3"}
	for lane := range 2 {
		y, height := 4.0, 34.0
		if lane == 1 {
			y, height = 40, 22
		}
		for i := range ranges {
			r := &ranges[i]
			if r.Placement != placement {
				continue
			}
			class, label := colour[r.Algorithm], clip(r.Algorithm, wordRoom)
			if lane == 1 {
				class, label = protocols[r.Protocol], clip(r.Protocol, wordRoom)
			}
			from, to := x.at(float64(r.MinBytes)), c.Right
			if len(sizes) == 1 {
				from = c.Left
			}
			if r.MaxBytes < sizes[len(sizes)-1] {
				to = x.at(float64(r.MaxBytes + 1))
			}
			if n := len(c.Bands); n > 0 && c.Bands[n-1].Y == y && c.Bands[n-1].Label == label && c.Bands[n-1].X+c.Bands[n-1].Width > from-0.01 {
				c.Bands[n-1].Width = to - c.Bands[n-1].X
				continue
			}
			if to-from < 0.2 {
				continue
			}
			c.Bands = append(c.Bands, band{X: from, Y: y, Width: to - from, Height: height, Class: class, Label: label})
		}
	}
	for i := range c.Bands {
		b := &c.Bands[i]
		b.Tooltip = b.Label
		if room := int(b.Width / 7); len([]rune(b.Label)) > room {
			b.Label = ""
			if room >= 6 {
				b.Label = clip(b.Tooltip, room)
			}
		}
	}
	return &c
}
