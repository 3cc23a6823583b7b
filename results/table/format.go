package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// format is a row of the table of output formats.
type format struct {
	name  string
	write func(*Table, io.Writer) error
}

// formats is the table of output formats; the first row is the default.
var formats = []format{
	{"table", (*Table).writeText},
	{"json", (*Table).writeJSON},
	{"csv", (*Table).writeCSV},
	{"md", (*Table).writeMarkdown},
}

// Formats lists the formats that Write knows, the default first.
func Formats() []string {
	return lists.Map(formats, func(f format) string { return f.name })
}

// Write prints the table in one of Formats. The error is about an unknown format, or
// that of writing.
func (t *Table) Write(w io.Writer, name string) error {
	for _, f := range formats {
		if f.name == name {
			return f.write(t, w)
		}
	}
	return fmt.Errorf("unknown format %q: want one of %s", name, strings.Join(Formats(), ", "))
}

func (t *Table) writeJSON(w io.Writer) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(t); err != nil {
		return err
	}
	_, err := w.Write(safe.JSON(b.Bytes()))
	return err
}

// column is one column of the printed forms.
type column struct {
	head  string // with the unit, as CSV has it
	short string // as the table has it
	text  bool   // aligned left
	exact func(r *Row) string
	brief func(r *Row) string // nil: exact
}

// repeatColumns are further columns where times are measured.
var repeatColumns = []column{
	{"tied_with", "tied with", true, (*Row).tieText, nil},
	{"outliers", "outliers", true, (*Row).outlierText, nil},
}

// columns lists the table's columns, in order.
func (t *Table) columns() []column {
	all := columns
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Repeats != nil }) {
		all = slices.Concat(all, repeatColumns)
	}
	if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Outlook != nil }) {
		gain := func(r *Row) string {
			if r.Outlook == nil {
				return ""
			}
			return full(r.Outlook.Gain)
		}
		all = append(slices.Clone(all), column{"expected_gain", "to gain", false, gain, t.outlookText})
	}
	return all
}

