package libraries

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/tuning"
)

// Export is a table in a format that a library or a framework loads.
type Export struct {
	Rules  []tuning.Rule
	Losses []ExportLoss // sizes where the file has something slower than the fastest
	Gaps   []ExportGap  // calls of which the file has nothing
	Told   []string     // what else the file does not say
	files  []tuning.File
}

// ExportLoss is a measured call at which a file has something slower than the fastest.
type ExportLoss struct {
	tuning.Scope
	Bytes      int64   `json:"bytes"`
	Best       string  `json:"best"`     // the fastest entry
	BestUS     float64 `json:"best_us"`  // µs
	Exported   string  `json:"exported"` // what the file has run
	ExportedUS float64 `json:"exported_us"`
	Ratio      float64 `json:"ratio"` // exported ÷ best
	Why        string  `json:"why"`   // why the fastest is not exported
}

// ExportGap is calls of which a file has nothing.
type ExportGap struct {
	tuning.Scope
	First int64  `json:"min_bytes"`
	Last  int64  `json:"max_bytes"`
	Why   string `json:"why"`
}

// Files are the export's files.
func (e *Export) Files() []tuning.File { return e.files }

// Select returns the table of the rows that a query asks for. An empty collective and 0 ranks
// are any.
func (t *Table) Select(q Query) *Table {
	s := &Table{Equal: t.Equal}
	for i := range t.Rows {
		r := &t.Rows[i]
		if (q.Collective == "" || q.Collective == r.Collective) && (q.Ranks == 0 || q.Ranks == r.Ranks) && q.admits(t, r) {
			s.Rows = append(s.Rows, *r)
		}
	}
	return s
}

// ErrLeft is wrapped by the error of a format that has rows of all that is left to the library,
// where these are not known.
var ErrLeft = errors.New("calls without a row run on one channel, and rows can't be for all")

// Export makes the files of a format: of each collective and number of ranks, the fastest that
// an entry can name, over ranges of sizes that are exact to the byte. The error says which kinds of a call the format can't tell apart.
func (t *Table) Export(f *tuning.Format, o tuning.Options) (*Export, error) {
	e := &Export{}
	rows := map[group][]*measured.Row{}
	var groups []group
	for _, c := range t.Choices(0) {
		if n := len(groups); n == 0 || groups[n-1] != c.cell.group {
			groups = append(groups, c.cell.group)
		}
	}
	for i := range t.Rows {
		g := t.cellOf(&t.Rows[i]).group
		rows[g] = append(rows[g], &t.Rows[i])
	}
	of := map[tuning.Scope]group{}
	unsaid := map[string][]string{}
	for _, g := range groups {
		x := &exported{format: f, scope: scopeOf(f, g, rows[g]), rows: rows[g]}
		if x.fit(); len(x.able) == 0 {
			least, most := curvesOf(x.rows, (*measured.Row).Entry).Sizes()
			e.Gaps = append(e.Gaps, ExportGap{x.scope, least, most, strings.Join(x.why, "; ")})
			continue
		}
		named := x.scope
		if f.System != nil {
			named.System = f.System(named.System)
		}
		if other, taken := of[named]; taken {
			q := Query{Collective: x.scope.Collective, Ranks: x.scope.Ranks}
			return nil, fmt.Errorf("%s can't tell apart what differs: %w", f.Name, q.ambiguous(t, []group{other, g}))
		}
		of[named] = g
		x.choose(o.KeepSlower)
		e.Rules = append(e.Rules, x.rules...)
		e.Losses = append(e.Losses, x.losses...)
		e.Gaps = append(e.Gaps, x.gaps...)
		x.unsaid(unsaid)
	}
	if len(e.Rules) == 0 {
		return e, nil
	}
	rules := e.Rules
	if f.All {
		var err error
		if rules, err = tuning.WithLeft(e.Rules, o.Left); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrLeft, err)
		}
		e.Told = tuning.LeftTold(rules)
		o.Head = slices.Concat(o.Head, e.Told)
	}
	var told []string
	e.files, told = f.Write(rules, o)
	e.Told = append(e.Told, told...)
	for _, what := range slices.Sorted(maps.Keys(unsaid)) {
		values := unsaid[what]
		slices.Sort(values)
		e.Told = append(e.Told, fmt.Sprintf("the times are of %s %s, which the file does not say", what, strings.Join(slices.Compact(values), ", ")))
	}
	return e, nil
}

func scopeOf(f *tuning.Format, g group, rows []*measured.Row) tuning.Scope {
	s := tuning.Scope{Collective: g.collective, Ranks: g.ranks}
	if f.Nodes {
		s.Nodes, _ = strconv.Atoi(rows[0].Conditions[measured.Nodes])
	}
	if f.System != nil {
		s.System = rows[0].Conditions[measured.System]
	}
	return s
}

