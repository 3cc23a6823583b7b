package mscclpp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// LowerOptions say for what a program is written as a plan.
type LowerOptions struct {
	Protocol string // Simple or LL
	// MinBytes and MaxBytes are the sizes to serve, both included, as nccl-tests
	// prints them; MaxBytes 0 is as far as the runtime can count.
	MinBytes, MaxBytes int64
	// TileBytes is how much of each chunk a step takes before the next step takes
	// its turn, under Simple; 0 is all of it.
	TileBytes int64
	Node      func(rank int) int // whose memory a rank reaches: its node's; nil: all
	Name      string             // the program's own where empty; the runtime tells plans by it
}

// What all plans written here have.
const (
	Alignment = 16 // bytes that chunks are multiples of
	threads   = 1024
)

// collectives are those whose buffers the runtime and a program cut alike, and of
// which every rank's result has something of every rank in it.
var collectives = []string{"allgather", "allreduce", "alltoall", "reducescatter"}

// Does tells whether plans are written for a collective.
func Does(collective string) bool { return slices.Contains(collectives, collective) }

// Collectives names those that plans are written for, as they are read aloud.
func Collectives() string { return list(collectives) }

// Protocols are those that plans have.
func Protocols() []string { return []string{protocolSimple, protocolLL} }

// lowering is a program on its way to a plan.
type lowering struct {
	p       *ir.Program
	o       LowerOptions
	col     collective.Collective
	g       *graph
	touched accesses
	land    *landing
	waits   [][]int // by step: the steps of other threadblocks it waits for
	wakes   [][]int // by step: those that wait for it
	ready   []bool  // by message: its sender asks first whether its taker has begun
	chunks  int     // of every step, where there is a pipeline; 0 where there is none
	parts   []part
	partOf  []int // by step
}

// Lower writes a program as a plan. What it writes is still to be verified, as
// any plan: Lower and Verify share no more than the table of operations.
//
// A message is put where its taker wants it if whoever touched that place before
// is known to be done when it is sent, and else into scratch; under LL it is
// packets, and lands in scratch. A threadblock of more operations than the
// runtime has room for becomes several, one after the other. Tiles become a
// pipeline over all steps of a threadblock, where all steps are of as many chunks.
func Lower(p *ir.Program, o LowerOptions) (*Plan, error) {
	switch {
	case !slices.Contains(Protocols(), o.Protocol):
		return nil, fmt.Errorf("protocol %s: plans have %s", o.Protocol, list(Protocols()))
	case !written(p):
		return nil, fmt.Errorf("%s: plans are written for %s", p.Collective.Name, list(collectives))
	}
	p, err := ir.Contiguous(p) // plans have no strides
	if err != nil {
		return nil, err
	}
	// A sum that takes many messages makes a threadblock of many channels.
	for most := MaxChannels - 1; ; most /= 2 {
		plan, err := lower(p, o, most)
		if err != nil || most == 0 || connected(plan) == "" {
			return plan, err
		}
	}
}

// lower writes a program as a plan whose threadblocks each take at most so many
// messages for sums that others of the program take.
func lower(p *ir.Program, o LowerOptions, most int) (*Plan, error) {
	l := &lowering{p: p, o: o}
	var err error
	if l.col, err = collective.New(l.p.Collective); err != nil {
		return nil, err
	}
	if l.g, err = newGraph(l.p); err != nil {
		return nil, err
	}
	l.g.port = func(m int) bool {
		msg := &l.g.msgs[m]
		return o.Node != nil && o.Node(l.g.owner[l.g.tb[msg.send]]) != o.Node(l.g.owner[l.g.tb[msg.recv]])
	}
	l.touched = l.g.touched(l.col)
	l.g.packets = o.Protocol == protocolLL
	if l.g.summed(l.touched, l.g.packets, most) {
		l.touched = l.g.touched(l.col)
		l.g.count(l.g.history(l.touched))
	}
	if o.Protocol == protocolLL {
		l.land = l.g.landPackets(l.touched)
	} else {
		l.land = l.g.land(l.touched)
	}
	l.dependencies()
	l.handshakes()
	plan, err := l.header()
	if err != nil {
		return nil, err
	}
	l.draft()
	l.join()
	l.number(plan)
	plan.link()
	return plan, nil
}

// at is a place of a step in the plan.
func (l *lowering) at(s int, loc ir.Loc) spot {
	at := l.g.at(s, loc)
	if at.buffer == collective.Scratch {
		at.index += l.land.own[at.rank]
	}
	return at
}

