package search

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Problem is what a search is for: a call of a collective on a system, over a range of
// sizes.
type Problem struct {
	// Call is what is searched for. Defined sets its Custom, where a template defines the
	// collective.
	collective.Call
	Topology *topologies.Topology
	InPlace  bool    // the placement
	Both     bool    // out of place as well as in place
	Sizes    []int64 // bytes, as nccl-tests counts them; rising
}

// maxBytes is the largest size of a search: a PiB, the most that any built-in executor
// takes.
const maxBytes = 1 << 50

// Sizes lists the sizes from least to most bytes, each step times the one before. The
// error names the argument at fault: a size below 1 byte or above a PiB, an empty range,
// or a step below 2.
func Sizes(least, most int64, step int) ([]int64, error) {
	switch {
	case least < 1:
		return nil, fmt.Errorf("least size %d: want at least 1 byte", least)
	case most > maxBytes:
		return nil, fmt.Errorf("sizes up to %s: want at most %s, a PiB", units.Bytes(most), units.Bytes(maxBytes))
	case most < least:
		return nil, fmt.Errorf("sizes from %d to %d: the largest is below the smallest", least, most)
	case step < 2:
		return nil, fmt.Errorf("step factor %d: want at least 2", step)
	}
	var all []int64
	for n := least; ; n *= int64(step) {
		all = append(all, n)
		if n > most/int64(step) {
			return all, nil
		}
	}
}

func (p Problem) placements() []Problem {
	if !p.Both {
		return []Problem{p}
	}
	in, out := p, p
	in.InPlace, in.Both = true, false
	out.InPlace, out.Both = false, false
	return []Problem{in, out}
}

// target is what programs of the problem are for, in its placement.
func (p *Problem) target() program.Target {
	return program.Target{Call: p.Call, Topology: p.Topology, InPlace: p.InPlace}
}

// Defined returns the problem with the table of its collective, if one of the user's
// templates defines it. An error is that of reading a template or evaluating the table.
func (p Problem) Defined(o *Options) (Problem, error) {
	if p.Custom != nil || slices.Contains(collective.Names(), p.Collective) {
		return p, nil
	}
	families, err := o.own()
	if err != nil {
		return p, err
	}
	for _, f := range slices.Backward(families) {
		if f.Defines(p.Collective) {
			c, err := f.Collective(program.MachineOf(p.Topology), script.Request{Collective: p.Collective, InPlace: p.InPlace}, 1)
			p.Custom = c.Custom
			return p, err
		}
	}
	return p, nil
}

// Defined lists the collectives that the templates of the options define. An error is
// that of reading a template.
func (o *Options) Defined() ([]string, error) {
	families, err := o.own()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range families {
		for _, c := range f.Collectives {
			if f.Defines(c) && !slices.Contains(names, c) {
				names = append(names, c)
			}
		}
	}
	return names, nil
}

// LeastBytes is the least size of the problem's call: an element for each chunk. The error is
// about the call.
func (p *Problem) LeastBytes() (int64, error) {
	t := p.target()
	return t.LeastBytes()
}
