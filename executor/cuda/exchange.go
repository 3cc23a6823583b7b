package cuda

import (
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// A program of small messages is run as an exchange: by a block for each rank, which runs
// the steps of its threadblocks in an order that respects their dependencies. Threadblocks
// serve parallelism; where a message is a line a thread, synchronising them takes longer
// than the work.
//
//	threadblocks' steps               parts                   messages, of which one
//	s in[0] ▸ 1    s in[0] ▸ 2        in[0] ▸ 1, 2            thread has a line each
//	r sc[0] ◂ 1    r sc[1] ◂ 2
//	re in[0] += sc[0], sc[1]          in[0] += ◂ 1, ◂ 2
//
// Messages to be reduced are reduced from their slots.

// maxParts and maxArms are MOST_PARTS and MOST_ARMS of kernel/exchange.h. A
// program with more is faster with several blocks.
const (
	maxParts = 64
	maxArms  = 64
)

// exchange is a program to be run that way; its slices are by rank.
type exchange struct {
	parts   [][]part
	arms    [][]arm
	records struct{ parts, arms int } // of each rank: the most of any, and one more
	threads int                       // threads of each block
}

// bytes returns the size of a rank's records.
func (x *exchange) bytes() int64 {
	return exchangeBytes + partBytes*int64(x.records.parts) + armBytes*int64(x.records.arms)
}

// newExchange returns nil if a program's messages are not small, or too many.
func (p *plan) newExchange() *exchange {
	wire, l := &wires[p.protocol], &p.reference.Layout
	bytes := l.ChunkElements * int64(l.ElemBytes)
	x := &exchange{threads: int((bytes + wire.data - 1) / wire.data * wire.lanes)}
	switch {
	case p.protocol == topologies.Simple: // its messages have no flags
		return nil
	case p.tiles != 1, bytes == 0, bytes%wire.word != 0, !l.Even(), x.threads > maxThreads:
		return nil
	case p.slots&(p.slots-1) != 0, !p.fewMessages():
		return nil
	}
	x.records.parts, x.records.arms = 1, 1
	order := inOrder(p.program)
	if order == nil {
		return nil
	}
	for rank := range order {
		parts, arms, ok := partsOf(&p.program.GPUs[rank], order[rank])
		if !ok {
			return nil
		}
		x.parts, x.arms = append(x.parts, parts), append(x.arms, arms)
		x.records.parts, x.records.arms = max(x.records.parts, len(parts)), max(x.records.arms, len(arms))
	}
	if x.records.parts > maxParts {
		return nil
	}
	return x
}

// fewMessages reports whether all steps are of one chunk and every rank has few
// messages. In a launch a connection may have no more of them than slots, so that
// all slots are free when it begins.
func (p *plan) fewMessages() bool {
	for _, g := range p.program.GPUs {
		arms := 0
		for _, tb := range g.Threadblocks {
			sent, received := messages(tb.Steps, ir.Op.Sends), messages(tb.Steps, ir.Op.Receives)
			if arms += sent + received; arms > maxArms || int64(max(sent, received)) > p.slots {
				return false
			}
			for i := range tb.Steps {
				if s := &tb.Steps[i]; s.Op != ir.Nop && s.Count != 1 {
					return false
				}
			}
		}
	}
	return true
}

// messages counts the steps of the given kind.
func messages(steps []ir.Step, kind func(ir.Op) bool) (n int) {
	for i := range steps {
		if kind(steps[i].Op) {
			n++
		}
	}
	return n
}

// exchanges encodes the records of a device's ranks.
func (p *plan) exchanges(device int, base []uint64) (all []byte) {
	x, at := p.exchange, base[device]
	if x == nil {
		return nil
	}
	result := 0
	for _, r := range p.devices[device].ranks {
		results := len(p.averages(at, r))
		all = append(all, encode(exchangeRecord{Rank: uint32(r), Results: uint32(result), ResultCount: uint32(results)})...)
		result += results
		parts, arms := make([]partRecord, x.records.parts), make([]armRecord, x.records.arms)
		for i, one := range x.parts[r] {
			parts[i] = partRecord{First: uint32(one.first), Does: one.does, Comes: uint32(one.comes), Goes: uint32(one.goes)}
			if one.does&partReads != 0 {
				parts[i].Src = p.chunk(at, r, one.src.Buf, int(one.src.Off)).Address
			}
			if one.does&partWrites != 0 {
				parts[i].Dst = p.chunk(at, r, one.dst.Buf, int(one.dst.Off)).Address
			}
			for k := one.first; k < one.first+one.comes+one.goes; k++ {
				arms[k] = p.arm(base, r, &x.arms[r][k], one.does&partApart != 0, k >= one.first+one.comes)
			}
		}
		all = append(append(all, encode(parts)...), encode(arms)...)
	}
	return all
}

// arm encodes a message that a rank sends or receives.
func (p *plan) arm(base []uint64, rank int, a *arm, apart, sends bool) armRecord {
	tb := &p.program.GPUs[rank].Threadblocks[a.threadblock]
	kind, key := ir.Op.Receives, connection{tb.Recv, rank, tb.Channel}
	record := armRecord{}
	if sends {
		kind, key = ir.Op.Sends, connection{rank, tb.Send, tb.Channel}
		record.Sends = 1
	}
	end := p.end(base, key)
	record.Slots, record.Head = end.Slots, end.Head
	record.Each, record.Before = uint16(messages(tb.Steps, kind)), uint16(messages(tb.Steps[:a.step], kind))
	if apart {
		record.Address = p.chunk(base[p.deviceOf[rank]], rank, a.loc.Buf, int(a.loc.Off)).Address
	}
	return record
}

// waits translates an exchange's status to the threadblock and step that wait, and the rank
// that they wait for.
func (p *plan) waits(s statusRecord) statusRecord {
	a := &p.exchange.arms[s.Rank][s.Step]
	tb := &p.program.GPUs[s.Rank].Threadblocks[a.threadblock]
	s.Threadblock, s.Step, s.Peer = uint32(a.threadblock), uint32(a.step), int32(tb.Recv)
	if s.Waiting == waitsForSlot {
		s.Peer = int32(tb.Send)
	}
	return s
}
