package search

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// BaselineFile is a file of nccl-tests' output that a search is compared with.
type BaselineFile struct {
	Name string // base name
	Text string
}

// Measured holds times from a file, by size and placement.
type Measured struct {
	Name  string
	times *measured.CallTimes
}

type place struct {
	bytes     int64
	placement string
}

// Baseline returns the time at a size in bytes as a baseline of results, the median if there
// are several; nil if there is no time.
func (m *Measured) Baseline(bytes int64, placement string) *results.Baseline {
	us, checked := m.times.At(bytes, placement)
	switch {
	case len(us) == 0:
		return nil
	case checked:
		return &results.Baseline{Name: m.Name, TimeUS: results.Median(us), Data: results.Checked}
	}
	return &results.Baseline{Name: m.Name, TimeUS: results.Median(us), Data: results.Unchecked}
}

// Measured reads the file as measurements of a problem. A file for another call is an error, and
// so is one with none of the problem's sizes.
func (f *BaselineFile) Measured(p *Problem) (*Measured, error) {
	over, err := p.Over(len(p.Topology.Ranks), p.InPlace)
	if err != nil {
		return nil, err
	}
	times, err := measured.ReadCallTimes(f.Name, []byte(f.Text), p.Call, over)
	if err != nil {
		return nil, err
	}
	if all := times.Sizes(); !slices.ContainsFunc(p.Sizes, func(n int64) bool { return slices.Contains(all, n) }) {
		return nil, fmt.Errorf("%s: has none of the sizes searched for: it has %s to %s", f.Name, units.Bytes(all[0]), units.Bytes(all[len(all)-1]))
	}
	return &Measured{f.Name, times}, nil
}
