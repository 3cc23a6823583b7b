package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results/table"
)

// Why says why a winner takes its time at a size.
type Why struct {
	Parts  []Part  // of the time
	Change string  // of one of the system's constants: the one that would help most; may be empty
	Gain   float64 // of the change: time before ÷ after
}

// Part is what one cause takes.
type Part struct {
	Cause string
	Share float64 // of the time
}

// Explain explains the winner of a row. It returns nil where there is no explanation.
type Explain func(row *table.Row, p *ir.Program) *Why

// mostExplained is how many ranges of a winner are explained.
const mostExplained = 3

// leastShare is the share of the time from which a cause is named, and leastGain the gain
// from which a change is.
const (
	leastShare = 0.01
	leastGain  = 1.005
)

// text is the explanation as one sentence or two.
func (w *Why) text() string {
	parts := slices.Clone(w.Parts)
	slices.SortStableFunc(parts, func(a, b Part) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
	var words []string
	for _, p := range parts {
		if p.Share >= leastShare {
			words = append(words, fmt.Sprintf("%s %.0f %%", p.Cause, 100*p.Share))
		}
	}
	text := strings.Join(words, ", ")
	if w.Change != "" && w.Gain >= leastGain {
		text += fmt.Sprintf("; with %s it would be %.2f times as fast", w.Change, w.Gain)
	}
	return text
}

// explained returns the detail of a range's last measured size.
func explained(t *table.Table, r *table.Range, p *ir.Program, explain Explain) (d detail, ok bool) {
	if explain == nil || p == nil {
		return d, false
	}
	last := lastMeasured(t, r)
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Bytes != last || row.Placement != r.Placement {
			continue
		}
		if why := explain(row, p); why != nil {
			return detail{"time at " + sizeText(last), why.text(), false}, true
		}
	}
	return d, false
}
