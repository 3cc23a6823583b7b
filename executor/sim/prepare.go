package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// Prepared is a program laid out on a topology: flat arrays, which runs and bounds of any
// size, protocol and tile read but never change. It is safe for concurrent use, and keeps
// the program and the topology, which must not change.
type Prepared struct {
	program    *ir.Program
	topology   *topologies.Topology
	loopChunks int64
	mostCount  int32 // of a step
	mostNet    int32 // connections over the network that a rank sends or receives on
	steps      int   // of the program; of those that do the same, ops has one

	ops    []op
	waits  []wait
	blocks []block
	conns  []conn
	lanes  []lane
	edges  []edge
	// The first sending lanes carry messages over links, which are the first links
	// edges; the others lead over memory alone (memory.go).
	sending, links int
	// follows lists which threadblocks wait for which, each pair once.
	follows []follow

	engines sync.Pool
	bounds  bounds
}

// kind is the class of an op: by the connections it occupies, and its local work.
type kind uint8

const (
	idle     kind = iota // only waits
	send                 // s
	recv                 // r, rrc
	fused                // rcs, rrs, rrcs
	copying              // cpy
	reducing             // re and fused runs of re
)

// local reports whether it is work within a GPU.
func (k kind) local() bool { return k >= copying }

// op is a step, with the waits of the nops before it, or a run of reductions.
type op struct {
	kind      kind
	flagged   bool  // publishes its step
	count     int32 // chunks
	step      int32 // the last step of the IR it stands for
	waitsFrom int32
	waitsTo   int32
	here      touches // what it does to its own GPU's memory
	there     touches // what its messages do to the receiver's
}

// wait is one dependency of an op.
type wait struct {
	block int32
	step  int32
	id    int32 // of the threadblock, as the IR numbers it
}

// follow is a pair of threadblocks of which one waits for the other.
type follow struct{ waiter, waited int32 }

type block struct {
	rank, id int32 // as the IR numbers it
	from, to int32 // its ops
	steps    int32 // steps of the IR, nops included
	tx, rx   int32 // connections, -1 none
	local    int32 // lane of its local work, -1 none
	size     int64 // threadblocks that it stands for
}

// conn is a connection: everything one threadblock sends another.
type conn struct {
	tx, rx int32 // threadblocks
	lane   int32
}

// lane is a path that several connections may share, or one GPU's memory alone.
type lane struct {
	from, to int32 // ranks
	edges    []int32
	alike    []int64 // by edge: lanes that it stands for that lead over one such edge
	size     int64   // lanes that it stands for
	links    int     // edges before the first of a memory
	cap      float64 // of its narrowest edge, bytes a microsecond
	message  float64 // time a message occupies it beyond its bytes
	extra    float64 // the same as bytes on its edges
	latency  float64
	net      bool // leaves the node
	inside   bool // leads over links and stays in the node
	way      way
}

// edge is an edge of the topology that some lane uses, or a GPU's memory.
type edge struct {
	cap float64
	far reserve // of a memory: what the network may ask of it
}

// maxFused is how many reductions into one place run as one (MSCCL).
const maxFused = 16

// maxMessages limits the messages of one tile of a program, so that no file can keep the
// simulator busy for ever.
const maxMessages = 1 << 28

// Prepare checks that a program can run on a topology and lays it out. The error names the
// first step or threadblock that can't: too few ranks, peers without a path, two
// threadblocks on one connection, sends and receives that do not match, a dependency on a
// step that does not exist.
func Prepare(program *ir.Program, topology *topologies.Topology) (*Prepared, error) {
	return prepare(program, topology, false)
}

// PrepareUnfolded is Prepare without folding (fold.go): for a record of every threadblock. Times
// are the same, and take longer to find.
func PrepareUnfolded(program *ir.Program, topology *topologies.Topology) (*Prepared, error) {
	return prepare(program, topology, true)
}

