package mscclpp

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// landing is the place of each message: the receiving step's own destination,
// or a place in scratch from which that step takes it. Under LL messages are
// packets and always land in scratch.
//
//	scratch under Simple   the program's own | slots
//	scratch under LL       packets, of two chunks each | the program's own | sums that are not stored
type landing struct {
	spot      []span // by message; for packets in units of packets
	direct    []bool // by message: it lands at its final place
	assembled []span // by step: where it assembles packets for a port
	sums      []span // by threadblock: room for a sum that the program does not store
	own       []int  // by GPU: where the program's own scratch begins
	scratch   []int  // by GPU: chunks of scratch in total
}

// wholeHalf is a number of scratch chunks that makes a whole number of packets,
// data and flags, whatever the size of a chunk.
const wholeHalf = 8

// slot is a run of scratch chunks, with the last step that reads it.
type slot struct {
	at   span
	read int
}

// land places the messages of protocol Simple.
func (g *graph) land(all accesses) *landing {
	l := &landing{spot: make([]span, len(g.msgs)), direct: make([]bool, len(g.msgs)),
		own: make([]int, len(g.p.GPUs)), scratch: make([]int, len(g.p.GPUs))}
	for r := range g.p.GPUs {
		l.scratch[r] = g.scratch(all, r)
	}
	slots := make([][]slot, len(g.p.GPUs))
	for _, s := range g.order { // in order, so that later messages can reuse slots
		for _, m := range g.sent[s] {
			l.place(g, all, slots, m)
		}
	}
	return l
}

func (l *landing) place(g *graph, all accesses, slots [][]slot, m int) {
	msg := &g.msgs[m]
	r, s := g.owner[g.tb[msg.recv]], msg.send
	if at, ok := g.wanted(m); ok && g.free(all, at, s, msg.recv) {
		l.spot[m], l.direct[m] = at, true
		return
	}
	read := msg.recv
	for _, next := range g.sent[read] {
		if g.port(next) {
			read = none // a port may read it at any later time
		}
	}
	if i := g.reusable(slots[r], msg.count, s); i >= 0 {
		l.spot[m], slots[r][i].read = slots[r][i].at, read
		return
	}
	l.spot[m] = span{r, collective.Scratch, l.scratch[r], msg.count}
	l.scratch[r] += msg.count
	slots[r] = append(slots[r], slot{l.spot[m], read})
}

// wanted returns the place where the program stores a message. It reports false
// if the message is first added to something.
func (g *graph) wanted(m int) (span, bool) {
	s := g.msgs[m].recv
	if x := g.sums[s]; x != nil {
		for _, t := range x.terms {
			if t.message == m && t.at != x.dst {
				return g.at(s, t.at), true
			}
		}
		return span{}, false
	}
	return g.at(s, g.steps[s].Dst), !g.steps[s].Op.Reduces()
}

// scratch returns the number of chunks of a GPU's scratch the program itself uses.
func (g *graph) scratch(all accesses, r int) int {
	n := len(all[r][collective.Scratch])
	for n > 0 && len(all[r][collective.Scratch][n-1]) == 0 {
		n--
	}
	return n
}

// reusable returns a slot of the given size that is not read any more when step
// s begins, or -1.
func (g *graph) reusable(slots []slot, size, s int) int {
	for i := range slots {
		if slots[i].at.size == size && slots[i].read != none && g.before(slots[i].read, s) {
			return i
		}
	}
	return -1
}

// landPackets places messages that are packets. Each gets a place of its own: a
// packet's flag identifies only its launch, so a packet in another's place would
// be mistaken for it.
func (g *graph) landPackets(all accesses) *landing {
	l := &landing{spot: make([]span, len(g.msgs)), direct: make([]bool, len(g.msgs)), assembled: make([]span, len(g.steps)),
		sums: make([]span, len(g.owner)), own: make([]int, len(g.p.GPUs)), scratch: make([]int, len(g.p.GPUs))}
	take := func(r, size int) span {
		l.scratch[r] += size
		return span{r, collective.Scratch, l.scratch[r] - size, size}
	}
	for m := range g.msgs {
		msg := &g.msgs[m]
		l.spot[m] = take(g.owner[g.tb[msg.recv]], msg.count)
		if op := g.steps[msg.send].Op; g.port(m) && op != ir.RecvCopySend {
			l.assembled[msg.send] = take(g.owner[g.tb[msg.send]], msg.count)
		}
	}
	for r := range g.p.GPUs {
		l.own[r] = 2 * l.scratch[r]
		plain := g.scratch(all, r)
		for t := g.first[r]; t < g.first[r+1]; t++ {
			size := 0
			for s := g.base[t]; s < g.base[t+1]; s++ {
				if g.steps[s].Op == ir.RecvReduceSend {
					size = max(size, int(g.steps[s].Count))
				}
			}
			l.sums[t] = span{r, collective.Scratch, l.own[r] + plain, size}
			plain += size
		}
		l.scratch[r] += (plain + 1) / 2
	}
	// A rank computes where another's second half of scratch begins from the size
	// of its own, and packets need alignment to 16 bytes. So all ranks get the
	// same even number of chunks, a multiple for which both halves are aligned
	// whatever the size of a chunk.
	most := (slices.Max(l.scratch) + wholeHalf - 1) / wholeHalf * wholeHalf
	for r := range l.scratch {
		l.scratch[r] = most
	}
	return l
}
