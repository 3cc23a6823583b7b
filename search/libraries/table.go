package libraries

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// Table is the rows of many libraries, and which conditions must be equal for two of them
// to compete.
type Table struct {
	Equal []measured.Condition // beside collective, ranks and size, and the width of elements reduced
	Rows  []measured.Row       // merged, in the order of calls
}

// DefaultEqual are the conditions that must be equal unless others are asked for.
var DefaultEqual = []measured.Condition{measured.System, measured.Nodes, measured.Traffic}

// Differ lists the conditions that may differ between rows that compete.
func (t *Table) Differ() (all []measured.Condition) {
	for i := range measured.ConditionNames() {
		if c := measured.Condition(i); !slices.Contains(t.Equal, c) {
			all = append(all, c)
		}
	}
	return all
}

// contradiction is the spread, slowest over fastest, above which rows of one version under
// equal conditions are told as contradictory.
const contradiction = 1.2

// Build merges rows that differ in nothing but their times: identical ones are counted, and
// others become the median and an interval. The warnings name the lines of those that are
// more than 20 % apart, conditions that only some rows state, and cells in which simulated
// times meet measured ones.
func Build(rows []measured.Row, equal []measured.Condition) (t *Table, warnings []string) {
	t = &Table{Equal: equal}
	sorted := make([]*measured.Row, len(rows))
	for i := range rows {
		sorted[i] = &rows[i]
	}
	slices.SortFunc(sorted, order)
	t.Rows = make([]measured.Row, 0, len(rows))
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sameCall(sorted[0], sorted[n]) {
			n++
		}
		merged, warning := merge(sorted[:n])
		t.Rows = append(t.Rows, merged)
		if warning != "" {
			warnings = append(warnings, warning)
		}
		sorted = sorted[n:]
	}
	setNoise(t.Rows)
	return t, slices.Concat(warnings, t.halfStated(), t.mixed())
}

// sameCall reports whether two rows differ in their times alone.
func sameCall(a, b *measured.Row) bool {
	return a.Collective == b.Collective && a.Ranks == b.Ranks && a.Bytes == b.Bytes &&
		a.Library == b.Library && a.Version == b.Version && a.Conditions == b.Conditions
}

// merge makes one row of rows by rising time.
func merge(rows []*measured.Row) (one measured.Row, warning string) {
	one = *rows[0]
	one.Runs = 0
	times := make([]float64, 0, len(rows))
	slowest := rows[0].Source
	for _, r := range rows {
		times = append(times, r.TimeUS)
		one.Runs = min(one.Runs+r.Runs, measured.MaxWhole)
		one.LowUS = min(one.LowUS, r.LowUS)
		if r.HighUS > one.HighUS {
			one.HighUS, slowest = r.HighUS, r.Source
		}
	}
	one.TimeUS = results.Median(times)
	if len(rows) > 1 && one.HighUS > contradiction*one.LowUS {
		warning = fmt.Sprintf("%s, %s of %s over %d ranks: %.4g us in %s and %.4g in %s",
			one.Entry(), one.Collective, units.Bytes(one.Bytes), one.Ranks, one.LowUS, rows[0].Source, one.HighUS, slowest)
	}
	return one, warning
}

// halfStated warns of conditions that must be equal and that only some libraries' rows
// state: these never compete.
func (t *Table) halfStated() (warnings []string) {
	has := map[string]map[bool]string{} // by collective and condition: a row's source
	var names []string
	note := func(r *measured.Row, name string, stated bool) {
		k := name + " of " + r.Collective
		if has[k] == nil {
			has[k] = map[bool]string{}
			names = append(names, k)
		}
		if has[k][stated] == "" {
			has[k][stated] = r.Source
		}
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, c := range t.Equal {
			note(r, c.String(), r.Conditions[c] != "")
		}
		if collective.Reduces(r.Collective) && !slices.Contains(t.Equal, measured.DType) {
			note(r, "dtype", r.Conditions[measured.DType] != "")
		}
	}
	for _, k := range names {
		if has[k][true] != "" && has[k][false] != "" {
			name, _, _ := strings.Cut(k, " ")
			warnings = append(warnings, fmt.Sprintf("%s is stated at %s and not at %s, so that they are never compared: state it, as in --library NAME=FILE,%s=VALUE", k, has[k][true], has[k][false], name))
		}
	}
	return warnings
}

// mixed warns where simulated and measured times compete.
func (t *Table) mixed() []string {
	seen := map[cell][2]bool{}
	n := 0
	for i := range t.Rows {
		k := t.cellOf(&t.Rows[i])
		s := seen[k]
		before := s[0] && s[1]
		if t.Rows[i].Simulated() {
			s[0] = true
		} else {
			s[1] = true
		}
		if seen[k] = s; s[0] && s[1] && !before {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("simulated times compete with measured ones at %s: --equal evidence keeps them apart", units.Count(n, "call"))}
}

// order compares rows by call, then by library and conditions, then by time.
func order(a, b *measured.Row) int {
	if c := cmp.Or(strings.Compare(a.Collective, b.Collective), cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Width(), b.Width()), cmp.Compare(a.Bytes, b.Bytes)); c != 0 {
		return c
	}
	if c := cmp.Or(strings.Compare(a.Library, b.Library), strings.Compare(a.Version, b.Version)); c != 0 {
		return c
	}
	if c := slices.Compare(a.Conditions[:], b.Conditions[:]); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.TimeUS, b.TimeUS), strings.Compare(a.Source, b.Source))
}
