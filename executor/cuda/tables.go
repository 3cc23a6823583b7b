package cuda

import (
	"math"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// image is one device's tables, which contain addresses on all devices.
type image struct {
	blocks       []headRecord
	steps        []stepRecord
	chunks       []chunkRecord
	dependencies []dependencyRecord
	results      []resultRecord
}

// write is bytes for an offset in a device's memory.
type write struct {
	at    int64
	bytes []byte
}

// writes lists the contents of a device's memory besides zeros, data and guards.
func (p *plan) writes(device int, base []uint64) []write {
	m := p.image(device, base)
	wants, terms := p.wants(device, base[device])
	t := &p.devices[device].tables
	return []write{
		{t.blocks, encode(m.blocks)},
		{t.steps, encode(m.steps)},
		{t.chunks, encode(m.chunks)},
		{t.dependencies, encode(m.dependencies)},
		{t.results, encode(m.results)},
		{t.wants, encode(wants)},
		{t.terms, encode(terms)},
		{t.exchanges, p.exchanges(device, base)},
	}
}

// image encodes the program for a device's ranks. base has the address of each
// device's memory.
func (p *plan) image(device int, base []uint64) *image {
	d := &p.devices[device]
	at := base[device]
	m := &image{}
	firstResult := map[int]int{}
	for _, r := range d.ranks {
		for b := range p.ranks[r].chunks {
			for i := range p.ranks[r].chunks[b] {
				m.chunks = append(m.chunks, p.chunk(at, r, collective.Buffer(b), i))
			}
		}
		firstResult[r] = len(m.results)
		m.results = append(m.results, p.averages(at, r)...)
		firstResult[-1-r] = len(m.results)
	}
	for _, b := range d.blocks {
		rank, tb := &p.ranks[b.rank], &p.program.GPUs[b.rank].Threadblocks[b.threadblock]
		runs := p.runs(b.rank, tb.Steps)
		record := blockRecord{
			Steps: at + uint64(d.tables.steps) + stepBytes*uint64(len(m.steps)), StepCount: uint32(len(runs)), ProgramSteps: uint32(len(tb.Steps)),
			Semaphore: at + uint64(b.semaphore),
			Rank:      uint32(b.rank), Threadblock: uint32(b.threadblock),
			SendTo: int32(tb.Send), ReceiveFrom: int32(tb.Recv),
			RankBlocks: uint32(len(rank.blocks)), RankBlock: uint32(b.threadblock),
			Results: uint32(firstResult[b.rank]), ResultCount: uint32(firstResult[-1-b.rank] - firstResult[b.rank]),
			Finished: at + uint64(rank.finished),
		}
		calls := p.calls(tb.Steps, ir.Op.Sends)
		record.Sends, record.SendSlots = uint32(calls), uint32(calls%p.slots)
		calls = p.calls(tb.Steps, ir.Op.Receives)
		record.Receives, record.RecvSlots = uint32(calls), uint32(calls%p.slots)
		if tb.Send >= 0 {
			record.Send = p.end(base, connection{b.rank, tb.Send, tb.Channel})
		}
		if tb.Recv >= 0 {
			record.Receive = p.end(base, connection{tb.Recv, b.rank, tb.Channel})
		}
		first := len(m.steps)
		for _, run := range runs {
			p.step(m, at, b, run, tb.Steps)
		}
		head := headRecord{Block: record}
		copy(head.First[:], m.steps[first:])
		m.blocks = append(m.blocks, head)
	}
	return m
}

// end returns the part of a connection that both its ends need.
func (p *plan) end(base []uint64, key connection) endRecord {
	ch := p.sends[key]
	at := base[p.deviceOf[key.to]]
	return endRecord{Slots: at + uint64(ch.slots), Tail: at + uint64(ch.tail), Head: base[p.deviceOf[key.from]] + uint64(ch.head)}
}

func (p *plan) chunk(at uint64, rank int, b collective.Buffer, i int) chunkRecord {
	l, r := &p.reference.Layout, &p.ranks[rank]
	elem := int64(l.ElemBytes)
	from := at + uint64(r.buffers[b].at)
	if b == collective.Scratch {
		return chunkRecord{Address: from + uint64(int64(i)*l.ChunkElements*elem)}
	}
	c := chunkRecord{Address: from + uint64(l.Start(i)*elem)}
	if l.Elements(i) < l.ChunkElements {
		c.Aside = at + uint64(r.asides[b]+int64(i)*elem)
	}
	return c
}

// step encodes a run as one step. It has the dependencies of the run's first step
// and the number of its last, for which others may wait.
func (p *plan) step(m *image, at uint64, b blockPlan, run run, steps []ir.Step) {
	rank, s, last := &p.ranks[b.rank], &steps[run.first], run.first+run.steps-1
	record := stepRecord{
		Count: uint32(s.Count), Does: doesOf(s.Op), Index: uint32(last),
		Dependencies: uint32(len(m.dependencies)), DependencyCount: uint16(len(s.Deps)),
		Sources: uint32(run.steps), SourceApart: run.apart,
	}
	if steps[last].HasDep {
		record.Does |= flags
	}
	for _, side := range []struct {
		used   bool
		loc    ir.Loc
		chunk  *chunkRecord
		entry  *uint32
		stride *int32
	}{
		{s.Op.ReadsSrc(), s.Src, &record.Src, &record.SrcChunk, &record.SrcStride},
		{s.Op.WritesDst(), s.Dst, &record.Dst, &record.DstChunk, &record.DstStride},
	} {
		if !side.used {
			continue
		}
		*side.chunk = p.chunk(at, b.rank, side.loc.Buf, int(side.loc.Off))
		*side.entry = uint32(rank.firstChunk[side.loc.Buf]) + uint32(side.loc.Off)
		*side.stride = max(side.loc.Stride, 1)
	}
	if p.isSmall(&record) {
		record.Does |= small
		record.Bytes = uint32(p.reference.Layout.ChunkElements) * uint32(p.reference.Layout.ElemBytes)
	}
	all := p.program.GPUs[b.rank].Threadblocks
	for _, d := range s.Deps {
		other := p.devices[p.deviceOf[b.rank]].blocks[rank.blocks[d.TB]]
		m.dependencies = append(m.dependencies, dependencyRecord{
			Semaphore: at + uint64(other.semaphore), Steps: uint32(len(all[d.TB].Steps)), Step: uint32(d.Step), Threadblock: uint32(d.TB),
		})
	}
	m.steps = append(m.steps, record)
}

// doesOf returns the actions of an instruction.
func doesOf(op ir.Op) does {
	all := does(0)
	for _, part := range []struct {
		is   bool
		does does
	}{{op.Receives(), receives}, {op.Sends(), sends}, {op.ReadsSrc(), loads}, {op.WritesDst(), stores}, {op.Reduces(), reduces}} {
		if part.is {
			all |= part.does
		}
	}
	return all
}

// isSmall reports whether a step moves at most one line for each thread, all whole
// and at aligned addresses.
func (p *plan) isSmall(s *stepRecord) bool {
	wire, does := &wires[p.protocol], s.Does&(receives|sends|loads|stores)
	if does&(receives|sends) == 0 {
		wire = &wires[topologies.Simple] // local steps move what the loads of Simple move
	}
	l := &p.reference.Layout
	bytes := l.ChunkElements * int64(l.ElemBytes)
	odd := uint64(bytes) | s.Src.Address | s.Dst.Address | uint64(s.SourceApart)
	return does != 0 && p.tiles == 1 && s.Count == 1 && p.ordered != fenced &&
		s.SourceApart >= 0 && s.SourceApart*int64(s.Sources) <= math.MaxUint32 && s.Src.Aside == 0 && s.Dst.Aside == 0 && odd%uint64(wire.word) == 0 &&
		(bytes+wire.data-1)/wire.data*wire.lanes <= int64(p.threads)
}
