package cuda

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// Sizes of records in bytes. firstSteps is FIRST_STEPS of kernel/layout.h.
const (
	stepBytes  = 80
	firstSteps = 4
	headBytes  = 160 + firstSteps*stepBytes

	exchangeBytes, partBytes, armBytes = 32, 32, 32
)

// maxPerCall is the most chunks of one call (MSCCL_MAX_COUNT - 1).
const maxPerCall = 71

// wires is the table of protocols: the bytes of a line in memory, the data bytes in it, the
// threads that move a line together, the alignment at which data makes whole lines, and a
// connection's slots unless the topology has them.
var wires = [...]struct{ line, data, lanes, word, slots int64 }{
	topologies.LL:     {16, 8, 1, 8, 8},
	topologies.LL128:  {128, 120, 8, 8, 8},
	topologies.Simple: {16, 16, 1, 16, 2},
}

// plan is the layout of a trial on the devices, before memory is allocated: it has offsets
// into one allocation a device. image encodes the records that contain addresses.
type plan struct {
	program   *ir.Program
	reference *data.Reference
	protocol  topologies.Proto
	proto     *topologies.Protocol

	tiles, tileElements int64
	perCall             int64
	slots, slotBytes    int64
	ordered             order
	exchange            *exchange // nil: run by threadblocks
	threads             int       // of a block; set by fit

	deviceOf []int // by rank
	devices  []devicePlan
	ranks    []rankPlan
	sends    map[connection]*channel
}

type devicePlan struct {
	arena
	ranks         []int
	blocks        []blockPlan
	zeroFrom      int64 // counters, semaphores and slots, which begin as zeros
	zeroTo        int64
	claim, wrong  int64
	tables        tableOffsets
	guarded       []span // buffers, with guards before and behind them
	steps, chunks int    // records
	dependencies  int
	results       int
	wants, terms  int
}

type tableOffsets struct{ blocks, steps, chunks, dependencies, results, wants, terms, exchanges int64 }

type span struct{ at, bytes int64 }

type rankPlan struct {
	buffers    [3]span // by collective.Buffer
	asides     [3]int64
	chunks     [3]int // entries in the table of chunks
	firstChunk [3]int
	finished   int64
	blocks     []int // their numbers in the device's grid
}

type blockPlan struct {
	rank, threadblock int
	semaphore         int64
}

// connection identifies a connection by its ends and channel.
type connection struct{ from, to, channel int }

// channel is a connection's memory: slots and tail at the receiver, the head at
// the sender.
type channel struct {
	slots, tail, head  int64
	sender, receiver   bool
	sent, received     int // steps
	sentOf, receivedOf string
}

// newPlan lays a trial out on at most the given number of devices, with neighbouring ranks
// on one. Programs and trials that no GPU could run are errors; those beyond a limit here,
// ErrUnsupported.
func newPlan(t executor.Trial, devices int) (*plan, error) {
	c, err := collective.New(t.Program.Collective)
	if err != nil {
		return nil, err
	}
	if c.Ranks != t.Program.Ranks() {
		return nil, fmt.Errorf("%s is over %d ranks, its program has %d", c.Name, c.Ranks, t.Program.Ranks())
	}
	d, err := data.ParseDType(t.DType)
	if err != nil {
		return nil, err
	}
	op, err := data.ParseOp(t.Op)
	if err != nil {
		return nil, err
	}
	if int(t.Protocol) >= len(wires) {
		return nil, fmt.Errorf("%w: protocol %d: want one of %v", executor.ErrUnsupported, t.Protocol, topologies.AllProtocols)
	}
	r, err := data.NewReference(c, t.Bytes, d, op, t.Seed)
	if err != nil {
		return nil, err
	}
	p := &plan{program: t.Program, reference: r, protocol: t.Protocol, proto: &t.Topology.Protocols[t.Protocol]}
	if err := p.cut(t.TileBytes); err != nil {
		return nil, err
	}
	p.deal(devices)
	p.layRanks()
	if err := p.checkSteps(); err != nil {
		return nil, err
	}
	if err := p.layConnections(); err != nil {
		return nil, err
	}
	if t.Protocol != topologies.Simple { // the counters of Simple order everything
		p.ordered = messagesOrder(t.Program)
	}
	p.exchange = p.newExchange()
	p.layTables()
	return p, nil
}

