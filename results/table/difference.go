package table

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/results"
)

// Verdicts on the second campaign at a size, compared with the first.
const (
	Same   = "same" // the times differ by no more than the tolerance, or their intervals meet
	Faster = "faster"
	Slower = "slower"
	Gone   = "gone" // only the first has a winner
	New    = "new"  // only the second has
)

// Verdicts lists them.
var Verdicts = []string{Same, Faster, Slower, Gone, New}

// Difference compares one size of two campaigns.
type Difference struct {
	Bytes     int64    `json:"bytes"`
	Placement string   `json:"placement"`
	Verdict   string   `json:"verdict"`
	Before    *Row     `json:"before"` // null where there is no winner
	After     *Row     `json:"after"`
	Ratio     *float64 `json:"ratio"` // time after ÷ before
}

// Differences are two campaigns' winning tables side by side.
type Differences struct {
	Asked  []string       `json:"asked"`  // differences of the searches and their executors, a line each
	Notes  []string       `json:"notes"`  // on the two tables' evidence, a line each
	Rows   []Difference   `json:"rows"`   // by placement, then rising size
	Counts map[string]int `json:"counts"` // of Rows, by verdict
	Ratio  *float64       `json:"ratio"`  // geometric mean over the sizes that both have; null: there are none
}

// ErrNotAlike is the error of comparing campaigns that share no collective or no size.
var ErrNotAlike = errors.New("these campaigns can't be compared")

// Differ compares two campaigns of one collective, size by size. A winner is faster or
// slower if the medians differ by more than the fraction tolerance and the confidence
// intervals do not meet. The error wraps ErrNotAlike, or is Build's.
func Differ(before, after *results.Campaign, tolerance float64) (*Differences, error) {
	a, b := before.Plan(), after.Plan()
	if a.Collective != b.Collective {
		return nil, fmt.Errorf("%w: %s is of %s and %s of %s: want two of one collective", ErrNotAlike, before.Dir(), a.Collective, after.Dir(), b.Collective)
	}
	first, err := Build(before)
	if err != nil {
		return nil, err
	}
	second, err := Build(after)
	if err != nil {
		return nil, err
	}
	d := &Differences{Asked: results.DescribeDifferences(before, after), Notes: []string{}, Rows: []Difference{}, Counts: map[string]int{}}
	for _, v := range Verdicts {
		d.Counts[v] = 0
	}
	places := slices.Concat(Cells(a), Cells(b))
	slices.SortFunc(places, func(x, y Cell) int {
		return cmp.Or(cmp.Compare(x.Placement, y.Placement), cmp.Compare(x.Bytes, y.Bytes))
	})
	places = slices.Compact(places)
	for _, note := range first.evidenceNotes() {
		d.Notes = append(d.Notes, "before: "+note)
	}
	for _, note := range second.evidenceNotes() {
		d.Notes = append(d.Notes, "after: "+note)
	}
	winners, theirs := first.ByCell(), second.ByCell()
	logs, both := 0.0, 0
	for _, at := range places {
		row := Difference{Bytes: at.Bytes, Placement: at.Placement, Before: winners[at], After: theirs[at]}
		switch {
		case row.Before == nil && row.After == nil:
			continue
		case row.Before == nil:
			row.Verdict = New
		case row.After == nil:
			row.Verdict = Gone
		default:
			ratio := row.After.TimeUS / row.Before.TimeUS
			row.Ratio, row.Verdict = &ratio, verdict(row.Before, row.After, tolerance)
			logs, both = logs+math.Log(ratio), both+1
		}
		d.Rows = append(d.Rows, row)
		d.Counts[row.Verdict]++
	}
	switch {
	case both > 0:
		mean := math.Exp(logs / float64(both))
		d.Ratio = &mean
	case d.Counts[Gone] == 0 || len(places) == len(Cells(a))+len(Cells(b)):
		return nil, fmt.Errorf("%w: %s and %s have no size with a winner in common", ErrNotAlike, before.Dir(), after.Dir())
	}
	return d, nil
}

// verdict compares two times: Same, Faster or Slower.
func verdict(before, after *Row, tolerance float64) string {
	switch {
	case after.TimeUS > before.TimeUS*(1+tolerance) && after.TimeCIUS[0] > before.TimeCIUS[1]:
		return Slower
	case before.TimeUS > after.TimeUS*(1+tolerance) && before.TimeCIUS[0] > after.TimeCIUS[1]:
		return Faster
	}
	return Same
}

// Title names a winner with its knobs, in a line that people read.
func (r *Row) Title() string {
	t := Measured{Trial: &results.Trial{Algorithm: r.Algorithm, Parameters: r.Parameters, Instances: r.Instances, Protocol: r.Protocol, TileBytes: r.TileBytes, Source: r.Source}}
	return t.Title()
}
