package mscclpp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// LowerOptions are the calls that a plan is written for.
type LowerOptions struct {
	Protocol string // Simple or LL
	// MinBytes and MaxBytes are the sizes to serve, both included, as nccl-tests
	// prints them. MaxBytes 0 stands for the largest that the runtime can count.
	MinBytes, MaxBytes int64
	// TileBytes is, under Simple, the number of bytes of each chunk that a step
	// handles before the next step runs. 0 means the whole chunk.
	TileBytes int64
	Node      func(rank int) int // ranks of the same node can access each other's memory; nil: all can
	Name      string             // the runtime tells plans apart by it; empty: the program's name
}

// What all plans written here have in common.
const (
	Alignment = 16 // bytes; chunks are multiples of it
	threads   = 1024
)

// collectives are those whose buffers the runtime divides as programs do, and in
// which every rank's result depends on every rank (handshakes relies on it).
var collectives = []string{"allgather", "allreduce", "alltoall", "reducescatter"}

// Supports reports whether Lower supports a collective.
func Supports(collective string) bool { return slices.Contains(collectives, collective) }

// Collectives lists the collectives that Lower supports, as part of a sentence.
func Collectives() string { return list(collectives) }

// Protocols lists the protocols of plans.
func Protocols() []string { return []string{protocolSimple, protocolLL} }

type lowering struct {
	p       *ir.Program
	o       LowerOptions
	col     collective.Collective
	g       *graph
	touched accesses
	land    *landing
	waits   [][]int // by step: steps of other threadblocks it waits for
	wakes   [][]int // by step: steps of other threadblocks that wait for it
	ready   []bool  // by message: the sender first waits until the receiver has begun
	chunks  int     // of every step, if there is a pipeline; otherwise 0
	parts   []part
	partOf  []int // by step
}

// Lower writes a program as a plan. The caller must verify the plan like any other:
// Lower and Verify share only the table of operations and the container of clocks. An
// error says which of the runtime's limits or abilities the program exceeds.
//
// A message is put directly into its final place if all earlier accesses to
// that place are known to be complete when it is sent; otherwise into scratch.
// Under LL it consists of packets, and lands in scratch. A threadblock with
// more operations than the runtime supports is split into several, which run
// one after another. With tiles, a threadblock becomes a pipeline over all its
// steps, if all steps have the same number of chunks.
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
	// A sum of many messages gives its threadblock many channels; if there are too
	// many for the runtime, try again with smaller sums.
	for most := MaxChannels - 1; ; most /= 2 {
		plan, err := lower(p, o, most)
		if err != nil || most == 0 || connected(plan) == "" {
			return plan, err
		}
	}
}

// lower is Lower with a limit: the sums of a threadblock take at most most
// messages that other threadblocks of the program receive.
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
	l.touched = l.g.accesses(l.col)
	l.g.packets = o.Protocol == protocolLL
	if l.g.summed(l.touched, l.g.packets, most) {
		l.touched = l.g.accesses(l.col)
		l.g.computeClocks(l.g.history(l.touched))
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
	l.joinWaiters()
	l.number(plan)
	plan.link()
	return plan, nil
}

// at returns a place of a step in the plan.
func (l *lowering) at(s int, loc ir.Loc) span {
	at := l.g.at(s, loc)
	if at.buffer == collective.Scratch {
		at.index += l.land.own[at.rank]
	}
	return at
}

// dependencies collects the waits between threadblocks. One threadblock waits for
// ever later steps of another only, so that its n-th wait matches the other's n-th
// signal.
func (l *lowering) dependencies() {
	g := l.g
	l.waits, l.wakes = make([][]int, len(g.steps)), make([][]int, len(g.steps))
	var added [][]int
	if l.o.Protocol == protocolLL {
		added = g.localOrder(l.touched)
	}
	for t := range g.owner {
		last := map[int]int{} // by threadblock: the last of its steps that is known to be over
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

// handshakes decides which senders have to wait until the receiver has begun
// before they write into its memory: the first message from each threadblock to
// it, unless something earlier proves it. A GPU that has begun has finished its
// previous launch.
//
// Packets need no handshake. Launches alternate between two halves of scratch, so
// it suffices that the receiver has begun the previous launch. It has, because in
// each of these collectives every rank's result depends on every rank.
func (l *lowering) handshakes() {
	g := l.g
	l.ready = make([]bool, len(g.msgs))
	if l.o.Protocol == protocolLL {
		return
	}
	for t := range g.owner {
		asked := map[int]bool{} // by receiver: a threadblock to which sums were moved sends to several
		for s := g.base[t]; s < g.base[t+1]; s++ {
			for _, m := range g.sent[s] {
				if to := g.owner[g.tb[g.msgs[m].recv]]; !asked[to] {
					asked[to] = true
					l.ready[m] = !g.begun(to, s)
				}
			}
		}
	}
}

// header sets the fields outside the GPUs, and decides whether there is a
// pipeline.
func (l *lowering) header() (*Plan, error) {
	p, o := l.p, l.o
	spec := p.Collective
	spec.InPlace = false
	apart, err := collective.New(spec)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Name: cmp.Or(o.Name, p.Name), Collective: p.Collective.Name, Protocol: o.Protocol, InPlace: p.Collective.InPlace,
		DoubleScratch: o.Protocol == protocolLL, Threads: threads, Alignment: Alignment, MinBytes: uint64(o.MinBytes)}
	most := int64(math.MaxUint32) // largest buffer: the runtime counts bytes in 32 bits
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

// maxPassesCounted is the largest number of passes of a pipeline that the
// runtime can count.
const maxPassesCounted = math.MaxUint16

// pipeline decides whether steps take turns over a chunk of the given size.
func (l *lowering) pipeline(chunk int64) {
	if l.o.Protocol != protocolSimple || len(l.g.steps) == 0 {
		return // packets are not divided
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
	least := (whole/maxPassesCounted + Alignment) / Alignment * Alignment
	if unit = max(unit, least); unit >= whole || unit > math.MaxInt32 {
		return
	}
	l.o.TileBytes, l.chunks = unit, int(count)
}

// list joins words, at least two, as part of a sentence.
func list(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
