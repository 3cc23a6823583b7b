package mscclpp

import (
	"maps"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
)

// part is a threadblock of a plan: a threadblock of the program, or a piece of
// one with more operations than the runtime supports.
type part struct {
	gpu      int
	prologue []draft // operations before the pipeline, if there is one
	ops      []draft
}

// draft writes all threadblocks, each in as many parts as necessary.
func (l *lowering) draft() {
	g := l.g
	l.partOf = make([]int, len(g.steps))
	for t := range g.owner {
		if !slices.Contains(g.idle[g.base[t]:g.base[t+1]], false) {
			continue
		}
		d := l.newPart(g.owner[t], none)
		for s := g.base[t]; s < g.base[t+1]; s++ {
			was := *d // operations are only appended
			was.taken = maps.Clone(d.taken)
			prologue := slices.Clone(l.parts[len(l.parts)-1].prologue)
			if l.step(d, s); l.full(d) && len(was.ops) > 0 {
				l.parts[len(l.parts)-1].prologue = prologue
				*d = was
				d.release([]int{s}, true)
				l.endPart(d)
				d = l.newPart(g.owner[t], s)
				l.step(d, s)
			}
			l.partOf[s] = len(l.parts) - 1
		}
		l.endPart(d)
	}
}

// newPart begins a part. If its first step is not the threadblock's first in the
// program, it waits for the part before.
func (l *lowering) newPart(rank, at int) *drafter {
	l.parts = append(l.parts, part{gpu: rank})
	d := &drafter{l: l, rank: rank, taken: map[signalSource]int{}}
	if at != none {
		d.acquire([]int{at}, true)
	}
	return d
}

func (l *lowering) endPart(d *drafter) {
	if l.chunks > 0 && d.takenTwice() {
		d.nop() // before the next pass of the pipeline
	}
	l.parts[len(l.parts)-1].ops = d.ops
}

// maxFlushes is the number of port channels to reserve flushes for. A
// threadblock's messages go to one threadblock, whose parts that receive from
// it are no more than this.
const maxFlushes = 3

// full reports whether a part could exceed the limit on operations, counting what
// may follow: the signal to the next part, and the flushes.
func (l *lowering) full(d *drafter) bool {
	n := len(l.parts[len(l.parts)-1].prologue) + len(d.ops) + 2
	if l.chunks > 0 {
		n++ // the operation that begins the pipeline
		if d.takenTwice() {
			n++
		}
	}
	ports := 0
	for _, o := range d.ops {
		if o.kind == "pws" {
			ports++
		}
	}
	return n+min(ports, maxFlushes) > MaxOperations
}

// flushes returns the operations that end a part. When the kernel ends, a port
// may still be reading memory that then belongs to the caller again. So a part
// flushes its ports, unless the message is known to have arrived.
func (l *lowering) flushes(p *part) (all []draft) {
	seen := map[int]bool{} // by receiving part
	for _, o := range p.ops {
		if o.kind != "pws" || l.g.knownAtEnd(p.gpu, l.g.msgs[o.messages[0]].recv) {
			continue
		}
		if to := l.partOf[l.g.msgs[o.messages[0]].recv]; !seen[to] {
			seen[to] = true
			all = append(all, draft{kind: "flush", messages: o.messages, dst: o.dst})
		}
	}
	return all
}

// step writes the operations of one step, with its waits and signals.
func (l *lowering) step(d *drafter, s int) {
	if l.g.idle[s] {
		return
	}
	p := &l.parts[len(l.parts)-1]
	asked := func(m int) bool { return !l.ready[m] }
	for _, some := range l.lanes(slices.DeleteFunc(slices.Clone(l.g.got[s]), asked)) {
		// This comes before any wait; otherwise all could wait for one another.
		p.prologue = slices.Insert(p.prologue, 0, draft{kind: "rlxsignal", messages: some, ready: true})
	}
	d.acquire(l.waits[s], false)
	if first := slices.DeleteFunc(slices.Clone(l.g.sent[s]), asked); len(first) > 0 {
		if l.chunks > 0 { // once, not in every pass
			p.prologue = append(p.prologue, draft{kind: "rlxwait", messages: first, ready: true}, draft{kind: "nop"})
		} else {
			d.wait(first, true)
		}
	}
	if l.o.Protocol == protocolLL {
		d.packets(s)
	} else {
		d.simple(s)
	}
	d.release(l.wakes[s], false)
}

// numbering assigns numbers to channels, buffers and semaphores.
type numbering struct {
	l          *lowering
	plan       *Plan
	tb         []int // by part: its threadblock in the plan
	lanes      map[[2]int]lane
	semaphores map[[2]int]int // by pair of parts: the GPU's semaphore between them
	buffers    []map[remote]int
}

// lane is a channel between two parts, with its numbers at the sender's end and
// the receiver's.
type lane struct {
	kind     ChannelType
	from, to int
}

// remote is a buffer of another rank, reached over a type of channel.
type remote struct {
	rank   int
	buffer collective.Buffer
	kind   ChannelType
}