// columns is the table of columns that every table has, in order.
var columns = []column{
	{"collective", "", true, func(r *Row) string { return r.Collective }, nil},
	{"topology", "", true, func(r *Row) string { return r.Topology }, nil},
	{"nodes", "", false, func(r *Row) string { return strconv.Itoa(r.Nodes) }, nil},
	{"ranks", "", false, func(r *Row) string { return strconv.Itoa(r.Ranks) }, nil},
	{"size_bytes", "size", false, func(r *Row) string { return strconv.FormatInt(r.Bytes, 10) }, func(r *Row) string { return units.Bytes(r.Bytes).String() }},
	{"placement", "", true, func(r *Row) string { return r.Placement }, nil},
	{"algorithm", "algorithm", true, func(r *Row) string { return r.Algorithm }, nil},
	{"source", "", true, func(r *Row) string { return r.Source }, nil},
	{"parameters", "parameters", true, func(r *Row) string { return ParametersText(r.Parameters) }, func(r *Row) string { return briefParameters(r.Parameters) }},
	{"channels", "ch", false, func(r *Row) string { return strconv.Itoa(r.Channels) }, func(r *Row) string { return ifAny(int64(r.Channels), strconv.Itoa(r.Channels)) }},
	{"instances", "inst", false, func(r *Row) string { return strconv.Itoa(r.Instances) }, nil},
	{"protocol", "proto", true, func(r *Row) string { return r.Protocol }, nil},
	{"tile_bytes", "tile", false, func(r *Row) string { return strconv.FormatInt(r.TileBytes, 10) }, func(r *Row) string { return ifAny(r.TileBytes, units.Bytes(r.TileBytes).String()) }},
	{"time_us", "time", false, func(r *Row) string { return full(r.TimeUS) }, func(r *Row) string { return brief(r.TimeUS) }},
	{"time_ci_low_us", "", false, func(r *Row) string { return full(r.TimeCIUS[0]) }, nil},
	{"time_ci_high_us", "", false, func(r *Row) string { return full(r.TimeCIUS[1]) }, nil},
	{"time_band_low_us", "90 %", false, func(r *Row) string { return bandText(r.TimeBandUS, 0, full) }, func(r *Row) string { return bandText(r.TimeBandUS, -1, brief) }},
	{"time_band_high_us", "", false, func(r *Row) string { return bandText(r.TimeBandUS, 1, full) }, nil},
	{"algbw_gbps", "algbw", false, func(r *Row) string { return full(r.AlgBW) }, func(r *Row) string { return brief(r.AlgBW) }},
	{"busbw_gbps", "busbw", false, func(r *Row) string { return fullOr(r.BusBW) }, func(r *Row) string { return briefOr(r.BusBW) }},
	{"baseline", "baseline", true, func(r *Row) string { return orEmpty(r.Baseline) }, func(r *Row) string { return r.Compared().Baseline }},
	{"baseline_time_us", "its time", false, func(r *Row) string { return fullOr(r.BaselineTimeUS) }, func(r *Row) string { return briefOr(r.Compared().TimeUS) }},
	{"speedup", "speedup", false, func(r *Row) string { return fullOr(r.Speedup) }, func(r *Row) string { return briefOr(r.Compared().Speedup) }},
	{"speedup_band_low", "its 90 %", false, func(r *Row) string { return bandText(r.SpeedupBand, 0, full) }, func(r *Row) string { return bandText(r.Compared().SpeedupBand, -1, brief) }},
	{"speedup_band_high", "", false, func(r *Row) string { return bandText(r.SpeedupBand, 1, full) }, nil},
	{"speedup_verdict", "verdict", true, func(r *Row) string { return orEmpty(r.SpeedupVerdict) }, (*Row).Verdict},
	{"leave_to_library", "leave", true, func(r *Row) string { return strconv.FormatBool(r.LeaveToLibrary) }, func(r *Row) string { return leaveText(r.LeaveToLibrary) }},
	{"bound_us", "", false, func(r *Row) string { return fullOr(r.BoundUS) }, nil},
	{"bound_ratio", "of bound", false, func(r *Row) string { return fullOr(r.BoundRatio) }, func(r *Row) string { return briefOr(r.BoundRatio) }},
	{"granularity_bytes", "multiple", false, func(r *Row) string { return strconv.FormatInt(r.Granularity, 10) }, nil},
	{"ir", "ir", true, func(r *Row) string { return r.IR }, func(r *Row) string { return results.ShortHash(r.IR) }},
	{"executor", "", true, func(r *Row) string { return r.Executor }, nil},
	{"checked", "unchecked", true, func(r *Row) string { return boolText(r.Checked) }, func(r *Row) string { return r.evidence.mark() }},
	{"baseline_checked", "", true, func(r *Row) string { return boolText(r.BaselineChecked) }, nil},
	{"baseline_release", "", true, func(r *Row) string { return orEmpty(r.BaselineRelease) }, nil},
	{"baseline_registered", "", true, func(r *Row) string { return orEmpty(r.BaselineRegistered) }, nil},
	{"baseline_evidence", "", true, func(r *Row) string { return orEmpty(r.BaselineEvidence) }, nil},
	{"threadblocks", "", false, func(r *Row) string { return orNone(r.Threadblocks, strconv.Itoa) }, nil},
	{"proof", "", true, func(r *Row) string { return orNone(r.Proof, func(p Proof) string { return p.Status + " by " + p.By }) }, nil},
	{"baseline_threadblocks", "", false, func(r *Row) string { return orNone(r.BaselineThreadblocks, strconv.Itoa) }, nil},
	{"baseline_copies_us", "", false, func(r *Row) string { return fullOr(r.BaselineCopiesUS) }, nil},
	{"baseline_best_channels_us", "", false, func(r *Row) string { return fullOr(r.BaselineBestChannelsUS) }, nil},
	{"speedup_verdict_best", "", true, func(r *Row) string { return orEmpty(r.SpeedupVerdictBest) }, nil},
	{"as_called", "", true, func(r *Row) string { return orNone(r.AsCalled, func(c AsCalled) string { return c.Baseline }) }, nil},
	{"as_called_time_us", "", false, func(r *Row) string { return orNone(r.AsCalled, func(c AsCalled) string { return fullOr(c.TimeUS) }) }, nil},
	{"as_called_speedup", "", false, func(r *Row) string { return orNone(r.AsCalled, func(c AsCalled) string { return fullOr(c.Speedup) }) }, nil},
	{"note", "", true, func(r *Row) string { return r.place }, nil},
}

// leaveText marks a row whose size is left to the library.
func leaveText(leave bool) string {
	if leave {
		return "to the library"
	}
	return ""
}

// ifAny returns text, or nothing if n is 0: a native algorithm has no tile, and may
// choose its channels itself.
func ifAny(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return text
}

