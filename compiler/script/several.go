package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
)

// several returns v as a list of numbers, if it is a list or a range.
func several(v starlark.Value) (starlark.Indexable, bool) {
	switch v := v.(type) {
	case *starlark.List:
		return v, true
	case starlark.Indexable:
		return v, v.Type() == "range"
	}
	return nil, false
}

// operations applies the limits to the operations of a call that makes many, as
// if each were a separate call.
type operations struct {
	s       *session
	th      *starlark.Thread
	fn      string
	most    int // operations a program may have
	scratch int // chunks of scratch a rank may have
	steps   int // since limits were last checked
}

// checkInterval is the number of steps, a fraction of a millisecond, after
// which a call of many operations checks the limits.
const checkInterval = 1 << 12

// many begins a call of many operations.
func (s *session) many(th *starlark.Thread, fn string) *operations {
	s.trace.At(here(th))
	return &operations{s: s, th: th, fn: fn, most: s.opLimit(), scratch: s.scratchLimit()}
}

// next checks that there may be another operation, of count chunks that go to a
// place.
func (o *operations) next(buf collective.Buffer, index, count int) error {
	s := o.s
	if s.err != nil {
		return s.err
	}
	if s.trace.Len() >= o.most {
		return s.tooManyOps(o.most)
	}
	if buf >= collective.Scratch && index >= o.scratch {
		return s.tooMuchScratch(o.fn, index, o.scratch)
	}
	return o.count(count)
}

// count counts an operation on chunks chunks, or a reference to them, and
// checks the limits at intervals.
func (o *operations) count(chunks int) error {
	if o.steps += 1 + chunks/chunksPerStep; o.steps >= checkInterval {
		return o.check()
	}
	return nil
}

// check counts what was done. It returns an error if that is too much, or the
// watchman has stopped the program.
func (o *operations) check() error {
	o.end()
	if why := o.s.stopped.Load(); why != nil {
		return errors.New(*why)
	}
	if why := o.s.overLimit(o.th.ExecutionSteps()); why != "" {
		return errors.New(why)
	}
	return nil
}

// end counts what was done since the last look.
func (o *operations) end() {
	countSteps(o.th, o.steps)
	o.steps = 0
	o.s.advance()
}

func (s *session) tooManyOps(most int) error {
	return fmt.Errorf("more than %d chunk operations, for %d ranks and %d chunks (an endless loop?)", most, s.machine.Ranks(), s.trace.Collective().LoopChunks())
}

func (s *session) tooMuchScratch(fn string, index, most int) error {
	return fmt.Errorf("%s: scratch chunk %d: want one below %d, for %d ranks and %d chunks", fn, index, most, s.machine.Ranks(), s.trace.Collective().LoopChunks())
}
