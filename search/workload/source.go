package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

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
		for _, t := range more {
			if !slices.ContainsFunc(times, func(o libraries.Time) bool { return o.Entry() == t.Entry() }) {
				times = append(times, t)
			}
		}
	}
	slices.SortStableFunc(times, func(a, b libraries.Time) int {
		return cmp.Or(cmp.Compare(a.TimeUS, b.TimeUS), cmp.Compare(a.Entry(), b.Entry()))
	})
	return times, nil
}

// tableSource supplies the times of a table.
type tableSource struct {
	table  *libraries.Table
	system string
}

// FromTable supplies the times of a table; system chooses among several. Between two sizes
// that were measured a time is that of Curves.At; below a library's least size it is the
// time there, and beyond its greatest the library has none.
func FromTable(t *libraries.Table, system string) Source { return tableSource{t, system} }

func (s tableSource) Times(k Kind) ([]libraries.Time, error) {
	q := libraries.Query{Collective: k.Collective, Ranks: k.Ranks}
	q.Conditions[libraries.System], q.Conditions[libraries.DType] = s.system, k.DType
	q.Conditions[libraries.SMs], q.Conditions[libraries.Traffic] = k.SMs, k.Traffic
	if k.Nodes > 0 {
		q.Conditions[libraries.Nodes] = strconv.Itoa(k.Nodes)
	}
	curves, err := s.table.Curves(q)
	if errors.Is(err, libraries.ErrNone) && k.Nodes > 0 { // rows that do not state their nodes
		q.Conditions[libraries.Nodes] = ""
		if curves, err = s.table.Curves(q); err == nil && curves.Stated(libraries.Nodes) {
			return nil, nil
		}
	}
	switch {
	case errors.Is(err, libraries.ErrNone):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	return curves.AtOrAbove(k.Bytes), nil
}
