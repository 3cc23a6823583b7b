package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/search/libraries"
)

// Libraries say what is known of the libraries that make a step's calls.
type Libraries struct {
	Fallback string   // makes the calls that another one lacks; empty: none does
	OnHost   []string // not aware of streams: the host waits for their calls
	Use      []string // only these, by name or by name and version; none: all
}

// uses reports whether a library may make calls.
func (l *Libraries) uses(t *libraries.Time) bool {
	return len(l.Use) == 0 || slices.Contains(l.Use, t.Library) || slices.Contains(l.Use, t.Entry())
}

// Case is a step with a library for each of its calls.
type Case struct {
	Name     string           // of the library alone; coarse or fine
	Times    []libraries.Time // per kind of call: who makes it, and how long that takes
	Borrowed []bool           // per kind: the library lacks it, and the fallback makes it
	Lacks    string           // why there is no such case; empty: there is

	CommunicationUS float64 // the sum of the calls' times, of the program with most
	TotalUS         float64
	LowUS, HighUS   float64 // the total where all calls take the least, and the most
	ExposedUS       float64 // by how much shorter the step were if its calls took no time

	graph *graph
	times times
}

// Result compares the cases of a step.
type Result struct {
	Step    *Step
	Singles []Case // each library alone, by name
	Coarse  Case   // one library for each collective
	Fine    Case   // the fastest for each call
	Best    *Case  // of Singles, the one with the least total; nil: none can make all calls
	Calls   []CallRow
}

// CallRow is the calls of one op that are of one kind.
type CallRow struct {
	Op      string
	Kind    int
	Count   int
	Changed bool     // made by another library than in the best single case
	WorthUS float64  // by how much shorter the fine step were if these calls took no time; an upper bound of what tuning them can gain
	Lacking []string // libraries that have no time for it
}

// MissingError is calls that no library makes.
type MissingError struct{ Calls []string }

// Error names the calls.
func (e *MissingError) Error() string {
	const most = 5
	more := ""
	if n := len(e.Calls) - most; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return "no library has a time for " + strings.Join(e.Calls[:min(len(e.Calls), most)], "; ") + more
}

// mixer compares the cases of a step.
type mixer struct {
	step   *Step
	using  *Libraries
	times  [][]libraries.Time // per kind, by rising time
	counts []int              // per kind: its calls
	plain  *graph             // of libraries that are all aware of streams
}

// Compare gives the step's calls to each library alone, to one library for each
// collective, and each to the fastest (MCR-DL, section VI-B). A step that can't be
// scheduled is a *Deadlock, and calls that no library makes a *MissingError.
func Compare(s *Step, from Source, using Libraries) (*Result, error) {
	m := &mixer{step: s, using: &using, counts: make([]int, len(s.Kinds))}
	var err error
	if m.plain, err = newGraph(s, func(int) bool { return false }); err != nil {
		return nil, err
	}
	lines := make([]int, len(s.Kinds))
	for i := range s.Calls {
		k := s.Calls[i].Kind
		if m.counts[k]++; lines[k] == 0 {
			lines[k] = s.Calls[i].Line
		}
	}
	missing := &MissingError{}
	for i, k := range s.Kinds {
		times, err := from.Times(k)
		if err != nil {
			return nil, &libraries.Error{File: s.File, Line: lines[i], Msg: err.Error()}
		}
		times = slices.DeleteFunc(times, func(t libraries.Time) bool { return !using.uses(&t) })
		if len(times) == 0 {
			missing.Calls = append(missing.Calls, k.String())
		}
		m.times = append(m.times, times)
	}
	if len(missing.Calls) > 0 {
		return nil, missing
	}
	return m.compare()
}

