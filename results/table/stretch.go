package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/columns"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// stretch is neighbouring rows that read alike: the same program, or all left to the library.
type stretch []*Row

// stretches are the table's rows, neighbours that read alike together.
func (t *Table) stretches() (all []stretch) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if n := len(all); n > 0 && all[n-1][0].readsAs(r) {
			all[n-1] = append(all[n-1], r)
		} else {
			all = append(all, stretch{r})
		}
	}
	return all
}

// readsAs reports whether two rows run the same, and stand on as much evidence.
func (r *Row) readsAs(o *Row) bool {
	if r.Nodes != o.Nodes || r.Placement != o.Placement || r.LeaveToLibrary != o.LeaveToLibrary || r.bare() != o.bare() {
		return false
	}
	return r.LeaveToLibrary || r.What() == o.What() && r.SMs() == o.SMs()
}

// bare reports whether nothing that was measured supports the row's speedup.
func (r *Row) bare() bool {
	c := r.Compared()
	return r.model != nil && c.Speedup != nil && c.SpeedupBand == nil
}

// middle is the row in the middle of the sizes.
func (s stretch) middle() *Row { return s[len(s)/2] }

func (s stretch) sizes() string {
	return span(units.Bytes(s[0].Bytes).String(), units.Bytes(s[len(s)-1].Bytes).String())
}

// span is two ends with a dash between, or one where they are the same.
func span(first, last string) string {
	if first == last {
		return first
	}
	return first + "-" + last
}

// rounded prints a time in the digits that matter: 14.5, 1106.
func rounded(us float64) string {
	switch {
	case us < 10:
		return strconv.FormatFloat(us, 'f', 2, 64)
	case us < 100:
		return strconv.FormatFloat(us, 'f', 1, 64)
	}
	return strconv.FormatFloat(us, 'f', 0, 64)
}

