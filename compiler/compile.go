package compiler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// Options are the choices left to the caller. The zero value compiles one
// instance with every pass.
type Options struct {
	// Instances replicates the whole program: every chunk is divided into that many
	// parts, and each part travels on channels of its own. 0 means 1.
	Instances int
	// MaxChannels is the largest number of channels the IR may use. 0 means 32,
	// NCCL's limit for a communicator.
	MaxChannels int
	// MaxThreadblocks is the largest number of threadblocks on a rank. All of them
	// must be resident at once, so it should not exceed the number of SMs. 0 means
	// no limit. On a rank with more, threadblocks that only send are merged with
	// ones that only receive.
	MaxThreadblocks int
	// Limits are the runtime's other limits. A program that exceeds any of them is an
	// error that says by how much.
	Limits Limits
	// Slots is the number of messages a connection holds before its receiver must take
	// one. The schedule never needs more. 0 means 2, what protocol Simple has; LL
	// and LL128 have 8.
	Slots int
	// CallPerChunk schedules for a runtime that splits a step of c chunks into c
	// calls, each of which occupies a slot. Runtimes do so at sizes where a slot
	// holds no more than one chunk.
	CallPerChunk bool

	// Context, if not nil, stops the compilation before the next pass once it is
	// done.
	Context context.Context

	// Disable names optional passes to leave out.
	Disable []string
	// Dump is called with the program's text after pass DumpAfter, or after every
	// pass if that is "all". Passes of the schedule dump again if it is made again.
	Dump      func(pass, text string)
	DumpAfter string
	// CheckEachPass checks the invariants after every pass.
	CheckEachPass bool
}

// Limits that apply where Options has 0.
const (
	DefaultMaxChannels = 32
	DefaultSlots       = 2
)

// PassTime is the wall-clock time of one pass, over all its runs.
type PassTime struct {
	Name    string
	Elapsed time.Duration
}

// Result is a compiled program and statistics about its compilation.
type Result struct {
	Program *ir.Program
	Times   []PassTime
	// Split is the number of fusions that were undone because channels or slots
	// did not allow them.
	Split int
	// Slots is the number of slots a connection needs for the program to finish if
	// every step is one call, and SlotsSplit if every chunk of a step is one.
	// SlotsSplit also suffices for anything in between. Both are 0 if pass slots
	// is disabled.
	Slots, SlotsSplit int
	// Needs is how many threadblocks a rank would have at most without MaxThreadblocks: a limit
	// of as many changes nothing.
	Needs int
}

// Compile lowers p to IR (GC3 sections 4 and 5). The result is not verified:
// see package verify. An error in the program is a *lang.Error with the
// position of the statement at fault; any other error names the option or limit
// that was exceeded.
func Compile(p *lang.Program, o Options) (*Result, error) {
	skip, err := o.complete()
	if err != nil {
		return nil, err
	}
	if remote := func(op lang.Op) bool { return op.Src.Rank != op.Dst.Rank }; o.Instances > o.MaxChannels && slices.ContainsFunc(p.Ops, remote) {
		// Checked here because replicating could take minutes.
		return nil, fmt.Errorf("channels: %d instances, each on channels of its own: the limit is %d", o.Instances, o.MaxChannels)
	}
	return newProgram(p, o).compile(skip)
}

// complete replaces zero options by their defaults, checks the others, and
// returns the passes to skip.
func (o *Options) complete() (skip map[string]bool, err error) {
	if o.Instances == 0 {
		o.Instances = 1
	}
	if o.MaxChannels == 0 {
		o.MaxChannels = DefaultMaxChannels
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	switch {
	case o.Instances < 0:
		return nil, fmt.Errorf("instances %d: want at least 1", o.Instances)
	case o.MaxChannels < 0:
		return nil, fmt.Errorf("channel limit %d: want at least 1", o.MaxChannels)
	case o.MaxThreadblocks < 0:
		return nil, fmt.Errorf("threadblock limit %d: want at least 1, or 0 for none", o.MaxThreadblocks)
	case o.Slots < 0:
		return nil, fmt.Errorf("slots %d: want at least 1", o.Slots)
	}
	if o.DumpAfter != "" && o.DumpAfter != "all" {
		if _, err := find(o.DumpAfter); err != nil {
			return nil, err
		}
	}
	return disabled(o.Disable)
}

// manyOps is the number of operations from which the garbage collector runs
// after every pass. Waiting until memory has doubled would cost large programs
// gigabytes, and collecting is cheap because nearly all data are slices of
// numbers.
var manyOps = 1 << 19

// newProgram returns the program as it is before the first pass.
func newProgram(p *lang.Program, o Options) *program {
	return &program{in: p, opt: o, callPerChunk: o.CallPerChunk}
}

// compile runs the passes: those before the schedule, those of the schedule until its
// slots suffice, and emit.
func (prog *program) compile(skip map[string]bool) (*Result, error) {
	o, res := prog.opt, &Result{}
	schedule, emit := passIndex("depths"), passIndex("emit")
	if err := prog.run(passes[:schedule], skip, res); err != nil {
		return nil, err
	}
	for {
		if err := prog.run(passes[schedule:emit], skip, res); err != nil {
			return nil, err
		}
		if prog.slotsSuffice() {
			break
		}
		start := time.Now()
		prog.relax()
		res.addTime("slots", time.Since(start))
	}
	if err := prog.run(passes[emit:], skip, res); err != nil {
		return nil, err
	}
	if err := o.Limits.Check(prog.out); err != nil {
		return nil, err
	}
	res.Program, res.Split = prog.out, prog.splits
	res.Slots, res.SlotsSplit, res.Needs = prog.slotsWhole, prog.slotsSplit, prog.needs
	if len(prog.ops) > manyOps {
		*prog = program{}
		runtime.GC() // the verifier or simulator, which come next, can use the passes' memory
	}
	return res, nil
}

func (prog *program) run(passes []Pass, skip map[string]bool, res *Result) error {
	o := &prog.opt
	for _, pass := range passes {
		if o.Context != nil && o.Context.Err() != nil {
			return fmt.Errorf("stopped before pass %s: %w", pass.Name, o.Context.Err())
		}
		if !skip[pass.Name] {
			start := time.Now()
			if err := pass.run(prog); err != nil {
				var at *lang.Error
				if errors.As(err, &at) {
					return at
				}
				return fmt.Errorf("%s: %w", pass.Name, err)
			}
			if len(prog.ops) > manyOps {
				runtime.GC()
			}
			res.addTime(pass.Name, time.Since(start))
		}
		prog.after = pass.Name
		if o.CheckEachPass {
			if err := prog.check(); err != nil {
				return fmt.Errorf("after pass %s: %w", pass.Name, err)
			}
		}
		if o.Dump != nil && (o.DumpAfter == pass.Name || o.DumpAfter == "all") && prog.slotsSuffice() {
			o.Dump(pass.Name, prog.text())
		}
	}
	return nil
}

// addTime adds to the time of a pass, which may run several times.
func (r *Result) addTime(pass string, d time.Duration) {
	for i := range r.Times {
		if r.Times[i].Name == pass {
			r.Times[i].Elapsed += d
			return
		}
	}
	r.Times = append(r.Times, PassTime{pass, d})
}