// configOf is what a row measured, as files name it.
func configOf(r *measured.Row) tuning.Config {
	c := tuning.Config{
		Library: r.Library, Version: r.Version, Kernel: r.Conditions[measured.Kernel], Protocol: r.Conditions[measured.Protocol],
		Registered: r.Conditions[measured.Registered] == "window",
	}
	c.Channels, _ = strconv.Atoi(r.Conditions[measured.SMs])
	c.Threads, _ = strconv.Atoi(r.Conditions[measured.Threads])
	return c
}

// config is configOf, or what ran where the format has thresholds between that.
func (x *exported) config(r *measured.Row) tuning.Config {
	c := configOf(r)
	if x.format.Rung != nil {
		c = tuning.Ran(x.scope, c, r.Bytes)
	}
	return c
}

// exported is a group on its way into a format.
type exported struct {
	format *tuning.Format
	scope  tuning.Scope
	rows   []*measured.Row
	able   []*measured.Row // those that an entry can name
	why    []string        // why the others can't
	curves *Curves         // of the able, by what an entry says
	pieces []piece         // rising, without overlaps
	left   []Region        // sizes left to the library's own choice
	rules  []tuning.Rule
	losses []ExportLoss
	gaps   []ExportGap
}

// piece is sizes at which a curve is exported.
type piece struct {
	first, last int64
	curve       *curve
}

// fit separates the rows that an entry can name from the others.
func (x *exported) fit() {
	for _, r := range x.rows {
		why := x.format.Lacks(x.scope, configOf(r))
		if why == "" {
			x.able = append(x.able, r)
		}
		if why != "" && !slices.Contains(x.why, why) {
			x.why = append(x.why, why)
		}
	}
}

// choose fills in pieces, rules, losses and gaps. slower keeps what is not known to be faster
// than the library's own choice.
func (x *exported) choose(slower bool) {
	switch {
	case x.format.One:
		x.curves = curvesOf(x.able, x.said)
		x.pieces = x.single()
	case x.format.Rung != nil:
		x.curves = curvesOf(x.able, func(r *measured.Row) string { return strconv.Itoa(x.format.Rung(x.config(r))) })
		x.pieces = x.ladder()
	case x.format.Own != nil && !slower:
		x.curves = curvesOf(x.able, x.said)
		x.pieces = x.faster()
	default:
		x.curves = curvesOf(x.able, x.said)
		x.pieces = x.ranges()
	}
	for i, p := range x.pieces {
		if i > 0 && p.first > x.pieces[i-1].last+1 && len(x.left) == 0 {
			x.gaps = append(x.gaps, ExportGap{x.scope, x.pieces[i-1].last + 1, p.first - 1, "no times of what an entry can name reach these sizes"})
		}
		x.rules = append(x.rules, tuning.Rule{Scope: x.scope, First: p.first, Last: p.last, Config: x.format.Same(x.config(p.curve.rows[0]))})
	}
	x.lose()
}

// said names a row by what an entry says of it.
func (x *exported) said(r *measured.Row) string { return fmt.Sprint(x.format.Same(configOf(r))) }

// ranges exports the fastest at each size.
func (x *exported) ranges() (pieces []piece) {
	for _, r := range x.curves.Regions() {
		one := r.curve
		if one == nil {
			continue // between the sizes of two that do not meet
		}
		first := r.First
		for _, bytes := range x.curves.sizes {
			if x.format.Each && bytes > first && bytes <= r.Last {
				pieces = append(pieces, piece{first, bytes - 1, one})
				first = bytes
			}
		}
		pieces = append(pieces, piece{first, r.Last, one})
	}
	return pieces
}

// faster is ranges without what the library would run by itself as fast, and without the sizes
// at which its own choice has no time.
func (x *exported) faster() (pieces []piece) {
	var own []*measured.Row
	for _, r := range x.rows {
		if x.format.Own(configOf(r)) {
			own = append(own, r)
		}
	}
	leave := func(first, last int64, why string) {
		x.left = append(x.left, Region{First: first, Last: last})
		x.gaps = append(x.gaps, ExportGap{x.scope, first, last, why})
	}
	const unknown = "the table has no times of the library's own choice there (rows without kernel and protocol), so that none is known to be faster: want them, or --keep-slower"
	if len(own) == 0 {
		first, last := x.curves.Sizes()
		leave(first, last, unknown)
		return nil
	}
	const ownName = "\x00" // before all others, so that it has ties
	both := curvesOf(slices.Concat(x.able, own), func(r *measured.Row) string {
		if x.format.Own(configOf(r)) {
			return ownName
		}
		return x.said(r)
	})
	least, most := curvesOf(own, (*measured.Row).Entry).Sizes()
	for _, r := range both.Regions() {
		first, last := max(r.First, least), min(r.Last, most)
		switch {
		case r.curve == nil:
		case first > last:
			leave(r.First, r.Last, unknown)
		case r.curve.name == ownName:
			leave(first, last, "the library's own choice is as fast, and the sizes are left to it")
		default:
			if r.First < first {
				leave(r.First, first-1, unknown)
			}
			pieces = append(pieces, piece{first, last, x.curves.curve(r.curve.name)})
			if last < r.Last {
				leave(last+1, r.Last, unknown)
			}
		}
	}
	return pieces
}