// times are the first and the last of the rows' times, without those that are not known.
func (s stretch) times(of func(*Row) *float64) string {
	var all []string
	for _, r := range s {
		if us := of(r); us != nil && *us > 0 {
			all = append(all, rounded(*us))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return span(all[0], all[len(all)-1])
}

// least and most of the rows' values; nil: no row has one.
func (s stretch) extremes(of func(*Row) (least, most *float64)) (least, most *float64) {
	for _, r := range s {
		a, b := of(r)
		if a != nil && (least == nil || *a < *least) {
			least = a
		}
		if b != nil && (most == nil || *b > *most) {
			most = b
		}
	}
	return least, most
}

func spanOf(least, most *float64) string {
	if least == nil || most == nil {
		return ""
	}
	return span(brief(*least), brief(*most))
}

func (s stretch) speedups() string {
	text := spanOf(s.extremes(func(r *Row) (*float64, *float64) { x := r.Compared().Speedup; return x, x }))
	if text != "" && s[0].bare() {
		return "(" + text + ")"
	}
	return text
}

// band is the interval that holds those of all rows.
func (s stretch) band() string {
	return spanOf(s.extremes(func(r *Row) (*float64, *float64) {
		if b := r.Compared().SpeedupBand; b != nil {
			return &b[0], &b[1]
		}
		return nil, nil
	}))
}

// sms are the most SMs that the rows' programs take, or their library.
func (s stretch) sms(of func(*Row) int) string {
	most := 0
	for _, r := range s {
		most = max(most, of(r))
	}
	return ifAny(int64(most), strconv.Itoa(most))
}

// verdict is that of all rows, or at how many of them the program is faster: faster 3 of 5. kinds are
// then what that stands on, such as unregistered.
func (s stretch) verdict() (word, kinds string) {
	words := unique(lists.Map(s, (*Row).Verdict))
	if len(words) < 2 {
		return strings.Join(words, ""), ""
	}
	var marks []string
	faster := 0
	for _, r := range s {
		if mark, is := strings.CutPrefix(r.Verdict(), Surely); is {
			faster++
			marks = append(marks, strings.Trim(mark, " ()"))
		}
	}
	if faster == 0 {
		return strings.Join(words, ", "), ""
	}
	return fmt.Sprintf("%s %d of %d", Surely, faster, len(s)), strings.Join(unique(marks), ", ")
}

// library is what the library would choose: its algorithms, without the collective's name and the
// threadblocks, which have a column.
func (s stretch) library() string {
	names := unique(lists.Map(s, func(r *Row) string {
		name := strings.TrimPrefix(r.Compared().Baseline, kernelOf[r.Collective])
		if n := r.BaselineSMs(); n > 0 {
			name = strings.Replace(name, fmt.Sprintf(" ×%d", n), "", 1)
		}
		return name
	}))
	if name := libraryOf(s[0].BaselineRelease); name != "" {
		return name + ": " + strings.Join(names, ", ")
	}
	return strings.Join(names, ", ")
}

// libraryName is the library that the rows are compared with, or the name of their only baseline.
func (s stretch) libraryName() string {
	for _, r := range s {
		if name := libraryOf(r.BaselineRelease); name != "" {
			return name
		}
	}
	if names := unique(lists.Map(s, func(r *Row) string { return r.Compared().Baseline })); len(names) == 1 {
		return names[0]
	}
	return "the library"
}

// releaseName is libraryName with the release: NCCL 2.32.
func (s stretch) releaseName() string {
	for _, r := range s {
		if name := libraryOf(r.BaselineRelease); name != "" {
			_, version, _ := strings.Cut(*r.BaselineRelease, "-")
			numbers := strings.SplitN(version, ".", 3)
			return strings.TrimSpace(name + " " + strings.Join(numbers[:min(len(numbers), 2)], "."))
		}
	}
	return s.libraryName()
}

// kernelOf is how the names of NCCL's symmetric kernels for a collective begin.
var kernelOf = map[string]string{"allreduce": "AllReduce_", "allgather": "AllGather_", "reducescatter": "ReduceScatter_"}

// remark is what else a reader needs of the rows: ties.
func (s stretch) remark() string {
	tied := unique(lists.Map(s, (*Row).tieText))
	if len(tied) == 0 {
		return ""
	}
	n := 0
	for _, r := range s {
		if r.tieText() != "" {
			n++
		}
	}
	return fmt.Sprintf("tie at %d of %s with %s", n, units.Count(len(s), "size"), strings.Join(tied, ", "))
}

// leaveTo says to whom sizes are left.
func leaveTo(s stretch) string {
	if name := libraryOf(s[0].BaselineRelease); name != "" {
		return "leave to " + name
	}
	return "leave to the library"
}

// cells are a stretch in words.
type cells struct {
	nodes, place, sizes, run, sms, time, library, librarySMs, libraryTime, speedup, band, verdict, why string
}

func (t *Table) cellsOf(s stretch, l Look) cells {
	r := s[0]
	c := cells{
		nodes: strconv.Itoa(r.Nodes), place: r.Placement, sizes: s.sizes(), run: whatOf(s), sms: s.sms((*Row).SMs),
		time: s.times(func(r *Row) *float64 { return &r.TimeUS }), library: s.library(), librarySMs: s.sms((*Row).BaselineSMs),
		libraryTime: s.times(func(r *Row) *float64 { return r.Compared().TimeUS }), speedup: s.speedups(), band: s.band(),
	}
	var kinds string
	c.verdict, kinds = s.verdict()
	if r.LeaveToLibrary {
		c.verdict, kinds = leaveTo(s), ""
	}
	c.why = strings.Join(unique([]string{kinds, s.remark()}), "; ")
	if r.model != nil && r.TimeBandUS == nil {
		c.time = "(" + c.time + ")"
	}
	if l.Why != nil {
		c.why = strings.Join(unique([]string{c.why, l.Why(s.middle())}), "; ")
	}
	return c
}

// digest is the table as people read it: two lines for each stretch, what to run and what the library
// would do, or in Markdown one.
func (t *Table) digest(l Look, oneLine bool) *columns.Sheet {
	all := t.stretches()
	var heads []columns.Column
	if t.severalNodes() {
		heads = append(heads, columns.Number("nodes"))
	}
	if t.placements() {
		heads = append(heads, columns.Text("place"))
	}
	before := len(heads)
	heads = append(heads, columns.Text("size"), columns.Text("run"), columns.Number("SMs").Beside(), columns.Number("time us").Beside())
	if oneLine {
		heads = append(heads, columns.Text("library"), columns.Number("its SMs"), columns.Number("its us"))
	}
	heads = append(heads, columns.Number("speedup").Beside(), columns.Number("90 %").Beside(), columns.Text("verdict"))
	if oneLine {
		heads = append(heads, columns.Text("why"))
	}
	sheet := &columns.Sheet{Columns: heads}
	for _, s := range all {
		c := t.cellsOf(s, l)
		var lead []string
		if t.severalNodes() {
			lead = append(lead, c.nodes)
		}
		if t.placements() {
			lead = append(lead, c.place)
		}
		if oneLine {
			sheet.Add(slices.Concat(lead, []string{c.sizes, c.run, c.sms, c.time, c.library, c.librarySMs, c.libraryTime, c.speedup, c.band, c.verdict, c.why})...)
			continue
		}
		first, second := []string{c.run, c.sms, c.time}, []string{c.library, c.librarySMs, c.libraryTime}
		if s[0].LeaveToLibrary {
			first, second = second, []string{"best program: " + c.run, c.sms, c.time}
		}
		sheet.Rows = append(sheet.Rows, columns.Row{Cells: slices.Concat(lead, []string{c.sizes}, first, []string{c.speedup, c.band, c.verdict}), Faint: s[0].bare()})
		switch {
		case c.library != "":
			second = slices.Concat(make([]string, before+1), second, []string{c.why})
		case c.why != "":
			second = slices.Concat(make([]string, before+1), []string{c.why})
		default:
			continue
		}
		sheet.Rows = append(sheet.Rows, columns.Row{Cells: second, Faint: s[0].bare()})
	}
	return sheet.Shown()
}
