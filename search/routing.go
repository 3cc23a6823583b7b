package search

import (
	"context"
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// routing is a traced program and the channels and threadblocks that one instance of
// it needs. Each further instance needs as many again, on channels of its own, so
// that most counts of instances that do not fit are refused without being compiled.
type routing struct {
	program *lang.Program                 // nil: retrace returns it
	source  string                        // of the family, as errors print it
	key     string                        // of its trace in the cache
	retrace func() (*lang.Program, error) // traces the program again
	size    int                           // n of its operations, where program is nil
	cost    *costSummary                  // nil until summarize
	apart   bool                          // compiled without fused instructions

	tracing  sync.Once     // guards small and untraced
	small    *lang.Program // from retrace, where size is at most maxHeld
	untraced error         // of that trace

	once         sync.Once // guards the fields below
	channels     int       // of one instance
	threadblocks int       // the fewest that one instance needs on a GPU
	err          error
}

// maxHeld is the most operations of a program that is kept in memory until it is
// compiled. A larger one is traced again then, so that a search does not hold them all.
const maxHeld = 1 << 17

// releaseProgram drops a program of more than maxHeld operations, or a sketch, after
// summarizing it; again traces it anew. The error is that of summarize.
func (r *routing) releaseProgram(t *topologies.Topology, sketch bool, again func() (*lang.Program, error)) error {
	if !sketch && len(r.program.Ops) <= maxHeld {
		return nil
	}
	err := r.summarize(t)
	r.size, r.retrace = len(r.program.Ops), again
	r.program = nil
	return err
}

// summarize computes the program's costSummary, once. The error is that of traced.
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

// traced returns the program, and traces it again if it was dropped: each time if it
// has more than maxHeld operations, else once.
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

// operations returns the number of operations of one instance.
func (r *routing) operations() int {
	if r.program != nil {
		return len(r.program.Ops)
	}
	return r.size
}

// beyond returns a refusal if the instances need more channels than there are, or more
// threadblocks on a GPU than it has SMs; nil if only compiling can tell.
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

// disable returns the names of the compiler's passes to leave out.
func (r *routing) disable() []string {
	if r.apart {
		return []string{"fuse rcs", "fuse rrcs", "fuse rrs"}
	}
	return nil
}