// curve returns that of a name, which there is.
func (c *Curves) curve(name string) *curve {
	return c.of[slices.IndexFunc(c.of, func(one *curve) bool { return one.name == name })]
}

// loss is how far a choice is from the best: sizes without a time, then the sum of the
// logarithms of times.
type loss struct {
	without int
	logs    float64
}

func (l loss) plus(c *curve, bytes int64) loss {
	if t, ok := c.at(bytes); ok {
		return loss{l.without, l.logs + math.Log(t.TimeUS)}
	}
	return loss{l.without + 1, l.logs}
}

// plusBehind is plus of how far a curve is behind the fastest; within noise it is not.
func (l loss) plusBehind(c *curve, fastest Time) loss {
	t, ok := c.at(fastest.Bytes)
	switch {
	case !ok:
		l.without++
	case !near(&fastest.Row, &t.Row, 0):
		l.logs += math.Log(t.TimeUS / fastest.TimeUS)
	}
	return l
}

func (l loss) compare(o loss) int {
	return cmp.Or(cmp.Compare(l.without, o.without), cmp.Compare(l.logs, o.logs))
}

// single exports the one that is the best over all sizes.
func (x *exported) single() []piece {
	var best *curve
	var least loss
	for _, one := range x.curves.of {
		var l loss
		for _, bytes := range x.curves.sizes {
			l = l.plus(one, bytes)
		}
		if best == nil || l.compare(least) < 0 {
			best, least = one, l
		}
	}
	first, last := x.curves.Sizes()
	return []piece{{first, last, best}}
}

// runs reports whether the kernels of a rung's curve run at a size, as far as is known.
func (x *exported) runs(one *curve, bytes int64) bool {
	return strconv.Itoa(x.format.Rung(tuning.Ran(x.scope, configOf(one.rows[0]), bytes))) == one.name
}

// shared are the sizes that all curves reach, but for those of kernels that don't run there;
// all sizes if there are none.
func (x *exported) shared() []int64 {
	all := slices.DeleteFunc(slices.Clone(x.curves.sizes), func(bytes int64) bool {
		return slices.ContainsFunc(x.curves.of, func(one *curve) bool {
			_, ok := one.at(bytes)
			return !ok && x.runs(one, bytes)
		})
	})
	if len(all) == 0 {
		return x.curves.sizes
	}
	return all
}

// ladder exports one curve after another, in the order of rungs, with the thresholds that are
// the best over the sizes that all reach. Of rungs that are the same within noise the last
// counts, so that noise raises no threshold. Between two sizes the threshold is where the
// curves cross; beyond them the first and the last rung go on.
func (x *exported) ladder() (pieces []piece) {
	sizes, of := x.shared(), x.curves.of
	type state struct {
		loss
		from int
	}
	states := make([][]state, len(sizes))
	for i, bytes := range sizes {
		fastest := x.curves.At(bytes)[0]
		for k, one := range of {
			var s state
			if i > 0 {
				for from := 1; from <= k; from++ {
					if states[i-1][from].compare(states[i-1][s.from].loss) <= 0 {
						s.from = from
					}
				}
				s.loss = states[i-1][s.from].loss
			}
			s.loss = s.plusBehind(one, fastest)
			states[i] = append(states[i], s)
		}
	}
	last := len(sizes) - 1
	at := 0
	for k := range of {
		if states[last][k].compare(states[last][at].loss) <= 0 {
			at = k
		}
	}
	rungs := make([]int, len(sizes))
	for i := last; i >= 0; i-- {
		rungs[i] = at
		at = states[i][at].from
	}
	first, end := x.curves.Sizes()
	for i := range sizes {
		if i == last {
			pieces = append(pieces, piece{first, end, of[rungs[i]]})
		} else if rungs[i+1] != rungs[i] {
			next := x.crossing(of[rungs[i]], of[rungs[i+1]], sizes[i], sizes[i+1])
			pieces = append(pieces, piece{first, next - 1, of[rungs[i]]})
			first = next
		}
	}
	return pieces
}