// dependencies joins what waits for what across threadblocks. Of the steps of a
// threadblock only ever later ones are waited for: the n-th time that one waits
// is then the n-th time that the other tells.
func (l *lowering) dependencies() {
	g := l.g
	l.waits, l.wakes = make([][]int, len(g.steps)), make([][]int, len(g.steps))
	var added [][]int
	if l.o.Protocol == protocolLL {
		added = g.localOrder(l.touched)
	}
	for t := range g.owner {
		last := map[int]int{} // of each threadblock: the step it knows to be over
		for s := g.base[t]; s < g.base[t+1]; s++ {
			deps := slices.Clone(g.deps[s])
			if added != nil {
				deps = append(deps, added[s]...)
			}
			slices.SortFunc(deps, func(a, b int) int {
				return cmp.Or(cmp.Compare(g.tb[a], g.tb[b]), cmp.Compare(b, a))
			})
			for _, from := range deps {
				u := g.tb[from]
				if known, ok := last[u]; ok && known >= from || u == t {
					continue
				}
				last[u] = from
				l.waits[s] = append(l.waits[s], from)
				l.wakes[from] = append(l.wakes[from], s)
			}
		}
	}
}

// handshakes decides who asks whether the other has begun before it writes into
// its memory: over each connection once, with its first message, and only where
// nothing that came before tells so. A GPU that has begun has ended its last
// launch.
//
// Packets need none. They go by turns into two halves of scratch, so it is enough
// that the launch before has begun there; and it has, for in each of these
// collectives every rank's result has something of every rank in it.
func (l *lowering) handshakes() {
	g := l.g
	l.ready = make([]bool, len(g.msgs))
	if l.o.Protocol == protocolLL {
		return
	}
	for t := range g.owner {
		for s := g.base[t]; s < g.base[t+1]; s++ {
			if len(g.sent[s]) > 0 {
				m := g.sent[s][0]
				l.ready[m] = !g.begun(g.owner[g.tb[g.msgs[m].recv]], s)
				break
			}
		}
	}
}

// header writes what is outside the GPUs, and decides on a pipeline.
func (l *lowering) header() (*Plan, error) {
	p, o := l.p, l.o
	spec := p.Collective
	spec.InPlace = false
	apart, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Name: o.Name, Collective: p.Collective.Name, Protocol: o.Protocol, InPlace: p.Collective.InPlace,
		DoubleScratch: o.Protocol == protocolLL, Threads: threads, Alignment: Alignment, MinBytes: uint64(o.MinBytes)}
	if plan.Name == "" {
		plan.Name = p.Name
	}
	most := int64(math.MaxUint32) // bytes of any buffer: the runtime counts them in 32 bits
	whole := int64(apart.InChunks(0))
	if p.Collective.Name == "allgather" {
		whole = int64(apart.OutChunks(0))
	}
	for r := range p.GPUs {
		gpu := GPU{ID: r, In: apart.InChunks(r), Out: apart.OutChunks(r), Scratch: l.land.scratch[r]}
		plan.GPUs = append(plan.GPUs, gpu)
		widest := int64(max(gpu.In, gpu.Out, gpu.Scratch))
		if o.Protocol == protocolLL {
			widest = int64(max(gpu.In, gpu.Out, 4*gpu.Scratch))
		}
		most = min(most, math.MaxUint32/widest*whole)
	}
	if most = most / (whole * Alignment) * (whole * Alignment); most == 0 {
		return nil, fmt.Errorf("%d chunks are more than the runtime can count the bytes of", whole)
	}
	if o.MaxBytes == 0 || o.MaxBytes > most {
		o.MaxBytes = most
	}
	if plan.MaxBytes = uint64(o.MaxBytes); plan.MaxBytes < plan.MinBytes {
		return nil, fmt.Errorf("%d bytes are more than the runtime can count in all its buffers: at most %d", o.MinBytes, most)
	}
	l.pipeline(o.MaxBytes / whole)
	return plan, nil
}

// mostPasses is how many passes of a pipeline the runtime can count.
const mostPassesCounted = math.MaxUint16

// pipeline decides whether the steps take turns over a chunk of so many bytes.
func (l *lowering) pipeline(chunk int64) {
	if l.o.Protocol != protocolSimple || len(l.g.steps) == 0 {
		return // packets are not cut
	}
	count := l.g.steps[0].Count
	for _, s := range l.g.steps {
		if s.Op != ir.Nop && s.Count != count {
			return
		}
	}
	unit := l.o.TileBytes * int64(count) / Alignment * Alignment
	if unit == 0 {
		return
	}
	whole := chunk * int64(count)
	least := (whole/mostPassesCounted + Alignment) / Alignment * Alignment
	if unit = max(unit, least); unit >= whole || unit > math.MaxInt32 {
		return
	}
	l.o.TileBytes, l.chunks = unit, int(count)
}

// list is words as they are read aloud.
func list(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			text += " and "
		default:
			text += ", "
		}
		text += w
	}
	return text
}
