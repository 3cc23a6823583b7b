package measured

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/internal/units"
)

// CallTimes are the times of one call in a file of nccl-tests' output, by size and placement.
// There is nothing between its sizes: times are never interpolated.
type CallTimes struct {
	us    map[callSize][]float64
	not   map[callSize]bool // some of the times are of data that was not checked
	sizes []int64
}

type callSize struct {
	bytes     int64
	placement string
}

// ReadCallTimes reads the times of a call from a file. One of another collective, number of
// ranks, element type, reduction or root is an error.
func ReadCallTimes(file string, text []byte, call collective.Call, over collective.Collective) (*CallTimes, error) {
	report, err := nccltests.Parse(file, text)
	if err != nil {
		return nil, err
	}
	m := &CallTimes{us: map[callSize][]float64{}, not: map[callSize]bool{}}
	var others []string // why rows were skipped
	other := func(format string, args ...any) {
		if why := fmt.Sprintf(format, args...); !slices.Contains(others, why) {
			others = append(others, why)
		}
	}
	for i := range report.Tables {
		t := &report.Tables[i]
		if t.Program != "" && t.Collective() != call.Collective {
			other("%s measures no %s", t.Program, call.Collective)
			continue
		}
		if t.Ranks > 0 && t.Ranks != over.Ranks {
			other("measured on %s, not %d", units.Count(t.Ranks, "rank"), over.Ranks)
			continue
		}
		if t.Program == "" || t.Ranks == 0 {
			if why := anotherFactor(t, over); why != "" {
				other("%s", why)
				continue
			}
		}
		for j := range t.Rows {
			if why := differs(&t.Rows[j], &call, over); why != "" {
				other("%s", why)
				continue
			}
			m.take(&t.Rows[j])
		}
	}
	slices.Sort(m.sizes)
	m.sizes = slices.Compact(m.sizes)
	if len(m.sizes) == 0 {
		return nil, fmt.Errorf("%s: nothing in it is %s over %d ranks: %s", file, call.Collective, over.Ranks, strings.Join(others[:min(len(others), 3)], "; "))
	}
	return m, nil
}

// VersionIn is the version of the library that a file of nccl-tests' output names, such as 2.30.7; ""
// where it names none, and of other files.
func VersionIn(file string, text []byte) string {
	report, err := nccltests.Parse(file, text)
	if err != nil {
		return ""
	}
	return report.Library
}

// CallIn returns the collective and the number of ranks that a file of nccl-tests' output names,
// or "" and 0 where its tables differ or name none.
func CallIn(file string, text []byte) (name string, ranks int, err error) {
	report, err := nccltests.Parse(file, text)
	if err != nil {
		return "", 0, err
	}
	for i := range report.Tables {
		t := &report.Tables[i]
		if i == 0 {
			name, ranks = t.Collective(), t.Ranks
		}
		if t.Collective() != name {
			name = ""
		}
		if t.Ranks != ranks {
			ranks = 0
		}
	}
	return name, ranks, nil
}

// Sizes lists the sizes in the file, rising.
func (m *CallTimes) Sizes() []int64 { return slices.Clone(m.sizes) }

// At returns the times in microseconds at a size in a placement, in or out, and whether the data
// of all was checked; no times: there are none.
func (m *CallTimes) At(bytes int64, placement string) (us []float64, checked bool) {
	k := callSize{bytes, placement}
	return m.us[k], !m.not[k]
}

// take adds a row's times, except those with wrong results.
func (m *CallTimes) take(r *nccltests.Row) {
	if r.Bytes < 1 {
		return
	}
	m.sizes = append(m.sizes, r.Bytes)
	for _, placement := range []string{"in", "out"} {
		if at := r.Timing(placement); at != nil && at.Wrong == 0 && units.CheckTimeUS(at.TimeUS) == nil {
			k := callSize{r.Bytes, placement}
			m.us[k] = append(m.us[k], at.TimeUS)
			m.not[k] = m.not[k] || !at.Checked
		}
	}
}

// differs returns how a row's call differs from another, or "".
func differs(r *nccltests.Row, call *collective.Call, over collective.Collective) string {
	switch {
	case r.DType() != call.DType:
		return "elements of " + r.Type + ", not " + call.DType
	case over.Reduces() && r.Op != "" && r.Op != call.Op:
		return "reduction " + r.Op + ", not " + call.Op
	case over.Rooted() && r.Root >= 0 && r.Root != call.Root:
		return "root " + strconv.Itoa(r.Root) + ", not " + strconv.Itoa(call.Root)
	}
	return ""
}

// anotherFactor judges a table that does not name its collective and ranks by the ratio
// of its two bandwidths, and returns how it differs, or "" if the ratio fits. Rows with
// enough digits decide for those of small values, whose rounding hides the ratio.
func anotherFactor(t *nccltests.Table, c collective.Collective) string {
	const tolerance, rounding = 0.03, 0.005 // of two decimals
	for i := range t.Rows {
		for _, at := range []*nccltests.Timing{t.Rows[i].OutOfPlace, t.Rows[i].InPlace} {
			if at == nil || at.AlgBW <= 0 {
				continue
			}
			fits := func(want float64) bool {
				return math.Abs(at.BusBW-want*at.AlgBW) <= tolerance*want*at.AlgBW+rounding*(1+want)
			}
			if !slices.ContainsFunc(factors(c), fits) {
				return fmt.Sprintf("busbw is %.3g of algbw, and %.3g for %s over %d ranks", at.BusBW/at.AlgBW, c.BusFactor(), c.Name, c.Ranks)
			}
		}
	}
	return ""
}

// factors are the ratios of the two bandwidths that tables of a collective can
// have.
func factors(c collective.Collective) []float64 {
	all := []float64{c.BusFactor()}
	if c.Name == "alltoallv" { // rccl-tests has it, and counts as for alltoall
		all = append(all, float64(c.Ranks-1)/float64(c.Ranks))
	}
	return all
}