// crossing is the first size above low, at most high, from which b is exported after a: where
// b is faster, or a's kernel ends. Where they are the same within noise at high, it is the one
// above low.
func (x *exported) crossing(a, b *curve, low, high int64) int64 {
	s, okA := a.at(high)
	t, okB := b.at(high)
	next := func(bytes int64) bool { return !x.runs(a, bytes) }
	switch {
	case okA && okB && near(&s.Row, &t.Row, 0) && near(&t.Row, &s.Row, 0):
		return low + 1
	case okA && okB:
		next = func(bytes int64) bool {
			s, okA := a.at(bytes)
			t, okB := b.at(bytes)
			return okA && okB && t.TimeUS < s.TimeUS
		}
	}
	if !next(high) {
		return high
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; next(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// lose lists the measured sizes at which something slower than the fastest is exported, or
// nothing.
func (x *exported) lose() {
	fastest := map[int64]*measured.Row{}
	for _, r := range x.rows {
		if b := fastest[r.Bytes]; b == nil || compareSpeed(r, b) < 0 {
			fastest[r.Bytes] = r
		}
	}
	for _, bytes := range slices.Sorted(maps.Keys(fastest)) {
		best := fastest[bytes]
		if slices.ContainsFunc(x.left, func(r Region) bool { return bytes >= r.First && bytes <= r.Last }) {
			continue
		}
		i, _ := slices.BinarySearchFunc(x.pieces, bytes, func(p piece, bytes int64) int { return cmp.Compare(p.last, bytes) })
		if i == len(x.pieces) || bytes < x.pieces[i].first {
			x.gaps = append(x.gaps, ExportGap{x.scope, bytes, bytes, "no times of what an entry can name reach it"})
			continue
		}
		t, ok := x.pieces[i].curve.at(bytes)
		switch why := x.format.Lacks(x.scope, configOf(best)); {
		case !ok:
			x.gaps = append(x.gaps, ExportGap{x.scope, bytes, bytes, "what the file has run there has no time"})
		case x.format.Rung != nil && why == "" && near(best, &t.Row, 0):
		case t.TimeUS > best.TimeUS*(1+rounding):
			x.losses = append(x.losses, ExportLoss{x.scope, bytes, entryText(best), best.TimeUS, entryText(&t.Row), t.TimeUS, t.TimeUS / best.TimeUS, cmp.Or(why, "the file has room for less")})
		}
	}
}

// entryText names a row's library and kernel.
func entryText(r *measured.Row) string {
	return strings.Join(slices.DeleteFunc([]string{r.Entry(), r.Conditions[measured.Kernel], r.Conditions[measured.Protocol]}, func(s string) bool { return s == "" }), " ")
}

// unsaid adds the conditions of what is exported that the format does not say, with their values.
func (x *exported) unsaid(all map[string][]string) {
	note := func(what, value string) {
		if value != "" {
			all[what] = append(all[what], value)
		}
	}
	for _, p := range x.pieces {
		for _, r := range p.curve.rows {
			if r.Bytes < p.first || r.Bytes > p.last {
				continue
			}
			for i, v := range r.Conditions {
				switch c := measured.Condition(i); c {
				case measured.Nodes:
					if !x.format.Nodes {
						note(c.String(), v)
					}
				case measured.System:
					if x.format.System == nil {
						note(c.String(), v)
					}
				case measured.Evidence:
					if r.Simulated() {
						note(c.String(), v)
					}
				case measured.Kernel, measured.SMs, measured.Threads, measured.Protocol, measured.Registered:
					if has, said := configOf(r), x.format.Same(configOf(r)); fieldOf(has, c) != "" && fieldOf(said, c) == "" {
						note(c.String(), v)
					}
				default:
					note(c.String(), v)
				}
			}
			if x.format.Same(configOf(r)).Version == "" {
				note("version of "+r.Library, r.Version)
			}
		}
	}
}

func fieldOf(c tuning.Config, of measured.Condition) string {
	switch {
	case of == measured.Kernel:
		return c.Kernel
	case of == measured.Protocol:
		return c.Protocol
	case of == measured.SMs && c.Channels > 0:
		return strconv.Itoa(c.Channels)
	case of == measured.Threads && c.Threads > 0:
		return strconv.Itoa(c.Threads)
	case of == measured.Registered && c.Registered:
		return "window"
	}
	return ""
}

// String is a gap as people read it.
func (g ExportGap) String() string {
	if g.First == g.Last {
		return fmt.Sprintf("%s: of %s nothing is exported: %s", g.Scope, units.Bytes(g.First), g.Why)
	}
	return fmt.Sprintf("%s: of %s to %s nothing is exported: %s", g.Scope, units.Bytes(g.First), units.Bytes(g.Last), g.Why)
}