// cut divides chunks into tiles and steps into calls.
func (p *plan) cut(tile int64) error {
	l := p.reference.Layout
	elem := int64(l.ElemBytes)
	if tile == 0 {
		tile = int64(p.proto.Tile)
	}
	if tile < elem {
		return fmt.Errorf("tile of %d bytes: want at least an element of %d", tile, elem)
	}
	if l.ChunkElements > math.MaxUint32/8 {
		return fmt.Errorf("%w: chunks of %d elements: at most %d", executor.ErrUnsupported, l.ChunkElements, math.MaxUint32/8)
	}
	p.tileElements = max(min(tile/elem, l.ChunkElements), 1)
	p.tiles = max((l.ChunkElements+p.tileElements-1)/p.tileElements, 1)
	p.perCall = maxPerCall
	if chunk := l.ChunkElements * elem; chunk > 0 {
		p.perCall = min(max(tile/chunk, 1), maxPerCall)
	}
	most := int64(1)
	for _, g := range p.program.GPUs {
		for _, tb := range g.Threadblocks {
			for _, s := range tb.Steps {
				if s.Op.Sends() || s.Op.Receives() {
					most = max(most, int64(s.Count))
				}
			}
		}
	}
	w := wires[p.protocol]
	p.slots = w.slots
	if p.proto.Slots > 0 {
		p.slots = int64(p.proto.Slots)
	}
	lines := (p.tileElements*elem + w.data - 1) / w.data
	p.slotBytes = (lines*w.line*min(p.perCall, most) + line - 1) / line * line
	return nil
}

// deal assigns neighbouring ranks to each device.
func (p *plan) deal(devices int) {
	n := p.program.Ranks()
	devices = max(min(devices, n), 1)
	p.devices = make([]devicePlan, devices)
	p.deviceOf = make([]int, n)
	for r := range n {
		d := r * devices / n
		p.deviceOf[r] = d
		p.devices[d].ranks = append(p.devices[d].ranks, r)
	}
}

func (p *plan) ranksPerDevice() int {
	most := 0
	for _, d := range p.devices {
		most = max(most, len(d.ranks))
	}
	return most
}

// layRanks places every rank's buffers and threadblocks, and every device's counters.
func (p *plan) layRanks() {
	c, l := p.reference.Collective, p.reference.Layout
	p.ranks = make([]rankPlan, p.program.Ranks())
	for i := range p.devices {
		d := &p.devices[i]
		for _, r := range d.ranks {
			g, rank := &p.program.GPUs[r], &p.ranks[r]
			in, out, scratch := p.reference.Sizes(r, g.Scratch)
			rank.chunks = [3]int{c.BufferChunks(r, collective.In), c.BufferChunks(r, collective.Out), g.Scratch}
			for b, bytes := range [3]int64{in, out, scratch} {
				at := d.take(bytes+2*data.GuardBytes) + data.GuardBytes
				rank.buffers[b] = span{at, bytes}
				d.guarded = append(d.guarded, rank.buffers[b])
				if !l.Even() && collective.Buffer(b) != collective.Scratch {
					rank.asides[b] = d.take(int64(rank.chunks[b]) * int64(l.ElemBytes))
				}
				rank.firstChunk[b] = d.chunks
				d.chunks += rank.chunks[b]
			}
		}
		d.zeroFrom = d.bytes
		d.claim, d.wrong = d.take(8), d.take(8)
		for _, r := range d.ranks {
			rank := &p.ranks[r]
			rank.finished = d.take(8)
			for tb := range p.program.GPUs[r].Threadblocks {
				rank.blocks = append(rank.blocks, len(d.blocks))
				d.blocks = append(d.blocks, blockPlan{rank: r, threadblock: tb, semaphore: d.take(8)})
			}
		}
	}
}

