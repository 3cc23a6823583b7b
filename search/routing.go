package search

import (
	"context"
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// routing is a traced program, with what one instance of it takes. Every
// instance takes as much again, on channels of its own, so that most counts of
// instances that cannot be are refused without compiling them.
type routing struct {
	program *lang.Program                 // nil: retrace gives it
	source  string                        // a family's, as errors print it
	key     string                        // of its trace in the cache
	retrace func() (*lang.Program, error) // traces a large one once more
	size    int                           // its operations, where it has no program
	cost    *costSummary                  // nil until it is asked for
	apart   bool                          // compiled without fused instructions

	tracing  sync.Once // of one that has no program and is not large
	small    *lang.Program
	untraced error

	once         sync.Once
	channels     int // of one instance
	threadblocks int // the least one instance gets by with
	err          error
}

// maxHeld is the most operations of a program that is held until it is compiled: a
// larger one is traced again then, so that a search need not have room for all.
const maxHeld = 1 << 17

// releaseProgram lets go of a large program.
func (r *routing) releaseProgram(t *topologies.Topology, again func() (*lang.Program, error)) error {
	if len(r.program.Ops) <= maxHeld {
		return nil
	}
	err := r.summarize(t)
	r.size, r.retrace = len(r.program.Ops), again
	r.program = nil
	return err
}

// summarize sums the program up, if that is not done yet.
func (r *routing) summarize(t *topologies.Topology) error {
	if r.cost != nil {
		return nil
	}
	program, err := r.traced()
	if err == nil {
		r.cost = summarize(program, t)
	}
	return err
}

// traced is the program. One that is not large is traced again only once.
func (r *routing) traced() (*lang.Program, error) {
	switch {
	case r.program != nil:
		return r.program, nil
	case r.size > maxHeld:
		return r.retrace()
	}
	r.tracing.Do(func() { r.small, r.untraced = r.retrace() })
	return r.small, r.untraced
}

// operations counts those of one instance.
func (r *routing) operations() int {
	if r.program != nil {
		return len(r.program.Ops)
	}
	return r.size
}

// beyond refuses a number of instances that takes more channels or threadblocks
// than there are; nil where that must be seen by compiling.
func (r *routing) beyond(ctx context.Context, program *lang.Program, instances, channels, sms int) *Refusal {
	if instances == 1 {
		return nil
	}
	if instances > channels {
		return &Refusal{Reason: Uncompiled, Detail: fmt.Sprintf("%d instances, each on channels of its own: the limit is %d channels", instances, channels)}
	}
	r.once.Do(func() {
		var result *compiler.Result
		result, r.err = compiler.Compile(program, compiler.Options{MaxChannels: channels, Disable: r.disable(), Context: ctx})
		if r.err != nil {
			return
		}
		used := map[int]bool{}
		for _, gpu := range result.Program.GPUs {
			sends, receives, both := 0, 0, 0
			for _, tb := range gpu.Threadblocks {
				switch {
				case tb.Send >= 0 && tb.Recv >= 0:
					both++
				case tb.Send >= 0:
					sends++
				case tb.Recv >= 0:
					receives++
				}
				if tb.Send >= 0 || tb.Recv >= 0 {
					used[tb.Channel] = true
				}
			}
			// Those that only send can be paired with those that only receive.
			r.threadblocks = max(r.threadblocks, both+max(sends, receives))
		}
		r.channels = len(used)
	})
	switch {
	case r.err != nil:
		return &Refusal{Reason: Uncompiled, Detail: r.err.Error()}
	case r.threadblocks*instances > sms:
		return &Refusal{Reason: Threadblocks, Detail: fmt.Sprintf("at least %d threadblocks on a GPU of %d SMs: %d for each of %d instances", r.threadblocks*instances, sms, r.threadblocks, instances)}
	}
	return nil
}

// disable are the compiler's passes that are left out.
func (r *routing) disable() []string {
	if r.apart {
		return []string{"fuse rcs", "fuse rrcs", "fuse rrs"}
	}
	return nil
}