func prepare(program *ir.Program, topology *topologies.Topology, whole bool) (*Prepared, error) {
	if program.Ranks() != len(topology.Ranks) {
		return nil, fmt.Errorf("program is for %d ranks, topology %s has %d", program.Ranks(), topology.Name, len(topology.Ranks))
	}
	coll, err := collective.New(program.Collective)
	if err != nil {
		return nil, err
	}
	if coll.Ranks != program.Ranks() {
		return nil, fmt.Errorf("%s is over %d ranks, its program has %d", coll.Name, coll.Ranks, program.Ranks())
	}
	p := &Prepared{program: program, topology: topology, loopChunks: int64(coll.LoopChunks())}
	if err := p.layOps(); err != nil {
		return nil, err
	}
	if err := p.layConns(); err != nil {
		return nil, err
	}
	p.countNet()
	if err := p.matchMessages(); err != nil {
		return nil, err
	}
	p.layMemory()
	p.bounds.memories = p.memories()
	p.steps = len(p.ops)
	p.fold(whole)
	p.layFollows()
	p.bounds.prepare(p)
	return p, nil
}

// layOps flattens the steps.
func (p *Prepared) layOps() error {
	blocks, steps := 0, 0
	for _, g := range p.program.GPUs {
		blocks += len(g.Threadblocks)
		for _, tb := range g.Threadblocks {
			steps += len(tb.Steps)
		}
	}
	p.blocks = make([]block, 0, blocks)
	p.ops = make([]op, 0, steps)
	messages := int64(0)
	for r, g := range p.program.GPUs {
		first := len(p.blocks)
		for id, tb := range g.Threadblocks {
			b := block{rank: int32(r), id: int32(id), from: int32(len(p.ops)), steps: int32(len(tb.Steps)), tx: -1, rx: -1, local: -1}
			if err := p.laySteps(g, r, id, tb, first); err != nil {
				return err
			}
			b.to = int32(len(p.ops))
			for _, o := range p.ops[b.from:] {
				messages += int64(o.count)
				p.mostCount = max(p.mostCount, o.count)
			}
			p.blocks = append(p.blocks, b)
		}
	}
	if messages > maxMessages {
		return fmt.Errorf("program moves %d chunks a tile: the simulator takes at most %d", messages, maxMessages)
	}
	return nil
}

// layFollows lists which threadblocks wait for which.
func (p *Prepared) layFollows() {
	for i, b := range p.blocks {
		for j := b.from; j < b.to; j++ {
			for _, w := range p.waits[p.ops[j].waitsFrom:p.ops[j].waitsTo] {
				p.follows = append(p.follows, follow{int32(i), w.block})
			}
		}
	}
	slices.SortFunc(p.follows, func(a, b follow) int {
		return cmp.Or(cmp.Compare(a.waiter, b.waiter), cmp.Compare(a.waited, b.waited))
	})
	p.follows = slices.Compact(p.follows)
}