// brief prints a number as nccl-tests' tables do.
func brief(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// full prints a number so that reading it gives the same number.
func full(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// orNone prints a value; nothing if there is none.
func orNone[T any](v *T, print func(T) string) string {
	if v == nil {
		return ""
	}
	return print(*v)
}

func fullOr(v *float64) string  { return orNone(v, full) }
func briefOr(v *float64) string { return orNone(v, brief) }
func orEmpty(s *string) string  { return orNone(s, strings.Clone) }

// caption describes the table's collective, system and units.
func (t *Table) caption() []string {
	if len(t.Rows) == 0 {
		return []string{"nothing measured yet"}
	}
	r := &t.Rows[0]
	how := "measured"
	if t.Campaign.Simulated {
		how = "simulated"
	}
	nodes, ranks := units.Count(r.Nodes, "node"), units.Count(r.Ranks, "rank")
	if last := &t.Rows[len(t.Rows)-1]; t.severalNodes() {
		nodes, ranks = fmt.Sprintf("%d to %s", r.Nodes, units.Count(last.Nodes, "node")), fmt.Sprintf("%d to %s", r.Ranks, units.Count(last.Ranks, "rank"))
	}
	lines := []string{fmt.Sprintf("%s on %s, %s, %s, %s by %s", r.Collective, r.Topology, nodes, ranks, how, r.Executor)}
	if line := t.BaselineLine(); line != "" {
		lines = append(lines, line)
	}
	lines = append(lines, t.Notes...)
	col, err := collective.OfName(collective.Spec{Name: r.Collective, Ranks: r.Ranks, Chunks: 1})
	switch {
	case t.Campaign.SharedGPUs != nil:
		lines = append(lines, "size in bytes, time in us (median), algbw in GB/s")
	case err == nil && t.severalNodes():
		lines = append(lines, "size in bytes, time in us (median), algbw and busbw in GB/s")
	case err == nil:
		lines = append(lines, fmt.Sprintf("size in bytes, time in us (median), algbw and busbw in GB/s; busbw = algbw x %.5g", col.BusFactor()))
	}
	return lines
}

// footer sums up the candidates and the trials.
func (t *Table) footer() []string {
	c := t.Candidates
	refused := 0
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(c.Refused)) {
		refused += c.Refused[reason]
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, c.Refused[reason]))
	}
	line := fmt.Sprintf("candidates: %d enumerated, %d refused", c.Enumerated, refused)
	if len(reasons) > 0 {
		line += " (" + strings.Join(reasons, ", ") + ")"
	}
	line += fmt.Sprintf(", %d bounded out, %d tuned", c.BoundedOut, c.Tuned)
	if c.Untried > 0 {
		line += fmt.Sprintf(", %d not tried", c.Untried)
	}
	if open := c.Enumerated - refused - c.BoundedOut - c.Tuned - c.Untried; open > 0 {
		line += fmt.Sprintf(", %d not settled yet", open)
	}
	line += fmt.Sprintf("; trials: %d, of which %d failed", t.Campaign.Trials, t.Campaign.Failed)
	if !t.Campaign.Finished {
		return append(t.SettingLines(), "the search is not finished", line)
	}
	return append(t.SettingLines(), line)
}

// placements reports whether the table has rows of more than one placement.
func (t *Table) placements() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Placement != t.Rows[0].Placement })
}

// grid is the table's cells as people read them, made safe: the columns that have a
// short name, without those that are empty in every row.
func (t *Table) grid(safely func(string) string) (heads []column, cells [][]string) {
	for _, c := range t.columns() {
		if c.head == "placement" && t.placements() {
			c.short = "place"
		}
		if c.head == "nodes" && t.severalNodes() {
			c.short = "nodes"
		}
		if c.short == "" {
			continue
		}
		if c.brief == nil {
			c.brief = c.exact
		}
		used := false
		for i := range t.Rows {
			used = used || c.brief(&t.Rows[i]) != ""
		}
		if used {
			heads = append(heads, c)
		}
	}
	for i := range t.Rows {
		cells = append(cells, lists.Map(heads, func(c column) string { return safely(c.brief(&t.Rows[i])) }))
	}
	return heads, cells
}

func (t *Table) writeText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, line := range t.caption() {
		fmt.Fprintln(out, safe.Line(line))
	}
	heads, cells := t.grid(safe.Line)
	widths := make([]int, len(heads))
	for j, c := range heads {
		widths[j] = utf8.RuneCountInString(c.short)
		for _, line := range cells {
			widths[j] = max(widths[j], utf8.RuneCountInString(line[j]))
		}
	}
	print := func(line []string) {
		var b strings.Builder
		for j, cell := range line {
			if j > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if heads[j].text {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	if len(cells) > 0 {
		print(lists.Map(heads, func(c column) string { return c.short }))
		for _, line := range cells {
			print(line)
		}
	}
	for _, line := range t.footer() {
		fmt.Fprintln(out, safe.Line(line))
	}
	return out.Flush()
}

func (t *Table) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, safe.Markdown(strings.Join(t.caption(), ". ")+"."))
	heads, cells := t.grid(safe.Markdown)
	if len(cells) > 0 {
		var names, rules []string
		for _, c := range heads {
			names = append(names, c.short)
			if c.text {
				rules = append(rules, ":--")
			} else {
				rules = append(rules, "--:")
			}
		}
		fmt.Fprintf(out, "\n| %s |\n| %s |\n", strings.Join(names, " | "), strings.Join(rules, " | "))
		for _, line := range cells {
			fmt.Fprintf(out, "| %s |\n", strings.Join(line, " | "))
		}
	}
	fmt.Fprintf(out, "\n%s.\n", safe.Markdown(strings.Join(t.footer(), ". ")))
	return out.Flush()
}

func (t *Table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	all := t.columns()
	line := lists.Map(all, func(c column) string { return c.head })
	if err := out.Write(line); err != nil {
		return err
	}
	for i := range t.Rows {
		for j, c := range all {
			line[j] = c.exact(&t.Rows[i])
		}
		if err := out.Write(safe.CSVRow(line)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