func (m *mixer) compare() (*Result, error) {
	r := &Result{Step: m.step}
	for _, name := range m.entries() {
		c, err := m.evaluate(m.single(name))
		if err != nil {
			return nil, err
		}
		r.Singles = append(r.Singles, c)
	}
	for i := range r.Singles {
		if c := &r.Singles[i]; c.Lacks == "" && (r.Best == nil || c.TotalUS < r.Best.TotalUS) {
			r.Best = c
		}
	}
	var err error
	if r.Coarse, err = m.evaluate(m.coarse()); err != nil {
		return nil, err
	}
	if r.Fine, err = m.evaluate(m.fine()); err != nil {
		return nil, err
	}
	r.Calls = m.rows(r)
	return r, nil
}

// entries are the libraries that make some call, by name.
func (m *mixer) entries() []string {
	all := map[string]bool{}
	for _, times := range m.times {
		for i := range times {
			all[times[i].Entry()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// of is an entry's time for a kind of call, or the fallback's.
func (m *mixer) of(entry string, kind int) (t libraries.Time, borrowed, ok bool) {
	own := func(t libraries.Time) bool { return t.Entry() == entry }
	fallback := func(t libraries.Time) bool {
		return m.using.Fallback != "" && (t.Library == m.using.Fallback || t.Entry() == m.using.Fallback)
	}
	if i := slices.IndexFunc(m.times[kind], own); i >= 0 {
		return m.times[kind][i], false, true
	}
	if i := slices.IndexFunc(m.times[kind], fallback); i >= 0 {
		return m.times[kind][i], true, true
	}
	return t, false, false
}

// give adds the time of an entry for a kind to a case.
func (m *mixer) give(c *Case, entry string, kind int) {
	t, borrowed, ok := m.of(entry, kind)
	if !ok && c.Lacks == "" {
		c.Lacks = fmt.Sprintf("%s has no time for %s", entry, m.step.Kinds[kind])
		if m.using.Fallback != "" {
			c.Lacks += ", nor has " + m.using.Fallback
		}
	}
	c.Times, c.Borrowed = append(c.Times, t), append(c.Borrowed, borrowed)
}

func (m *mixer) single(entry string) Case {
	c := Case{Name: entry}
	for k := range m.times {
		m.give(&c, entry, k)
	}
	return c
}

// coarse gives all calls of a collective to the library that takes the least time for them
// together: one that has them all, or else one with the fallback's help.
func (m *mixer) coarse() Case {
	c := Case{Name: "coarse"}
	chosen := map[string]string{}
	for _, k := range m.step.Kinds {
		if _, known := chosen[k.Collective]; !known {
			chosen[k.Collective] = m.cheapest(k.Collective)
		}
	}
	for k := range m.times {
		m.give(&c, chosen[m.step.Kinds[k].Collective], k)
	}
	return c
}

// cheapest is the entry that takes the least time for all calls of a collective.
func (m *mixer) cheapest(collective string) string {
	type cost struct {
		entry   string
		missing int // kinds it has no time for, even with the fallback's help
		lent    int // kinds that the fallback makes
		us      float64
	}
	var all []cost
	for _, entry := range m.entries() {
		x := cost{entry: entry}
		for k := range m.times {
			if m.step.Kinds[k].Collective != collective {
				continue
			}
			t, borrowed, ok := m.of(entry, k)
			x.us += t.TimeUS * float64(m.counts[k])
			if borrowed {
				x.lent++
			}
			if !ok {
				x.missing++
			}
		}
		all = append(all, x)
	}
	return slices.MinFunc(all, func(a, b cost) int {
		return cmp.Or(cmp.Compare(a.missing, b.missing), cmp.Compare(min(a.lent, 1), min(b.lent, 1)), cmp.Compare(a.us, b.us))
	}).entry
}

// fine gives each call to the fastest.
func (m *mixer) fine() Case {
	c := Case{Name: "fine", Borrowed: make([]bool, len(m.times))}
	for _, times := range m.times {
		c.Times = append(c.Times, times[0])
	}
	return c
}

// evaluate schedules a case.
func (m *mixer) evaluate(c Case) (Case, error) {
	if c.Lacks != "" {
		return c, nil
	}
	onHost := func(call int) bool {
		t := &c.Times[m.step.Calls[call].Kind]
		return slices.Contains(m.using.OnHost, t.Library) || slices.Contains(m.using.OnHost, t.Entry())
	}
	c.graph = m.plain
	if len(m.using.OnHost) > 0 {
		g, err := newGraph(m.step, onHost)
		if err != nil {
			return c, fmt.Errorf("%s: %w", c.Name, err)
		}
		c.graph = g
	}
	total := func(us func(*libraries.Time) float64) float64 {
		return c.graph.run(func(call int) float64 { return us(&c.Times[m.step.Calls[call].Kind]) }).total
	}
	c.times = c.graph.run(func(call int) float64 { return c.Times[m.step.Calls[call].Kind].TimeUS })
	c.TotalUS = c.times.total
	c.LowUS = total(func(t *libraries.Time) float64 { return t.LowUS })
	c.HighUS = total(func(t *libraries.Time) float64 { return t.HighUS })
	c.ExposedUS = c.TotalUS - total(func(*libraries.Time) float64 { return 0 })
	for i := range m.step.Programs {
		sum := 0.0
		for _, call := range m.step.Programs[i].calls() {
			sum += c.Times[m.step.Calls[call].Kind].TimeUS
		}
		c.CommunicationUS = max(c.CommunicationUS, sum)
	}
	return c, nil
}

// mostWorths is the most rows whose worth is computed, of those with most time.
const mostWorths = 200

// rows are the calls by op and kind, in the order of the step.
func (m *mixer) rows(r *Result) (rows []CallRow) {
	type key struct {
		op   string
		kind int
	}
	at := map[key]int{}
	of := make([]int, len(m.step.Calls)) // per call: its row
	for i := range m.step.Calls {
		c := &m.step.Calls[i]
		k := key{c.Op, c.Kind}
		row, known := at[k]
		if !known {
			row = len(rows)
			at[k] = row
			rows = append(rows, CallRow{Op: c.Op, Kind: c.Kind, Changed: r.Best != nil && r.Best.Times[c.Kind].Entry() != r.Fine.Times[c.Kind].Entry(), Lacking: m.lacking(c.Kind)})
		}
		rows[row].Count++
		of[i] = row
	}
	byTime := make([]int, len(rows))
	for i := range byTime {
		byTime[i] = i
	}
	us := func(row int) float64 { return r.Fine.Times[rows[row].Kind].TimeUS * float64(rows[row].Count) }
	slices.SortStableFunc(byTime, func(a, b int) int { return cmp.Compare(us(b), us(a)) })
	for _, row := range byTime[:min(len(byTime), mostWorths)] {
		without := r.Fine.graph.run(func(call int) float64 {
			if of[call] == row {
				return 0
			}
			return r.Fine.Times[m.step.Calls[call].Kind].TimeUS
		})
		rows[row].WorthUS = r.Fine.TotalUS - without.total
	}
	return rows
}

// lacking are the entries that have no time for a kind.
func (m *mixer) lacking(kind int) (names []string) {
	for _, entry := range m.entries() {
		if !slices.ContainsFunc(m.times[kind], func(t libraries.Time) bool { return t.Entry() == entry }) {
			names = append(names, entry)
		}
	}
	return names
}

// Worth is the row most worth tuning; nil: no call is on the critical path.
func (r *Result) Worth() *CallRow {
	var most *CallRow
	for i := range r.Calls {
		if c := &r.Calls[i]; c.WorthUS > 0 && (most == nil || c.WorthUS > most.WorthUS) {
			most = c
		}
	}
	return most
}

// Gain is how many times as long a case takes as the fine mix, and the interval in which
// that lies whatever the times within theirs.
func (r *Result) Gain(c *Case) (ratio, low, high float64) {
	if c.Lacks != "" || r.Fine.LowUS <= 0 {
		return 0, 0, 0
	}
	return c.TotalUS / r.Fine.TotalUS, c.LowUS / r.Fine.HighUS, c.HighUS / r.Fine.LowUS
}
