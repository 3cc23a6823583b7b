package table

import (
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

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
	all := rowColumns
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

// rowColumns is the table of columns that every table has, in order.
var rowColumns = []column{
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
	{"speedup", "speedup", false, func(r *Row) string { return fullOr(r.Speedup) }, func(r *Row) string { return stretch{r}.speedups() }},
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
	{"run", "", true, (*Row).What, nil},
	{"sms", "", false, func(r *Row) string { return ifAny(int64(r.SMs()), strconv.Itoa(r.SMs())) }, nil},
	{"baseline_sms", "", false, func(r *Row) string { return ifAny(int64(r.BaselineSMs()), strconv.Itoa(r.BaselineSMs())) }, nil},
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
