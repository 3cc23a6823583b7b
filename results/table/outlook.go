package table

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Outlook is what the search expected of further trials at a row's size when it ended.
type Outlook struct {
	Gain float64 `json:"expected_gain"` // part of the winner's time that they save
	Done bool    `json:"done"`          // it is below the search's --gain, or nothing is left to try
	Next string  `json:"next"`          // the configuration to try; empty where done
	// MinuteTrials is how many trials of it a minute more would buy at this size,
	// MinuteGain what they are expected to save: all of Gain, unless one takes longer.
	MinuteTrials int     `json:"minute_trials"`
	MinuteGain   float64 `json:"minute_gain"`
}

// setOutlook fills in the rows' outlooks from a tally.
func (t *Table) setOutlook(tally *results.Tally) {
	t.gain = tally.Gain
	at := map[Cell]results.Outlook{}
	for _, o := range tally.Outlook {
		at[Cell{o.Placement, o.Bytes}] = o
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		o, ok := at[Cell{r.Placement, r.Bytes}]
		if !ok {
			continue
		}
		r.Outlook = &Outlook{Gain: o.Gain, Done: o.Done, Next: o.Next}
		if o.NextSeconds > 0 {
			r.Outlook.MinuteTrials = int(60 / o.NextSeconds)
			r.Outlook.MinuteGain = o.Gain * min(1, 60/o.NextSeconds)
		}
	}
}

// outlookText is what is expected still to be gained at a row's size: 2.3 %, or < 1 %.
func (t *Table) outlookText(r *Row) string {
	o := r.Outlook
	switch {
	case o == nil:
		return ""
	case o.Done && t.gain == 0:
		return "done"
	case o.Done:
		return "< " + percentText(t.gain)
	case o.Gain == 0:
		return "not known"
	}
	return percentText(o.Gain)
}

// percentText prints a part: 2.3 %.
func percentText(part float64) string { return fmt.Sprintf("%.3g %%", 100*part) }

// mostOpen limits the sizes that a note names.
const mostOpen = 8

// outlookNotes say at how many sizes the search is done, and what a minute more would buy at
// each of the others.
func (t *Table) outlookNotes() (notes []string) {
	done, of := 0, 0
	var open []string
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Outlook == nil {
			continue
		}
		of++
		if r.Outlook.Done {
			done++
			continue
		}
		size := units.Bytes(r.Bytes).String()
		if t.placements() {
			size += " " + r.Placement
		}
		if t.severalNodes() {
			size += " on " + units.Count(r.Nodes, "node")
		}
		if t.gain > 0 {
			size = percentText(r.Outlook.MinuteGain) + " at " + size
		}
		open = append(open, size)
	}
	if t.gain > 0 {
		notes = append(notes, fmt.Sprintf("done: at %d of %s further trials are expected to gain less than %s", done, units.Count(of, "row"), percentText(t.gain)))
	}
	if n := len(open) - mostOpen; n > 0 {
		open = append(open[:mostOpen], fmt.Sprintf("%d more", n))
	}
	switch {
	case len(open) == 0:
	case t.gain > 0:
		notes = append(notes, "a minute more is expected to gain "+strings.Join(open, ", "))
	default:
		notes = append(notes, "trials are left at "+strings.Join(open, ", "))
	}
	return notes
}
