package report

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results/table"
)

// Explain explains the winner of a row. It returns nil where there is no explanation.
type Explain func(row *table.Row, p *ir.Program) *table.Why

// mostExplained is how many ranges of a winner are explained.
const mostExplained = 3

// leastShare is the share of the time from which a cause is named.
const leastShare = 0.01

// whyText is the explanation as one sentence or two.
func whyText(w *table.Why) string {
	var words []string
	for _, p := range w.Largest() {
		if p.Share >= leastShare {
			words = append(words, fmt.Sprintf("%s %.0f %%", p.Cause, 100*p.Share))
		}
	}
	text := strings.Join(words, ", ")
	if w.Helps() {
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
			return detail{"time at " + sizeText(last), whyText(why), false}, true
		}
	}
	return d, false
}