// layConnections places every connection's slots and counters.
func (p *plan) layConnections() error {
	p.sends = map[connection]*channel{}
	end := func(key connection) *channel {
		if p.sends[key] == nil {
			p.sends[key] = &channel{}
		}
		return p.sends[key]
	}
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			who := fmt.Sprintf("rank %d threadblock %d", r, id)
			for _, peer := range []int{tb.Send, tb.Recv} {
				if peer == r || peer >= len(p.ranks) {
					return fmt.Errorf("%s has rank %d for a peer: want another of the %d", who, peer, len(p.ranks))
				}
			}
			var sends, receives int
			for i, s := range tb.Steps {
				if s.Op.Sends() {
					sends++
				}
				if s.Op.Receives() {
					receives++
				}
				if s.Op.Sends() && tb.Send < 0 || s.Op.Receives() && tb.Recv < 0 {
					return fmt.Errorf("%s step %d (%s): its threadblock has no such peer", who, i, s.Op)
				}
			}
			if tb.Send >= 0 {
				ch := end(connection{r, tb.Send, tb.Channel})
				if ch.sender {
					return fmt.Errorf("%s: %s sends to rank %d on channel %d, too", who, ch.sentOf, tb.Send, tb.Channel)
				}
				ch.sender, ch.sent, ch.sentOf = true, sends, who
				ch.head = p.devices[p.deviceOf[r]].take(8)
			}
			if tb.Recv >= 0 {
				ch := end(connection{tb.Recv, r, tb.Channel})
				if ch.receiver {
					return fmt.Errorf("%s: %s receives from rank %d on channel %d, too", who, ch.receivedOf, tb.Recv, tb.Channel)
				}
				ch.receiver, ch.received, ch.receivedOf = true, receives, who
				d := &p.devices[p.deviceOf[r]]
				ch.tail = d.take(8)
				ch.slots = d.take(p.slots * p.slotBytes)
			}
		}
	}
	for _, ch := range p.sends {
		if ch.sent != ch.received {
			return fmt.Errorf("%s sends %d times, and %s receives %d times", orNobody(ch.sentOf), ch.sent, orNobody(ch.receivedOf), ch.received)
		}
	}
	for i := range p.devices {
		p.devices[i].zeroTo = p.devices[i].bytes
	}
	return nil
}

func orNobody(who string) string {
	if who == "" {
		return "nobody"
	}
	return who
}

func (p *plan) layTables() {
	for i := range p.devices {
		d := &p.devices[i]
		for _, b := range d.blocks {
			steps := p.program.GPUs[b.rank].Threadblocks[b.threadblock].Steps
			d.steps += len(p.runs(b.rank, steps))
			for _, s := range steps {
				d.dependencies += len(s.Deps)
			}
		}
		d.wants, d.terms, d.results = p.countWants(d.ranks)
		for _, table := range []struct {
			at      *int64
			records int
			bytes   int
		}{
			{&d.tables.blocks, len(d.blocks), headBytes},
			{&d.tables.steps, d.steps, stepBytes},
			{&d.tables.chunks, d.chunks, 16},
			{&d.tables.dependencies, d.dependencies, 24},
			{&d.tables.results, d.results, 24},
			{&d.tables.wants, d.wants, 24},
			{&d.tables.terms, d.terms, 16},
		} {
			*table.at = d.take(int64(table.records) * int64(table.bytes))
		}
		if p.exchange != nil {
			d.tables.exchanges = d.take(int64(len(d.ranks)) * p.exchange.bytes())
		}
	}
}

// mostCalls returns the number of calls of the busiest connection in a launch.
func (p *plan) mostCalls() int64 {
	most := int64(0)
	for _, g := range p.program.GPUs {
		for _, tb := range g.Threadblocks {
			most = max(most, p.calls(tb.Steps, ir.Op.Sends))
		}
	}
	return most
}

// calls counts the calls in a launch of the steps of the given kind.
func (p *plan) calls(steps []ir.Step, kind func(ir.Op) bool) int64 {
	calls := int64(0)
	for _, s := range steps {
		if kind(s.Op) {
			calls += (int64(s.Count) + p.perCall - 1) / p.perCall
		}
	}
	return calls * p.tiles
}
