package collective

import (
	"encoding/json"
	"fmt"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// Table defines a custom collective, unit by unit: the number of units in the
// buffers of every rank, and the required value of every unit of output. A unit
// is Spec.Chunks chunks.
//
//	a halo exchange over 3 ranks              {"in":[1,1,1],"out":[2,2,2],"want":[
//	                                           [[2,0],[1,0]],
//	in   r0: a   r1: b   r2: c                 [[0,0],[2,0]],
//	out  r0: c b r1: a c r2: b a               [[1,0],[0,0]]]}
//
// In JSON a want is [rank, index] for that input unit; [index] for its
// reduction over all ranks; [[rank, index], …] for the reduction of those; null
// for no requirement.
type Table struct {
	In   []int    `json:"in"`
	Out  []int    `json:"out"`
	Want [][]Want `json:"want"` // by rank and unit of output
	// Same: in place, the two buffers are one. Without it there is no in-place
	// form.
	Same bool `json:"same,omitempty"`
}

// Limits of a table, which is stored in every file of its programs.
const (
	maxRanks = 1 << 16
	maxWants = 1 << 22 // and as many terms of sums
)

var customName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,62}$`)

// newCustom is New for a collective with a table.
func newCustom(s Spec) (Collective, error) {
	t := s.Custom
	bad := func(format string, args ...any) (Collective, error) {
		return Collective{}, fmt.Errorf("collective %.64q: %w", s.Name, fmt.Errorf(format, args...))
	}
	switch {
	case !customName().MatchString(s.Name):
		return bad("want a name of lower-case letters, digits, _ and -")
	case s.Ranks < 1 || s.Ranks > maxRanks:
		return bad("%d ranks: want 1 to %d", s.Ranks, maxRanks)
	case s.Chunks < 1:
		return bad("%d chunks: want at least 1", s.Chunks)
	case s.Root != 0:
		return bad("a custom collective has no root")
	case s.Counts != nil:
		return bad("a custom collective has no counts")
	case s.InPlace && !t.Same:
		return bad("it has no in-place form")
	case len(t.In) != s.Ranks || len(t.Out) != s.Ranks || len(t.Want) != s.Ranks:
		return bad("table of %d inputs, %d outputs and wants of %d ranks: want %d of each", len(t.In), len(t.Out), len(t.Want), s.Ranks)
	}
	units, wants, loop, least := 0, 0, 0, maxUnits
	for r := range s.Ranks {
		for _, n := range [...]int{t.In[r], t.Out[r]} {
			if n < 0 || n > maxUnits {
				return bad("a buffer of %d units at rank %d: want 0 to %d", n, r, maxUnits)
			}
			loop = max(loop, n)
			if units += n; units > maxUnits {
				return bad("buffers of more than %d units", maxUnits)
			}
		}
		if len(t.Want[r]) != t.Out[r] {
			return bad("rank %d has %d units of output and wants of %d", r, t.Out[r], len(t.Want[r]))
		}
		least = min(least, t.In[r])
	}
	if loop == 0 {
		return bad("no rank has any input or output")
	}
	for r := range t.Want {
		for i := range t.Want[r] {
			w := &t.Want[r][i]
			if wants += 1 + len(w.Of); wants > maxWants {
				return bad("more than %d wants and terms", maxWants)
			}
			if err := t.check(w, least); err != nil {
				return bad("output %d of rank %d: %w", i, r, err)
			}
		}
	}
	return Collective{Spec: s, kind: t.kind(loop)}, nil
}

// check returns an error if a want refers to units that do not exist.
func (t *Table) check(w *Want, least int) error {
	place := func(rank, index int) error {
		if rank < 0 || rank >= len(t.In) {
			return fmt.Errorf("rank %d: want 0 to %d", rank, len(t.In)-1)
		}
		if index < 0 || index >= t.In[rank] {
			return fmt.Errorf("input %d of rank %d, which has %d", index, rank, t.In[rank])
		}
		return nil
	}
	switch w.Kind {
	case WantNothing:
	case WantInput:
		return place(w.Rank, w.Index)
	case WantReduction:
		if w.Index < 0 || w.Index >= least {
			return fmt.Errorf("input %d of every rank, one of which has %d", w.Index, least)
		}
	case WantSum:
		if len(w.Of) < 2 {
			return fmt.Errorf("a reduction of %d: want at least 2", len(w.Of))
		}
		for _, p := range w.Of {
			if err := place(p.Rank, p.Index); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown want %d", w.Kind)
	}
	return nil
}

func (t *Table) kind(loop int) kind {
	k := kind{
		in:      func(s Spec, r int) int { return t.In[r] * s.Chunks },
		out:     func(s Spec, r int) int { return t.Out[r] * s.Chunks },
		loop:    func(s Spec) int { return loop * s.Chunks },
		partial: true, busbw: unit,
		want: func(s Spec, r, i int) Want {
			w := t.Want[r][i/s.Chunks]
			if w.Kind == WantNothing {
				return w
			}
			w.Index = w.Index*s.Chunks + i%s.Chunks
			if w.Kind == WantSum {
				of := make([]Place, len(w.Of))
				for j, p := range w.Of {
					of[j] = Place{p.Rank, p.Index*s.Chunks + i%s.Chunks}
				}
				w.Of = of
			}
			return w
		},
	}
	if t.Same {
		k.overlap = same
	}
	for _, wants := range t.Want {
		for i := range wants {
			k.reduces = k.reduces || wants[i].Kind >= WantReduction
		}
	}
	return k
}

// MarshalJSON encodes a want as described at Table. The error is always nil for a want
// that New has accepted.
func (w Want) MarshalJSON() ([]byte, error) {
	switch w.Kind {
	case WantInput:
		return json.Marshal([2]int{w.Rank, w.Index})
	case WantReduction:
		return json.Marshal([1]int{w.Index})
	case WantSum:
		of := make([][2]int, len(w.Of))
		for i, p := range w.Of {
			of[i] = [2]int{p.Rank, p.Index}
		}
		return json.Marshal(of)
	}
	return []byte("null"), nil
}

// UnmarshalJSON decodes a want as described at Table. It returns an error for any other
// form; New checks that the units exist.
func (w *Want) UnmarshalJSON(text []byte) error {
	*w = Want{}
	if string(text) == "null" {
		return nil
	}
	var numbers []int
	if json.Unmarshal(text, &numbers) == nil {
		switch len(numbers) {
		case 1:
			*w = reduction(numbers[0])
			return nil
		case 2:
			*w = input(numbers[0], numbers[1])
			return nil
		}
	}
	var of [][]int
	if err := json.Unmarshal(text, &of); err != nil || len(of) == 0 {
		return fmt.Errorf("want %.40s: want [rank, index], [index], [[rank, index], …] or null", text)
	}
	w.Kind = WantSum
	for _, p := range of {
		if len(p) != 2 {
			return fmt.Errorf("want %.40s: want pairs [rank, index]", text)
		}
		w.Of = append(w.Of, Place{p[0], p[1]})
	}
	return nil
}
