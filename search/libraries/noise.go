package libraries

import (
	"cmp"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/tuning"
)

// unknownNoise is the share by which two times of one call differ in files that don't repeat
// calls, and fewestRepeats the calls that a file has to repeat to tell its own.
const (
	unknownNoise  = 0.03
	fewestRepeats = 5
)

// setNoise sets the noise of merged rows: of each file, the median of what the times of one
// call differ by.
func setNoise(rows []measured.Row) {
	spreads := map[string][]float64{}
	for i := range rows {
		if r := &rows[i]; r.Runs > 1 && r.HighUS > r.LowUS && !r.Simulated() {
			spreads[file(r)] = append(spreads[file(r)], r.HighUS/r.LowUS-1)
		}
	}
	for i := range rows {
		rows[i].Noise = unknownNoise
		if all := spreads[file(&rows[i])]; len(all) >= fewestRepeats {
			rows[i].Noise = results.Median(all)
		}
	}
}

// file is the source without its line.
func file(r *measured.Row) string {
	if i := strings.LastIndexByte(r.Source, ':'); i >= 0 {
		return r.Source[:i]
	}
	return r.Source
}

// near reports whether a slower row is the same within noise: the intervals meet, or come as
// near as a share.
func near(best, second *measured.Row, within float64) bool {
	low, _ := second.Interval()
	_, high := best.Interval()
	return low <= high*(1+within)
}

// own reports whether the library's own kernels ran, and not those of the library that it
// leaves larger calls to.
func own(r *measured.Row) bool {
	s := tuning.Scope{Collective: r.Collective, Ranks: r.Ranks, System: r.Conditions[measured.System]}
	return tuning.Ran(s, tuning.Config{Library: r.Library, Kernel: r.Conditions[measured.Kernel]}, r.Bytes).Library == r.Library
}

// compareSpeed compares times of one call: those of a library's own kernels come first.
func compareSpeed(a, b *measured.Row) int {
	if x, y := own(a), own(b); x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.TimeUS, b.TimeUS)
}

// sortTimes puts times of one call into order.
func sortTimes(times []Time) {
	slices.SortStableFunc(times, func(a, b Time) int { return compareSpeed(&a.Row, &b.Row) })
}