// laySteps flattens one threadblock. The waits of a nop move to the step behind
// it, and reductions into one place become one op.
func (p *Prepared) laySteps(g ir.GPU, rank, id int, tb ir.Threadblock, first int) error {
	waitsFrom := int32(len(p.waits))
	for s := 0; s < len(tb.Steps); s++ {
		step, at := &tb.Steps[s], int32(s)
		where := func(format string, args ...any) error {
			return fmt.Errorf("rank %d threadblock %d step %d (%s): %s", rank, id, s, step.Op, fmt.Sprintf(format, args...))
		}
		for _, d := range step.Deps {
			switch {
			case d.TB < 0 || int(d.TB) >= len(g.Threadblocks) || int(d.TB) == id:
				return where("waits for threadblock %d: want another of the %d of its GPU", d.TB, len(g.Threadblocks))
			case d.Step < 0 || int(d.Step) >= len(g.Threadblocks[d.TB].Steps):
				return where("waits for step %d of threadblock %d, which has %d", d.Step, d.TB, len(g.Threadblocks[d.TB].Steps))
			case !g.Threadblocks[d.TB].Steps[d.Step].HasDep:
				return where("waits for step %d of threadblock %d, which does not publish its end", d.Step, d.TB)
			}
			p.waits = append(p.waits, wait{int32(first) + d.TB, d.Step, d.TB})
		}
		o := op{flagged: step.HasDep, count: step.Count, step: int32(s), waitsFrom: waitsFrom}
		switch {
		case step.Op == ir.Nop:
			if !step.HasDep && s+1 < len(tb.Steps) {
				continue // waits together with the step that follows
			}
			o.count = 0
		case step.Count < 1:
			return where("moves %d chunks: want at least 1", step.Count)
		case step.Op.Sends() && tb.Send < 0:
			return where("its threadblock has no peer to send to")
		case step.Op.Receives() && tb.Recv < 0:
			return where("its threadblock has no peer to receive from")
		case step.Op.Sends() && step.Op.Receives():
			o.kind = fused
		case step.Op.Sends():
			o.kind = send
		case step.Op.Receives():
			o.kind = recv
		default:
			o.kind = copying
			if step.Op == ir.Reduce {
				o.kind = reducing
				s = reductionRun(tb.Steps, s)
				o.step, o.flagged = int32(s), tb.Steps[s].HasDep
			}
		}
		if o.kind != idle {
			o.here = touched(step.Op)
			o.here.data += o.step - at // a read for each further source
		}
		o.waitsTo = int32(len(p.waits))
		waitsFrom = o.waitsTo
		p.ops = append(p.ops, o)
	}
	return nil
}

// reductionRun returns the last step of the run of reductions that starts at s: into the
// same chunks, without dependencies of their own, up to the first that others wait for.
func reductionRun(steps []ir.Step, s int) int {
	first := &steps[s]
	for n := 1; n < maxFused && s+1 < len(steps) && !steps[s].HasDep; n++ {
		next := &steps[s+1]
		if next.Op != ir.Reduce || next.Dst != first.Dst || next.Src.Buf != first.Src.Buf ||
			next.Count != first.Count || len(next.Deps) > 0 {
			break
		}
		s++
	}
	return s
}

// end names one end of a connection.
type end struct {
	rank, peer, channel int32
}

// layConns joins threadblocks by connections, and connections by lanes.
func (p *Prepared) layConns() error {
	receivers, err := p.receivers()
	if err != nil {
		return err
	}
	type pair struct{ from, to int32 }
	lanes := make(map[pair]int32)
	edges := make(map[int]int32)
	// Sorted by sender, so that connections get the same numbers each time.
	tx := int32(-1)
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			tx++
			if tb.Send < 0 {
				continue
			}
			key := pair{int32(r), int32(tb.Send)}
			l, ok := lanes[key]
			if !ok {
				path, linked := p.topology.Path(r, tb.Send)
				if !linked {
					return fmt.Errorf("rank %d threadblock %d sends to rank %d: %s has no path between them", r, id, tb.Send, p.topology.Name)
				}
				l = int32(len(p.lanes))
				lanes[key] = l
				p.lanes = append(p.lanes, p.layLane(key.from, key.to, path, edges))
			}
			p.connect(tx, end{int32(tb.Send), int32(r), int32(tb.Channel)}, receivers, l)
		}
	}
	return nil
}

// countNet counts the connections over the network that the busiest rank sends or
// receives on.
func (p *Prepared) countNet() {
	sends, receives := make([]int32, p.program.Ranks()), make([]int32, p.program.Ranks())
	for _, c := range p.conns {
		if l := &p.lanes[c.lane]; l.net {
			sends[l.from]++
			receives[l.to]++
		}
	}
	p.mostNet = max(slices.Max(sends), slices.Max(receives))
}

