package ir

import (
	"github.com/colltune/colltune/compiler/collective"
)

// Version is the version of the encoding. It is part of every hash.
const Version = 1

// Op is the instruction of a step.
type Op uint8

// The instructions of GC3 section 4.2. Src and Dst are the step's places, peer is the
// rank that the threadblock sends to, and R the message from its receive connection.
const (
	Nop                Op = iota // waits for its dependencies only
	Send                         // Src → peer
	Recv                         // R → Dst
	Copy                         // Src → Dst
	Reduce                       // Dst ⊕ Src → Dst
	RecvReduceCopy               // R ⊕ Src → Dst
	RecvCopySend                 // R → Dst, peer
	RecvReduceSend               // R ⊕ Src → peer, stored nowhere
	RecvReduceCopySend           // R ⊕ Src → Dst, peer
)

// opRow describes an instruction.
type opRow struct {
	name                                          string
	sends, receives, readsSrc, writesDst, reduces bool
}

var ops = [...]opRow{
	Nop:                {name: "nop"},
	Send:               {name: "s", sends: true, readsSrc: true},
	Recv:               {name: "r", receives: true, writesDst: true},
	Copy:               {name: "cpy", readsSrc: true, writesDst: true},
	Reduce:             {name: "re", readsSrc: true, writesDst: true, reduces: true},
	RecvReduceCopy:     {name: "rrc", receives: true, readsSrc: true, writesDst: true, reduces: true},
	RecvCopySend:       {name: "rcs", sends: true, receives: true, writesDst: true},
	RecvReduceSend:     {name: "rrs", sends: true, receives: true, readsSrc: true, reduces: true},
	RecvReduceCopySend: {name: "rrcs", sends: true, receives: true, readsSrc: true, writesDst: true, reduces: true},
}

// Ops returns all instructions, in the order of the constants.
func Ops() []Op {
	all := make([]Op, len(ops))
	for i := range all {
		all[i] = Op(i)
	}
	return all
}

// String returns the instruction's short name, as MSCCL's files have it.
func (o Op) String() string { return ops[o].name }

// Sends reports whether the step puts a message on the send connection.
func (o Op) Sends() bool { return ops[o].sends }

// Receives reports whether the step takes a message from the receive connection.
func (o Op) Receives() bool { return ops[o].receives }

// ReadsSrc reports whether Src is read.
func (o Op) ReadsSrc() bool { return ops[o].readsSrc }

// WritesDst reports whether Dst is written; Reduce reads it too.
func (o Op) WritesDst() bool { return ops[o].writesDst }

// Reduces reports whether the step combines two values.
func (o Op) Reduces() bool { return ops[o].reduces }

// Dep is a step of another threadblock of the same GPU to wait for. It is met
// once that step, or a later one with HasDep in the same tile, is complete.
type Dep struct {
	TB   int32
	Step int32
}

// Step is one instruction over Count chunks. Src is zero unless the Op reads
// it, and Dst unless the Op writes it.
type Step struct {
	Op     Op
	HasDep bool // some step waits for this one
	Count  int32
	Src    Loc
	Dst    Loc
	Deps   []Dep
}

// Threadblock is a sequence of steps with at most one peer each way.
type Threadblock struct {
	Send    int // peer rank, -1 none
	Recv    int // peer rank, -1 none
	Channel int
	Steps   []Step
}

// GPU is the program of one rank. A threadblock's id is its index.
type GPU struct {
	Scratch      int // chunks of scratch
	Threadblocks []Threadblock
}

// Protocols lists the wire protocols that a program may name, as files spell them.
var Protocols = []string{"LL", "LL128", "Simple"}

// Program implements one collective on all ranks. GPUs[r] is rank r.
type Program struct {
	Name       string          // the family's name; not hashed
	Comment    string          // how it was made; not hashed
	Protocol   string          // the only one of Protocols to run it with (GC3 section 6.1); empty for any
	Collective collective.Spec // its Chunks include the division by instances
	GPUs       []GPU
}

// Ranks returns the number of GPUs.
func (p *Program) Ranks() int { return len(p.GPUs) }

// Channels returns the number of channels used, over all GPUs.
func (p *Program) Channels() int {
	n := 0
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			n = max(n, tb.Channel+1)
		}
	}
	return n
}

// Steps returns the number of steps of all threadblocks.
func (p *Program) Steps() int {
	n := 0
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			n += len(tb.Steps)
		}
	}
	return n
}

// MaxThreadblocks returns the largest number of threadblocks on one GPU. All of
// them must be co-resident.
func (p *Program) MaxThreadblocks() int {
	n := 0
	for _, g := range p.GPUs {
		n = max(n, len(g.Threadblocks))
	}
	return n
}

// MaxSteps returns the number of steps of the longest threadblock.
func (p *Program) MaxSteps() int {
	n := 0
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			n = max(n, len(tb.Steps))
		}
	}
	return n
}
