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
	// Instances replicates the whole program: every chunk is cut in as many
	// parts, and every part travels on channels of its own. 0 means 1.
	Instances int
	// Blocked gives every instance a block of the buffers of its own, rather
	// than a part of every chunk: instances of a program of long references
	// then never wait for one another.
	Blocked bool
	// MaxChannels is the largest number of channels the IR may use; 0 means 32,
	// what NCCL gives a communicator.
	MaxChannels int
	// MaxThreadblocks is the largest number of threadblocks a rank may have: all
	// must be resident at once, so at most the SMs there are. 0 means no limit.
	// Where a rank has more, those that only send are paired with those that
	// only receive.
	MaxThreadblocks int
	// Limits are what the runtime has room for beyond these; a program over any
	// is an error that says by how much.
	Limits Limits
	// Slots is how many messages a connection may hold that its receiver has
	// not taken yet; the schedule never needs more. 0 means 2, what protocol
	// Simple has room for; LL and LL128 have 8.
	Slots int
	// CallPerChunk makes a step of count c fill c slots rather than one: what
	// a runtime does at sizes where a slot has room for no more than a chunk.
	CallPerChunk bool

	// Context stops a compilation before its next pass once it is done; nil
	// never is.
	Context context.Context

	// Disable names optional passes to leave out.
	Disable []string
	// Dump is called with the text of the program after pass DumpAfter, or
	// after every pass where DumpAfter is "all"; again where pass slots has
	// passes run again. ParseDump reads the text back.
	Dump      func(pass, text string)
	DumpAfter string
	// CheckEachPass checks the invariants after every pass.
	CheckEachPass bool
}

// Limits taken where Options leave one at 0.
const (
	DefaultMaxChannels = 32
	DefaultSlots       = 2
)

// PassTime is what one pass cost.
type PassTime struct {
	Name    string
	Elapsed time.Duration
}

// Result is a compiled program and how it came about.
type Result struct {
	Program *ir.Program
	Times   []PassTime
	// Split counts fused instructions that were taken apart again because a
	// connection or its slots could not serve them fused.
	Split int
	// Slots is how many slots a connection must have for the program to run to
	// its end where every step is one call, SlotsSplit where every chunk of a
	// step is one. What lies in between needs no more than the latter. Both are
	// 0 where pass slots was left out.
	Slots, SlotsSplit int
}

// Compile lowers p to IR. Errors that lie in the program are *lang.Error, at
// its own line; the others name the option or the limit that stands in the way.
func Compile(p *lang.Program, o Options) (*Result, error) {
	skip, err := o.complete()
	if err != nil {
		return nil, err
	}
	if remote := func(op lang.Op) bool { return op.Src.Rank != op.Dst.Rank }; o.Instances > o.MaxChannels && slices.ContainsFunc(p.Ops, remote) {
		// Told before anything is replicated: that could take minutes.
		return nil, fmt.Errorf("channels: %d instances, each on channels of its own: the limit is %d", o.Instances, o.MaxChannels)
	}
	return (&unit{in: p, opt: o}).compile(0, skip)
}

// complete gives what is left at 0 its default, checks the rest, and returns the
// passes to leave out.
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

// manyOps is how many operations take so much memory that what a pass leaves behind
// is better given back at once than when as much again has been taken: the next finds
// room there. It costs little, as nearly all of it is numbers.
var manyOps = 1 << 19

// compile runs the passes from number first on.
func (u *unit) compile(first int, skip map[string]bool) (*Result, error) {
	o, res := u.opt, &Result{}
	for i := first; i < len(passes); i++ {
		pass := &passes[i]
		if o.Context != nil && o.Context.Err() != nil {
			return nil, fmt.Errorf("stopped before pass %s: %w", pass.name, o.Context.Err())
		}
		if !skip[pass.name] {
			start := time.Now()
			if err := pass.run(u); err != nil {
				var at *lang.Error
				if errors.As(err, &at) {
					return nil, at
				}
				return nil, fmt.Errorf("%s: %w", pass.name, err)
			}
			if len(u.ops) > manyOps {
				runtime.GC()
			}
			res.took(pass.name, time.Since(start))
		}
		u.after = pass.name
		if o.CheckEachPass {
			if err := u.check(); err != nil {
				return nil, fmt.Errorf("after pass %s: %w", pass.name, err)
			}
		}
		if u.again != "" {
			i = passIndex(u.again) - 1
			u.again = ""
			continue
		}
		if o.Dump != nil && (o.DumpAfter == pass.name || o.DumpAfter == "all") {
			o.Dump(pass.name, u.text())
		}
	}
	if err := o.Limits.Check(u.out); err != nil {
		return nil, err
	}
	res.Program, res.Split = u.out, u.splits
	res.Slots, res.SlotsSplit = u.slotsWhole, u.slotsSplit
	if len(u.ops) > manyOps {
		*u = unit{}
		runtime.GC() // who looks at the program next finds room where the passes had theirs
	}
	return res, nil
}

// took adds to what a pass has cost: one that is gone back to runs again.
func (r *Result) took(pass string, d time.Duration) {
	for i := range r.Times {
		if r.Times[i].Name == pass {
			r.Times[i].Elapsed += d
			return
		}
	}
	r.Times = append(r.Times, PassTime{pass, d})
}
