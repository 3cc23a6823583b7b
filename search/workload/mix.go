package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
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
	TotalUS         float64 // where calls in progress at the same time share their links, but for their latencies
	LowUS, HighUS   float64 // the total where all calls take the least and share nothing, and where they take the most and share; 0 of a case with modelled calls
	ExposedUS       float64 // by how much shorter the step were if its calls took no time
	Modelled        int     // calls whose time is modelled
	LeftOut         bool    // some of these have supported times of others, so that the case is no rival

	mixer        *mixer
	latencies    []float64  // per kind; of its time alone
	free, shared [2]float64 // the totals with the least and the greatest times of calls that share nothing, and that share
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
	step    *Step
	from    Source
	using   *Libraries
	times   [][]libraries.Time // per kind, by rising time
	rivals  [][]libraries.Time // per kind: those of which the mixes choose
	entries []string           // libraries that make some call, by name
	counts  []int              // per kind: its calls
	plain   *graph             // of one library that is aware of streams
}

// Compare gives the step's calls to each library alone, to one library for each
// collective, and each to the fastest (MCR-DL, section VI-B). A step that can't be
// scheduled is a *Deadlock, and calls that no library makes a *MissingError.
func Compare(s *Step, from Source, using Libraries) (*Result, error) {
	m := &mixer{step: s, from: from, using: &using, counts: make([]int, len(s.Kinds))}
	var err error
	if m.plain, err = newGraph(s, func(int) maker { return maker{} }); err != nil {
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
			return nil, &measured.Error{File: s.File, Line: lines[i], Msg: err.Error()}
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
	m.entries = entriesOf(m.times)
	for k, times := range m.times {
		rivals, err := m.rivalsOf(times)
		if err != nil {
			return nil, &measured.Error{File: s.File, Line: lines[k], Msg: fmt.Sprintf("%s: %v", s.Kinds[k], err)}
		}
		m.rivals = append(m.rivals, rivals)
	}
	return m.compare()
}

func (m *mixer) compare() (*Result, error) {
	r := &Result{Step: m.step}
	for _, name := range m.entries {
		c, err := m.evaluate(m.single(name))
		if err != nil {
			return nil, err
		}
		r.Singles = append(r.Singles, c)
	}
	for i := range r.Singles {
		if c := &r.Singles[i]; c.Lacks == "" && !c.LeftOut && (r.Best == nil || c.TotalUS < r.Best.TotalUS) {
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
	g, err := r.Fine.graph()
	if err != nil {
		return nil, err
	}
	r.Calls = m.rows(r, g)
	return r, nil
}

// entriesOf are the libraries that make some call, by name.
func entriesOf(kinds [][]libraries.Time) []string {
	all := map[string]bool{}
	for _, times := range kinds {
		for i := range times {
			all[times[i].Entry()] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Modelled reports whether no measurement supports a time: it is simulated, and nothing says
// how far it may be off.
func Modelled(t *libraries.Time) bool {
	return t.Simulated() && t.LowUS == t.TimeUS && t.HighUS == t.TimeUS
}

// rivalsOf are the times of which the mixes choose: a modelled one never beats another. It
// stands in where it is the only one, or, of several, the fallback's.
func (m *mixer) rivalsOf(times []libraries.Time) ([]libraries.Time, error) {
	supported := slices.DeleteFunc(slices.Clone(times), func(t libraries.Time) bool { return Modelled(&t) })
	if len(supported) > 0 {
		return supported, nil
	}
	if len(times) == 1 {
		return times, nil
	}
	if i := slices.IndexFunc(times, m.isFallback); i >= 0 {
		return times[i : i+1], nil
	}
	return nil, fmt.Errorf("the times of %s are only modelled, and no measurement says which is faster: let one of them be the fallback, or the only one", strings.Join(entriesOf([][]libraries.Time{times}), " and "))
}

func (m *mixer) isFallback(t libraries.Time) bool {
	return m.using.Fallback != "" && (t.Library == m.using.Fallback || t.Entry() == m.using.Fallback)
}

// of is an entry's time of those of a kind of call, or the fallback's.
func (m *mixer) of(entry string, times []libraries.Time) (t libraries.Time, borrowed, ok bool) {
	if i := slices.IndexFunc(times, func(t libraries.Time) bool { return t.Entry() == entry }); i >= 0 {
		return times[i], false, true
	}
	if i := slices.IndexFunc(times, m.isFallback); i >= 0 {
		return times[i], true, true
	}
	return t, false, false
}

func (m *mixer) give(c *Case, entry string, kind int, times []libraries.Time) {
	t, borrowed, ok := m.of(entry, times)
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
	for k, times := range m.times {
		m.give(&c, entry, k, times)
		if t := &c.Times[k]; Modelled(t) && !slices.ContainsFunc(m.rivals[k], func(o libraries.Time) bool { return o.Entry() == t.Entry() }) {
			c.LeftOut = true
		}
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
	for k, times := range m.rivals {
		m.give(&c, chosen[m.step.Kinds[k].Collective], k, times)
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
	for _, entry := range m.entries {
		x := cost{entry: entry}
		for k, times := range m.rivals {
			if m.step.Kinds[k].Collective != collective {
				continue
			}
			t, borrowed, ok := m.of(entry, times)
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
	for _, times := range m.rivals {
		c.Times = append(c.Times, times[0])
	}
	return c
}

func (m *mixer) evaluate(c Case) (Case, error) {
	c.mixer = m
	if c.Lacks != "" {
		return c, nil
	}
	g, err := c.graph()
	if err != nil {
		return c, fmt.Errorf("%s: %w", c.Name, err)
	}
	for k := range c.Times {
		latency := 0.0
		if g.overlap {
			if latency, err = m.latency(k, &c.Times[k]); err != nil {
				return c, err
			}
		}
		c.latencies = append(c.latencies, latency)
	}
	for i, us := range []func(*libraries.Time) float64{func(t *libraries.Time) float64 { return t.LowUS }, func(t *libraries.Time) float64 { return t.HighUS }} {
		c.free[i], c.shared[i] = g.run(c.callUS(us)).total, g.runShared(c.callUS(us), noLatency).total
	}
	c.TotalUS = c.run(g).total
	c.ExposedUS = c.TotalUS - g.run(func(int) float64 { return 0 }).total
	for i := range m.step.Programs {
		sum := 0.0
		for _, call := range m.step.Programs[i].calls() {
			sum += c.Times[m.step.Calls[call].Kind].TimeUS
		}
		c.CommunicationUS = max(c.CommunicationUS, sum)
	}
	for k, n := range m.counts {
		if Modelled(&c.Times[k]) {
			c.Modelled += n
		}
	}
	if c.Modelled == 0 {
		c.LowUS, c.HighUS = min(c.free[0], c.TotalUS), max(c.shared[1], c.TotalUS)
	}
	return c, nil
}

// graph is what waits for what with the libraries of a case.
func (c *Case) graph() (*graph, error) {
	m := c.mixer
	if len(m.using.OnHost) == 0 && !m.plain.overlap {
		return m.plain, nil
	}
	return newGraph(m.step, func(call int) maker {
		t := &c.Times[m.step.Calls[call].Kind]
		return maker{t.Entry(), slices.Contains(m.using.OnHost, t.Library) || slices.Contains(m.using.OnHost, t.Entry()), t.Library == recorded}
	})
}

func timeUS(t *libraries.Time) float64 { return t.TimeUS }

// latency is the part of a call's time that does not grow with its size, by the time of half
// the size; 0 where that is not known.
func (m *mixer) latency(kind int, t *libraries.Time) (float64, error) {
	k := m.step.Kinds[kind]
	k.Bytes = (k.Bytes + 1) / 2
	times, err := m.from.Times(k)
	if err != nil {
		return 0, err
	}
	half, _, known := m.of(t.Entry(), times)
	if !known || half.Entry() != t.Entry() || half.Bytes > t.Bytes/2+1 {
		return 0, nil
	}
	return min(max(0, 2*half.TimeUS-t.TimeUS), t.TimeUS), nil
}

// run is when the ops of a case run.
func (c *Case) run(g *graph) times { return g.runShared(c.callUS(timeUS), c.latency) }

func (c *Case) latency(call int) float64 { return c.latencies[c.mixer.step.Calls[call].Kind] }

// callUS is what calls take by one of the times of their kinds.
func (c *Case) callUS(us func(*libraries.Time) float64) func(call int) float64 {
	return func(call int) float64 { return us(&c.Times[c.mixer.step.Calls[call].Kind]) }
}

// mostWorths is the most rows whose worth is computed, of those with most time, and mostWork
// the most nodes and edges that this may visit.
const (
	mostWorths = 200
	mostWork   = 100_000_000
)

// rows are the calls by op and kind, in the order of the step.
func (m *mixer) rows(r *Result, g *graph) (rows []CallRow) {
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
	most := min(len(byTime), mostWorths, 1+mostWork/g.work())
	for _, row := range byTime[:most] {
		without := func(call int) float64 {
			if of[call] == row {
				return 0
			}
			return r.Fine.Times[m.step.Calls[call].Kind].TimeUS
		}
		rows[row].WorthUS = max(0, r.Fine.TotalUS-g.runShared(without, r.Fine.latency).total)
	}
	return rows
}

// lacking are the entries that have no time for a kind.
func (m *mixer) lacking(kind int) (names []string) {
	for _, entry := range m.entries {
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
// that lies with all times within theirs, whether calls share links in both or in neither; 0
// where one of them is modelled.
func (r *Result) Gain(c *Case) (ratio, low, high float64) {
	f := &r.Fine
	if c.Lacks != "" || f.LowUS <= 0 && f.Modelled == 0 {
		return 0, 0, 0
	}
	ratio = c.TotalUS / f.TotalUS
	if c.Modelled == 0 && f.Modelled == 0 {
		low = min(ratio, c.free[0]/f.free[1], c.shared[0]/f.shared[1])
		high = max(ratio, c.free[1]/f.free[0], c.shared[1]/f.shared[0])
	}
	return ratio, low, high
}

// Case returns a case by name; nil: there is none.
func (r *Result) Case(name string) *Case {
	switch name {
	case "coarse":
		return &r.Coarse
	case "fine":
		return &r.Fine
	}
	for i := range r.Singles {
		if r.Singles[i].Name == name {
			return &r.Singles[i]
		}
	}
	return nil
}

// BorrowedCalls is how many calls of a case the fallback makes.
func (r *Result) BorrowedCalls(c *Case) (n int) {
	for i := range r.Calls {
		if c.Borrowed[r.Calls[i].Kind] {
			n += r.Calls[i].Count
		}
	}
	return n
}

// Efficiency is a case's scaling efficiency relative to the same case of another number of ranks;
// 0: not known.
func (r *Result) Efficiency(first *Result, name string) float64 {
	a, b := first.Case(name), r.Case(name)
	if a == nil || b == nil || a.Lacks != "" || b.Lacks != "" || b.TotalUS == 0 {
		return 0
	}
	switch r.Step.Scaling {
	case "weak":
		return a.TotalUS / b.TotalUS
	case "strong":
		return a.TotalUS * float64(first.Step.Ranks) / (b.TotalUS * float64(r.Step.Ranks))
	}
	return 0
}
