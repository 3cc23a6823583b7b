package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
)

// Source supplies the times of calls.
type Source interface {
	// Times returns what each library takes for a call, one time a library; none where no
	// library is known to make it.
	Times(Kind) ([]libraries.Time, error)
}

// Sources are several, whose libraries compete.
type Sources []Source

// Times are those of all sources; of a library that two of them have, the first's.
func (all Sources) Times(k Kind) (times []libraries.Time, err error) {
	for _, s := range all {
		more, err := s.Times(k)
		if err != nil {
			return nil, err
		}
		times = merged(times, more)
	}
	return times, nil
}

// merged adds to times those of libraries that they lack, and sorts them by rising time.
func merged(times, more []libraries.Time) []libraries.Time {
	for _, t := range more {
		if !slices.ContainsFunc(times, func(o libraries.Time) bool { return o.Entry() == t.Entry() }) {
			times = append(times, t)
		}
	}
	slices.SortStableFunc(times, func(a, b libraries.Time) int {
		return cmp.Or(cmp.Compare(a.TimeUS, b.TimeUS), cmp.Compare(a.Entry(), b.Entry()))
	})
	return times
}

// tableSource supplies the times of a table.
type tableSource struct {
	table  *libraries.Table
	system string
	curves map[Kind]*libraries.Curves // by a kind of no size; nil: the table has none
}

// FromTable supplies the times of a table; system chooses among several. Between two sizes
// that were measured a time is that of Curves.At; below a library's least size it is the
// time there, and beyond its greatest the library has none.
func FromTable(t *libraries.Table, system string) Source {
	return tableSource{t, system, map[Kind]*libraries.Curves{}}
}

// A library that has no times of an alltoallv whose traffic is balanced makes it as the
// all-to-all that it is.
func (s tableSource) Times(k Kind) ([]libraries.Time, error) {
	times, err := s.own(k)
	if err != nil || k.Collective != "alltoallv" || !isBalanced(k.Traffic) {
		return times, err
	}
	k.Collective, k.Traffic, k.SMs, k.Bytes = "alltoall", "", "", (k.Bytes+int64(k.Ranks)-1)/int64(k.Ranks)
	even, err := s.own(k)
	if err != nil {
		return nil, err
	}
	return merged(times, even), nil
}

func (s tableSource) own(k Kind) ([]libraries.Time, error) {
	curves, err := s.of(k)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	if curves == nil {
		return nil, nil
	}
	return curves.AtOrAbove(k.Bytes), nil
}

// of are the curves of a kind over sizes; nil: the table has none.
func (s tableSource) of(k Kind) (curves *libraries.Curves, err error) {
	k.Bytes, k.Stride = 0, 0
	if curves, known := s.curves[k]; known {
		return curves, nil
	}
	q := libraries.Query{Collective: k.Collective, Ranks: k.Ranks}
	q.Conditions[measured.System], q.Conditions[measured.DType] = s.system, k.DType
	q.Conditions[measured.SMs], q.Conditions[measured.Traffic] = k.SMs, k.Traffic
	if k.Nodes > 0 {
		q.Conditions[measured.Nodes] = strconv.Itoa(k.Nodes)
	}
	curves, err = s.table.Curves(q)
	if errors.Is(err, libraries.ErrNone) && k.Nodes > 0 { // rows that do not state their nodes
		q.Conditions[measured.Nodes] = ""
		if curves, err = s.table.Curves(q); err == nil && curves.Stated(measured.Nodes) {
			curves = nil
		}
	}
	if errors.Is(err, libraries.ErrNone) {
		curves, err = nil, nil
	}
	if err == nil {
		s.curves[k] = curves
	}
	return curves, err
}
