package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Evidence counts the measurements behind a time: all, those whose data the executor
// checked, and those whose data it moved unchecked. Those without data, or from older
// journals, are in Trials alone.
type Evidence struct{ Trials, Checked, Unchecked int }

// evidenceOf is the evidence of n measurements with the same d.
func evidenceOf(d results.Data, n int) Evidence {
	e := Evidence{Trials: n}
	switch d {
	case results.Checked:
		e.Checked = n
	case results.Unchecked:
		e.Unchecked = n
	}
	return e
}

// Plus returns the sum with the evidence of other measurements.
func (e Evidence) Plus(o Evidence) Evidence {
	return Evidence{e.Trials + o.Trials, e.Checked + o.Checked, e.Unchecked + o.Unchecked}
}

// IsChecked reports whether all measurements were checked. It is nil if none was
// unchecked but some moved no data, or the journal does not say.
func (e Evidence) IsChecked() *bool {
	yes := e.Trials > 0 && e.Checked == e.Trials
	if !yes && e.Unchecked == 0 {
		return nil
	}
	return &yes
}

// mark is how many of the measurements were not checked: 2 of 3. It is empty if
// there are none.
func (e Evidence) mark() string {
	if e.Unchecked == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", e.Unchecked, e.Trials)
}

// Lines returns the lines of a file's provenance about unchecked data; none if all is
// well.
func (e Evidence) Lines() []string {
	if e.Unchecked == 0 {
		return nil
	}
	return []string{fmt.Sprintf("unchecked: the data of %s measurements behind this file", e.mark())}
}

// boolText is true or false; empty where neither is known.
func boolText(b *bool) string { return orNone(b, strconv.FormatBool) }

// simulator is the name of the executor that older journals have for simulated times.
const simulator = "sim"

// isSimulated reports whether a model computed the times of a campaign.
func isSimulated(plan results.Plan, executor results.Executor, trials []results.Trial) bool {
	told := func(data ...results.Data) bool { // of a trial that has a time
		return slices.ContainsFunc(trials, func(t results.Trial) bool { return t.Outcome == results.OK && slices.Contains(data, t.Data) })
	}
	if !told(results.Checked, results.Unchecked, results.NoData) {
		return plan.Executor == simulator && executor.Name == simulator // older journals don't say it of each trial
	}
	return !told(results.Checked, results.Unchecked)
}

// addNotes fills in the notes printed before the figures: where the ranks ran, which rows
// have unchecked data, which simulated speedups are not sure, and which measured winners, and what a longer
// search would gain.
func (t *Table) addNotes() {
	places, sms, libraries, repeats, outlook := t.evidenceNotes(), t.smsNotes(), t.libraryNotes(), t.repeatNotes(), t.outlookNotes()
	t.Notes = append([]string{}, slices.Concat(places, sms, libraries, t.verdictNotes(), t.bandNotes(), repeats, outlook)...) // never null
	t.brief = slices.Concat(places, sms, t.givenNotes(), repeats, outlook)
}

// libraryNotes says at how many sizes the library is faster than every program.
func (t *Table) libraryNotes() (notes []string) {
	left, channels := 0, 0
	for i := range t.Rows {
		if t.Rows[i].ByChannels() {
			channels++
		}
		if t.Rows[i].LeaveToLibrary {
			left++
		}
	}
	if channels > 0 {
		notes = append(notes, fmt.Sprintf("channels alone make the gain of %d of %s: the winner is the library's algorithm and protocol with others (baseline_best_channels_us)", channels, units.Count(len(t.Rows), "row")))
	}
	notes = append(notes, t.givenNotes()...)
	if left == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("leave %d of %s to the library, which is faster there than every program: exports leave these sizes out", left, units.Count(len(t.Rows), "row")))
}

// givenNotes names the libraries whose times the search was given.
func (t *Table) givenNotes() []string {
	var given []string
	for i := range t.Rows {
		for _, l := range t.Rows[i].Libraries {
			evidence := "measured"
			if l.Simulated {
				evidence = "simulated"
			}
			given = append(given, l.Entry()+" "+evidence)
		}
	}
	if given = unique(given); len(given) == 0 {
		return nil
	}
	slices.Sort(given)
	return []string{fmt.Sprintf("libraries whose times were given stand beside the programs: %s", strings.Join(given, ", "))}
}

// evidenceNotes lists the notes on where the ranks ran and what was checked.
func (t *Table) evidenceNotes() []string {
	notes := []string{}
	if t.place != "" {
		notes = append(notes, t.place)
	}
	winners, baselines, unknown := 0, 0, 0
	for i := range t.Rows {
		r := &t.Rows[i]
		switch {
		case r.Checked == nil && !t.Campaign.Simulated:
			unknown++
		case r.Checked != nil && !*r.Checked:
			winners++
		}
		if r.BaselineChecked != nil && !*r.BaselineChecked {
			baselines++
		}
	}
	add := func(n int, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, fmt.Sprintf("%d of %s", n, units.Count(len(t.Rows), "row"))))
		}
	}
	add(winners, "unchecked: the winner's data in %s")
	add(baselines, "unchecked: the baseline's data in %s")
	add(unknown, "not known to be checked: the winner's data in %s, from an older journal")
	return notes
}
