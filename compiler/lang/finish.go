package lang

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
)

// Finish ends the program and returns it. If an output chunk does not hold the
// value that the collective's postcondition requires, it returns an *Error at
// the operation that last wrote the chunk. The Trace must not be used
// afterwards.
func (t *Trace) Finish() (*Program, error) {
	if t.err != nil {
		return nil, t.err
	}
	if len(t.open) > 0 {
		return nil, t.errorf("parallelize was entered and not left")
	}
	if !t.sketch {
		if err := t.checkResult(); err != nil {
			return nil, err
		}
	}
	p := &Program{Name: t.name, Collective: t.coll, Ops: t.ops.all(), Scopes: t.scopes, files: t.files}
	p.Scratch = t.layOutScratch(p.Ops)
	return p, nil
}

// checkResult compares all output chunks with the postcondition, and reports
// the first that is wrong and how many others are.
func (t *Trace) checkResult() error {
	whole := reductions{ranks: t.coll.Ranks}
	var first *Error
	var wants []collective.Want
	wrong := 0
	for r := range t.ranks {
		out := t.ranks[r].names[collective.Out]
		b := t.ranks[r].buffers[out.buf]
		if n := t.coll.OutChunks(r); r == 0 || !t.coll.Uniform() {
			wants = slices.Grow(wants[:0], n)[:n]
			for i := range wants {
				wants[i] = t.coll.Want(r, i)
			}
		}
		for i := range wants {
			want, holds := &wants[i], b[out.shift+i]
			if t.satisfies(holds.value, want, &whole) {
				continue
			}
			if wrong++; first == nil {
				first = &Error{Pos: t.pos, Wrong: true, Msg: fmt.Sprintf("wrong result: rank %d out[%d] holds %s, want %s",
					r, i, t.values.describe(holds.value), t.wanted(*want))}
				if holds.version > 0 {
					first.Pos = t.posOf(holds.version)
				}
			}
		}
	}
	if first == nil {
		return nil
	}
	if wrong > 1 {
		first.Msg += fmt.Sprintf(" (and %d more output chunks are wrong)", wrong-1)
	}
	return first
}

func (t *Trace) satisfies(v value, w *collective.Want, whole *reductions) bool {
	switch {
	case w.Kind == collective.WantNothing:
		return true
	case v == nothing:
		return false
	case w.Kind == collective.WantInput:
		return v == input(t.values.inputs[w.Rank]+int32(w.Index))
	case w.Kind == collective.WantSum:
		f := fingerprint{}
		for _, p := range w.Of {
			f = f.add(weight(p.Rank, p.Index))
		}
		return t.values.fingerprint(v) == f
	}
	return t.values.fingerprint(v) == whole.of(w.Index)
}

// wanted describes the value that a postcondition requires, as describe does.
func (t *Trace) wanted(w collective.Want) string {
	switch w.Kind {
	case collective.WantInput:
		return fmt.Sprintf("in[%d] of rank %d", w.Index, w.Rank)
	case collective.WantSum:
		var terms []string
		for _, p := range w.Of {
			terms = append(terms, fmt.Sprintf("in[%d] of rank %d", p.Index, p.Rank))
		}
		return joinFirst(terms, "more")
	}
	return fmt.Sprintf("in[%d] of ranks 0-%d, each once", w.Index, t.coll.Ranks-1)
}

// reductions caches the fingerprints of full reductions, by input chunk.
type reductions struct {
	ranks int
	known []fingerprint
	have  []bool
}

func (w *reductions) of(index int) fingerprint {
	for len(w.known) <= index {
		w.known, w.have = append(w.known, fingerprint{}), append(w.have, false)
	}
	if !w.have[index] {
		f := fingerprint{}
		for r := range w.ranks {
			f = f.add(weight(r, index))
		}
		w.known[index], w.have[index] = f, true
	}
	return w.known[index]
}
