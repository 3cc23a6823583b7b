package search

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// BaselineFile is a file of nccl-tests' output that a search is compared with.
type BaselineFile struct {
	Name string // base name
	Text string
}

// Measured holds times from a file, by size and placement. There is nothing
// between its sizes: times are never interpolated.
type Measured struct {
	Name string
	us   map[place][]float64
	not  map[place]bool // some of the times are of data that was not checked
	all  []int64        // its sizes, rising, whether searched for or not
}

type place struct {
	bytes     int64
	placement string
}

// At is the time in microseconds at a size, the median if there are several; ok
// reports whether there is one.
func (m *Measured) At(bytes int64, placement string) (us float64, ok bool) {
	times := m.us[place{bytes, placement}]
	if len(times) == 0 {
		return 0, false
	}
	return results.Median(times), true
}

// Baseline returns the time at a size in bytes as a baseline of results; nil if there is
// no time.
func (m *Measured) Baseline(bytes int64, placement string) *results.Baseline {
	us, ok := m.At(bytes, placement)
	if !ok {
		return nil
	}
	b := &results.Baseline{Name: m.Name, TimeUS: us, Data: results.Checked}
	if m.not[place{bytes, placement}] {
		b.Data = results.Unchecked
	}
	return b
}

// Measured reads the file as measurements of a problem. A file for another collective,
// number of ranks, element type, reduction or root is an error, and so is one with none
// of the problem's sizes.
func (f *BaselineFile) Measured(p *Problem) (*Measured, error) {
	m, err := f.All(p)
	if err == nil && !slices.ContainsFunc(p.Sizes, func(n int64) bool { return slices.Contains(m.all, n) }) {
		return nil, fmt.Errorf("%s: has none of the sizes searched for: it has %s to %s", f.Name, units.Bytes(m.all[0]), units.Bytes(m.all[len(m.all)-1]))
	}
	return m, err
}

// Names returns the collective and the number of ranks that the file names, or "" and 0
// where its tables differ or name none. The error is that of reading the tables.
func (f *BaselineFile) Names() (coll string, ranks int, err error) {
	report, err := nccltests.Parse(f.Name, []byte(f.Text))
	if err != nil {
		return "", 0, err
	}
	for i := range report.Tables {
		t := &report.Tables[i]
		if i == 0 {
			coll, ranks = t.Collective(), t.Ranks
		}
		if t.Collective() != coll {
			coll = ""
		}
		if t.Ranks != ranks {
			ranks = 0
		}
	}
	return coll, ranks, nil
}

// Sizes lists the sizes in the file, rising.
func (m *Measured) Sizes() []int64 { return slices.Clone(m.all) }

// All is Measured for any sizes: a file with none of the problem's is no error.
func (f *BaselineFile) All(p *Problem) (*Measured, error) {
	c, err := p.over()
	if err != nil {
		return nil, err
	}
	report, err := nccltests.Parse(f.Name, []byte(f.Text))
	if err != nil {
		return nil, err
	}
	m := &Measured{Name: f.Name, us: map[place][]float64{}, not: map[place]bool{}}
	var others []string // why rows were skipped
	other := func(format string, args ...any) {
		if why := fmt.Sprintf(format, args...); !slices.Contains(others, why) {
			others = append(others, why)
		}
	}
	for i := range report.Tables {
		t := &report.Tables[i]
		if t.Program != "" && t.Collective() != p.Collective {
			other("%s measures no %s", t.Program, p.Collective)
			continue
		}
		if t.Ranks > 0 && t.Ranks != c.Ranks {
			other("measured on %s, not %d", units.Count(t.Ranks, "rank"), c.Ranks)
			continue
		}
		if t.Program == "" || t.Ranks == 0 {
			if why := anotherFactor(t, p, c); why != "" {
				other("%s", why)
				continue
			}
		}
		for j := range t.Rows {
			if why := f.differs(&t.Rows[j], p, c); why != "" {
				other("%s", why)
				continue
			}
			m.take(&t.Rows[j])
		}
	}
	slices.Sort(m.all)
	m.all = slices.Compact(m.all)
	if len(m.all) == 0 {
		return nil, fmt.Errorf("%s: nothing in it is %s over %d ranks: %s", f.Name, p.Collective, c.Ranks, strings.Join(others[:min(len(others), 3)], "; "))
	}
	return m, nil
}

// differs returns how a row's call differs from the problem's, or "".
func (f *BaselineFile) differs(r *nccltests.Row, p *Problem, c collective.Collective) string {
	switch {
	case r.DType() != p.DType:
		return "elements of " + r.Type + ", not " + p.DType
	case c.Reduces() && r.Op != "" && r.Op != p.Op:
		return "reduction " + r.Op + ", not " + p.Op
	case c.Rooted() && r.Root >= 0 && r.Root != p.Root:
		return "root " + strconv.Itoa(r.Root) + ", not " + strconv.Itoa(p.Root)
	}
	return ""
}

// anotherFactor judges a table that does not name its collective and ranks by the ratio
// of its two bandwidths, and returns how it differs, or "" if the ratio fits. Rows with
// enough digits decide for those of small values, whose rounding hides the ratio.
func anotherFactor(t *nccltests.Table, p *Problem, c collective.Collective) string {
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
				return fmt.Sprintf("busbw is %.3g of algbw, and %.3g for %s over %d ranks", at.BusBW/at.AlgBW, c.BusFactor(), p.Collective, c.Ranks)
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

// take adds a row's times, except those with wrong results.
func (m *Measured) take(r *nccltests.Row) {
	if r.Bytes < 1 {
		return
	}
	m.all = append(m.all, r.Bytes)
	for _, placement := range []string{"in", "out"} {
		if at := r.Timing(placement); at != nil && at.Wrong == 0 && units.CheckTimeUS(at.TimeUS) == nil {
			k := place{r.Bytes, placement}
			m.us[k] = append(m.us[k], at.TimeUS)
			m.not[k] = m.not[k] || !at.Checked
		}
	}
}
