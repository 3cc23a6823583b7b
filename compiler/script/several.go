package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
)

// several is a list of numbers, or a range of them, where an argument is one.
func several(v starlark.Value) (starlark.Indexable, bool) {
	switch v := v.(type) {
	case *starlark.List:
		return v, true
	case starlark.Indexable:
		return v, v.Type() == "range"
	}
	return nil, false
}

// manner reads buffer, ch and stride: how chunks go.
func (s *session) manner(buffer, ch, stride starlark.Value) (buf collective.Buffer, channelled, apart int, err error) {
	if buf, err = s.buffer(buffer); err != nil {
		return
	}
	if channelled, err = channel(ch); err != nil {
		return
	}
	apart, err = number("stride", stride, 1)
	return
}

// operations are those of one call that makes many: they are held to the limits
// one by one, as if each were a call.
type operations struct {
	s       *session
	th      *starlark.Thread
	fn      string
	most    int // operations a program may have
	scratch int // chunks of scratch a rank may have
	steps   int // counted since the limits were looked at last
}

// looked is after how many steps a call that makes many operations looks whether it
// is to go on: as many as take a fraction of a millisecond.
const looked = 1 << 12

// many begins the operations of a call.
func (s *session) many(th *starlark.Thread, fn string) *operations {
	s.trace.At(here(th))
	return &operations{s: s, th: th, fn: fn, most: s.opLimit(), scratch: s.scratchLimit()}
}

// next asks whether there may be one more, of count chunks that go to a place.
func (o *operations) next(buf collective.Buffer, index, count int) error {
	s := o.s
	if s.broken != nil {
		return s.broken
	}
	if s.trace.Len() >= o.most {
		return s.tooManyOps(o.most)
	}
	if buf >= collective.Scratch && index >= o.scratch {
		return s.tooMuchScratch(o.fn, index, o.scratch)
	}
	return o.count(count)
}

// count counts an operation on so many chunks, or a reference to them, and now and
// then asks whether the program is to go on.
func (o *operations) count(chunks int) error {
	if o.steps += 1 + chunks/chunksPerStep; o.steps >= looked {
		return o.look()
	}
	return nil
}

// look counts what was done, and is an error where that is too much, or the
// watchman has stopped the program.
func (o *operations) look() error {
	o.end()
	if why := o.s.stopped.Load(); why != nil {
		return errors.New(*why)
	}
	if why := o.s.over(o.th.ExecutionSteps()); why != "" {
		return errors.New(why)
	}
	return nil
}

// end counts what was done since the last look.
func (o *operations) end() {
	work(o.th, o.steps)
	o.steps = 0
	o.s.ops.Store(int64(o.s.trace.Len()))
}

func (s *session) tooManyOps(most int) error {
	return fmt.Errorf("more than %d chunk operations, for %d ranks and %d chunks (an endless loop?)", most, s.machine.Ranks(), s.trace.Collective().LoopChunks())
}

func (s *session) tooMuchScratch(fn string, index, most int) error {
	return fmt.Errorf("%s: scratch chunk %d: want one below %d, for %d ranks and %d chunks", fn, index, most, s.machine.Ranks(), s.trace.Collective().LoopChunks())
}