// number turns the parts into the plan's threadblocks.
func (l *lowering) number(plan *Plan) {
	n := &numbering{l: l, plan: plan, lanes: map[[2]int]lane{}, semaphores: map[[2]int]int{}}
	for range plan.GPUs {
		n.buffers = append(n.buffers, map[remote]int{})
	}
	for i := range l.parts {
		gpu := &plan.GPUs[l.parts[i].gpu]
		n.tb = append(n.tb, len(gpu.Threadblocks))
		gpu.Threadblocks = append(gpu.Threadblocks, Threadblock{ID: len(gpu.Threadblocks)})
	}
	n.channels()
	for i := range l.parts {
		p := &l.parts[i]
		tb := &plan.GPUs[p.gpu].Threadblocks[n.tb[i]]
		w := &writer{n: n, part: i, gpu: &plan.GPUs[p.gpu], tb: tb}
		prologue, body := w.ops(p.prologue), w.ops(p.ops)
		if l.chunks > 0 {
			body = []Op{{Kind: kindOf("pipeline"), Slices: 1, Unit: int(l.o.TileBytes), Chunks: l.chunks, Ops: body}}
		}
		tb.Ops = slices.Concat(prologue, body, w.ops(l.flushes(p)))
	}
}

// channels creates a channel for every two parts that exchange messages, at both
// ends at once: the runtime pairs the n-th channel to a peer with the peer's n-th
// channel back.
func (n *numbering) channels() {
	g := n.l.g
	for m := range g.msgs {
		from, to := n.l.partOf[g.msgs[m].send], n.l.partOf[g.msgs[m].recv]
		if _, ok := n.lanes[[2]int{from, to}]; ok {
			continue
		}
		kind := Memory
		if g.port(m) {
			kind = Port
		}
		a, b := n.l.parts[from].gpu, n.l.parts[to].gpu
		n.lanes[[2]int{from, to}] = lane{kind, n.channel(a, b, kind), n.channel(b, a, kind)}
	}
}

func (n *numbering) channel(at, peer int, kind ChannelType) int {
	gpu := &n.plan.GPUs[at]
	i := slices.IndexFunc(gpu.Channels, func(c Channel) bool { return c.Type == kind })
	if i < 0 {
		i = len(gpu.Channels)
		gpu.Channels = append(gpu.Channels, Channel{Type: kind})
	}
	c := &gpu.Channels[i]
	c.Peers = append(c.Peers, peer)
	return len(c.Peers) - 1
}

func (n *numbering) buffer(at int, b remote) int {
	if i, ok := n.buffers[at][b]; ok {
		return i
	}
	gpu := &n.plan.GPUs[at]
	i := len(gpu.RemoteBuffers)
	n.buffers[at][b] = i
	gpu.RemoteBuffers = append(gpu.RemoteBuffers, RemoteBuffer{Rank: b.rank, Buffer: b.buffer, Access: []ChannelType{b.kind}})
	return i
}

// semaphore returns the number of the semaphore between two parts of a GPU.
func (n *numbering) semaphore(from, to int) int {
	key := [2]int{from, to}
	if i, ok := n.semaphores[key]; ok {
		return i
	}
	gpu := &n.plan.GPUs[n.l.parts[from].gpu]
	i := len(gpu.Semaphores)
	n.semaphores[key] = i
	gpu.Semaphores = append(gpu.Semaphores, 0)
	return i
}

// writer writes the operations of one threadblock, with the lists of channels and
// buffers that they refer to.
type writer struct {
	n    *numbering
	part int
	gpu  *GPU
	tb   *Threadblock
}

func (w *writer) ops(drafts []draft) []Op { return lists.Map(drafts, w.op) }

func (w *writer) op(d draft) Op {
	k := kindOf(d.kind)
	o := Op{Kind: k, Slices: 1}
	for _, s := range d.steps {
		from, to := w.part, w.n.l.partOf[s]
		switch {
		case k.effect == acquires && d.chained:
			from, to = w.part-1, w.part
		case k.effect == acquires:
			from, to = to, w.part
		case d.chained:
			to = w.part + 1
		}
		o.Semaphores = append(o.Semaphores, w.n.semaphore(from, to))
	}
	for _, m := range d.messages {
		msg := &w.n.l.g.msgs[m]
		l := w.n.lanes[[2]int{w.n.l.partOf[msg.send], w.n.l.partOf[msg.recv]}]
		end := l.to
		if w.part == w.n.l.partOf[msg.send] {
			end = l.from
		}
		o.Type = l.kind
		// A memory channel only signals; a port is also handed data.
		if id := index(&w.tb.Channels, l.kind, end); l.kind == Port || !k.moving() {
			o.Channels = append(o.Channels, id)
		}
	}
	o.Src, o.Dst = w.refs(d.src, o.Type), w.refs(d.dst, o.Type)
	return o
}

func (w *writer) refs(spots []span, kind ChannelType) (refs []Ref) {
	for _, at := range spots {
		if at.rank == w.n.l.parts[w.part].gpu {
			refs = append(refs, Ref{Place: Local, Buffer: at.buffer, Index: at.index, Size: at.size})
			continue
		}
		id := w.n.buffer(w.n.l.parts[w.part].gpu, remote{at.rank, at.buffer, kind})
		refs = append(refs, Ref{Place: Remote, ID: index(&w.tb.Buffers, kind, id), Index: at.index, Size: at.size})
	}
	return refs
}

// index returns the position of a number in one of a threadblock's lists, to
// which it is added if necessary.
func index(lists *[]Refs, kind ChannelType, id int) int {
	i := slices.IndexFunc(*lists, func(r Refs) bool { return r.Type == kind })
	if i < 0 {
		i = len(*lists)
		*lists = append(*lists, Refs{Type: kind})
	}
	r := &(*lists)[i]
	if at := slices.Index(r.IDs, id); at >= 0 {
		return at
	}
	r.IDs = append(r.IDs, id)
	return len(r.IDs) - 1
}