// receivers finds the threadblock at each receiving end. Two at one end are an
// error, as are two at one sending end.
func (p *Prepared) receivers() (map[end]int32, error) {
	senders, receivers := make(map[end]int32), make(map[end]int32)
	b := int32(0)
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			for _, half := range []struct {
				peer  int
				verb  string
				taken map[end]int32
			}{{tb.Send, "send to", senders}, {tb.Recv, "receive from", receivers}} {
				if half.peer < 0 {
					continue
				}
				if half.peer >= p.program.Ranks() || half.peer == r {
					return nil, fmt.Errorf("rank %d threadblock %d would %s rank %d: want another of the %d", r, id, half.verb, half.peer, p.program.Ranks())
				}
				key := end{int32(r), int32(half.peer), int32(tb.Channel)}
				if other, ok := half.taken[key]; ok {
					return nil, fmt.Errorf("rank %d threadblocks %d and %d both %s rank %d on channel %d", r, p.blocks[other].id, id, half.verb, half.peer, tb.Channel)
				}
				half.taken[key] = b
			}
			b++
		}
	}
	return receivers, nil
}

// connect adds a connection from a threadblock to its receiving end, over a lane. There may
// be no receiver if nothing is sent: see matchMessages.
func (p *Prepared) connect(tx int32, to end, receivers map[end]int32, lane int32) {
	rx, ok := receivers[to]
	if !ok {
		rx = -1
	}
	c := int32(len(p.conns))
	p.conns = append(p.conns, conn{tx: tx, rx: rx, lane: lane})
	p.blocks[tx].tx = c
	if rx >= 0 {
		p.blocks[rx].rx = c
	}
}

// layLane returns the lane of a path, and numbers its edges.
func (p *Prepared) layLane(from, to int32, path topologies.Path, edges map[int]int32) lane {
	l := lane{
		from: from, to: to, edges: make([]int32, len(path.Edges)), links: len(path.Edges),
		latency: float64(path.Latency), net: path.Net, inside: !path.Net,
	}
	for i, e := range path.Edges {
		of := p.topology.Edges[e]
		at, ok := edges[e]
		if !ok {
			at = int32(len(p.edges))
			edges[e] = at
			p.edges = append(p.edges, edge{cap: of.Bandwidth.PerMicro()})
		}
		l.edges[i] = at
		if c := p.edges[at].cap; i == 0 || c < l.cap {
			l.cap = c
		}
		l.message = max(l.message, float64(of.Message))
		l.extra = max(l.extra, float64(of.Message)*p.edges[at].cap)
	}
	return l
}

// matchMessages checks that the messages sent on a connection are those received, step by
// step, and sets each message's accesses to the receiver's memory.
func (p *Prepared) matchMessages() error {
	var sent []int32 // ops
	for _, b := range p.blocks {
		if b.rx < 0 {
			for _, o := range p.ops[b.from:b.to] {
				if o.kind == recv || o.kind == fused {
					return fmt.Errorf("rank %d threadblock %d step %d receives, and no threadblock sends", b.rank, b.id, o.step)
				}
			}
		}
		if b.tx < 0 {
			continue
		}
		c := p.conns[b.tx]
		sent = sent[:0]
		for i := b.from; i < b.to; i++ {
			if o := &p.ops[i]; o.kind == send || o.kind == fused {
				o.there = arrival
				sent = append(sent, i)
			}
		}
		if c.rx < 0 {
			if len(sent) > 0 {
				return fmt.Errorf("rank %d threadblock %d sends %d times, and no threadblock receives", b.rank, b.id, len(sent))
			}
			continue
		}
		to, i := p.blocks[c.rx], 0
		for _, o := range p.ops[to.from:to.to] {
			if o.kind != recv && o.kind != fused {
				continue
			}
			if i < len(sent) {
				from := &p.ops[sent[i]]
				if from.count != o.count {
					return fmt.Errorf("rank %d threadblock %d step %d receives %d chunks where rank %d threadblock %d sends %d", to.rank, to.id, o.step, o.count, b.rank, b.id, from.count)
				}
				if o.kind == recv {
					from.there = arrival.plus(o.here)
				}
			}
			i++
		}
		if i != len(sent) {
			return fmt.Errorf("rank %d threadblock %d sends %d times, rank %d threadblock %d receives %d times", b.rank, b.id, len(sent), to.rank, to.id, i)
		}
	}
	return nil
}
