package results

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/colltune/colltune/internal/units"
)

// Data says what the executor did with the data of a measurement. It is the
// executor's own word; every program was verified before it ran.
type Data string

// What may have been done.
const (
	Checked   Data = "checked"   // every element of the result was compared with the reference
	Unchecked Data = "unchecked" // data were moved, and not compared
	NoData    Data = "none"      // no data were moved: the time is a model's
)

var allData = []Data{Checked, Unchecked, NoData}

// evidence counts the measurements behind a time by what was done with their data.
// Those that nothing is known of, from older journals, are in trials alone.
type evidence struct{ trials, checked, unchecked int }

// evidenceOf is that of n measurements that are alike.
func evidenceOf(d Data, n int) evidence {
	e := evidence{trials: n}
	switch d {
	case Checked:
		e.checked = n
	case Unchecked:
		e.unchecked = n
	}
	return e
}

func (e evidence) plus(o evidence) evidence {
	return evidence{e.trials + o.trials, e.checked + o.checked, e.unchecked + o.unchecked}
}

// isChecked reports whether all the measurements were checked; nil where none is
// known not to be, and some had no data or nothing is known of them.
func (e evidence) isChecked() *bool {
	yes := e.trials > 0 && e.checked == e.trials
	if !yes && e.unchecked == 0 {
		return nil
	}
	return &yes
}

// mark is how many of the measurements were not checked: 2 of 3. It is empty if
// there are none.
func (e evidence) mark() string {
	if e.unchecked == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", e.unchecked, e.trials)
}

// lines are what a file says of the measurements behind it.
func (e evidence) lines() []string {
	if e.unchecked == 0 {
		return nil
	}
	return []string{fmt.Sprintf("unchecked: the data of %s measurements behind this file", e.mark())}
}

// boolText is true or false; empty where neither is known.
func boolText(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

// isSimulated reports whether the times of a campaign are a model's.
func isSimulated(plan Plan, executor Executor, trials []Trial) bool {
	told := slices.ContainsFunc(trials, func(t Trial) bool { return t.Data != "" })
	if !told {
		return plan.Executor == "sim" && executor.Name == "sim" // older journals don't say it of each trial
	}
	return !slices.ContainsFunc(trials, func(t Trial) bool { return t.Data == Checked || t.Data == Unchecked })
}

// describe fills in what readers must know before the figures: where the ranks ran,
// and whose data nobody checked.
func (t *Table) describe() {
	t.Notes = []string{}
	if t.place != "" {
		t.Notes = append(t.Notes, t.place)
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
			t.Notes = append(t.Notes, fmt.Sprintf(format, fmt.Sprintf("%d of %s", n, units.Count(len(t.Rows), "row"))))
		}
	}
	add(winners, "unchecked: the winner's data in %s")
	add(baselines, "unchecked: the baseline's data in %s")
	add(unknown, "not known to be checked: the winner's data in %s, from an older journal")
}
