package cpu

import (
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/topologies"
)

// transport carries connections between processes. Both ends of a connection have slots of
// their own, and a call is sent as one message from slot to slot, flags included:
//
//	threadblock ─▶ slots ══ message ══▶ slots ─▶ threadblock
//	            ◀─ head  ◀─── credit ── head  ◀─
//
// A sender may fill as many slots ahead as within a process: its head moves when the
// receiver's has (a credit), and when the message has left.
type transport struct {
	out            []*outgoing
	in             []*incoming
	sent, received int64 // messages: the leader compares the sums
}

type outgoing struct {
	*connection
	to, tag  int
	total    uint64 // calls of the whole trial
	shipped  uint64
	left     uint64 // messages that have left
	credited uint64
	freed    uint64 // calls freed at its head
	messages queue
	credits  queue
}

type incoming struct {
	*connection
	from, tag int
	total     uint64
	arrived   uint64
	credited  uint64
	messages  queue
	credits   queue
}

// unit returns by how much a call advances a counter.
func (c *connection) unit() uint64 {
	if c.proto == topologies.Simple {
		return sliceCount
	}
	return 1
}

// place returns a call's slot as bytes.
func (c *connection) place(call uint64) []byte {
	if c.proto == topologies.Simple {
		return c.slotBytes(call)
	}
	words := c.slot(call)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}

// transport sets up a run's connections between the processes.
func (g *group) transport(r *run) (*transport, error) {
	t := &transport{}
	tags := map[[2]int]int{}
	ranks := r.plan.program.Ranks()
	for i, l := range r.plan.links {
		from, to := g.owner(l.from, ranks), g.owner(l.to, ranks)
		if from == to {
			continue
		}
		tag := tagData + 2*tags[[2]int{from, to}]
		tags[[2]int{from, to}]++
		if tag+1 > mostTag {
			return t, refuse("more than %d connections from process %d to process %d", (mostTag-tagData)/2, from, to)
		}
		conn := r.connections[i]
		total := r.calls(l) * uint64(r.iterations)
		switch g.world.Rank {
		case from:
			conn.lengths = make([]int, conn.slots)
			o := &outgoing{connection: conn, to: to, tag: tag, total: total}
			o.messages.world, o.credits.world = g.world, g.world
			t.out = append(t.out, o)
			if err := t.expectCredit(o); err != nil {
				return t, err
			}
		case to:
			in := &incoming{connection: conn, from: from, tag: tag, total: total}
			in.messages.world, in.credits.world = g.world, g.world
			t.in = append(t.in, in)
			for call := range min(conn.slots, total) {
				if err := t.expect(in, call); err != nil {
					return t, err
				}
			}
		}
	}
	return t, nil
}

// expect begins to receive a call into its slot, which must be free.
func (t *transport) expect(in *incoming, call uint64) error {
	return in.messages.receive(in.place(call), in.from, in.tag, func() error {
		t.received++
		in.arrived++
		in.tail.post(in.arrived * in.unit())
		return nil
	})
}

// expectCredit begins to receive the next credit. The last calls need none.
func (t *transport) expectCredit(o *outgoing) error {
	if o.credited+o.slots >= o.total {
		return nil
	}
	return o.credits.receive(nil, o.to, o.tag+1, func() error {
		t.received++
		o.credited++
		return t.expectCredit(o)
	})
}

func (t *transport) poll() (moved bool, err error) {
	for _, o := range t.out {
		m, err := t.pollOut(o)
		if err != nil {
			return moved, fmt.Errorf("connection from rank %d to rank %d on channel %d: %w", o.connection.from, o.connection.to, o.channel, err)
		}
		moved = moved || m
	}
	for _, in := range t.in {
		m, err := t.pollIn(in)
		if err != nil {
			return moved, fmt.Errorf("connection from rank %d to rank %d on channel %d: %w", in.connection.from, in.connection.to, in.channel, err)
		}
		moved = moved || m
	}
	return moved, nil
}

func (t *transport) pollOut(o *outgoing) (moved bool, err error) {
	for made := o.tail.value.Load() / o.unit(); o.shipped < made; o.shipped++ {
		b := o.place(o.shipped)[:o.lengths[o.shipped%o.slots]]
		t.sent++
		moved = true
		if err := o.messages.send(b, o.to, o.tag, func() error { o.left++; return nil }); err != nil {
			return moved, err
		}
	}
	for _, q := range [...]*queue{&o.messages, &o.credits} {
		m, err := q.poll()
		if err != nil {
			return moved, err
		}
		moved = moved || m
	}
	if free := min(o.left, o.credited); free > o.freed {
		o.freed = free
		o.head.post(free * o.unit())
	}
	return moved, nil
}

func (t *transport) pollIn(in *incoming) (moved bool, err error) {
	for taken := in.head.value.Load() / in.unit(); in.credited < taken; in.credited++ {
		if in.credited+in.slots >= in.total {
			continue
		}
		moved = true
		if err := t.expect(in, in.credited+in.slots); err != nil {
			return moved, err
		}
		t.sent++
		if err := in.credits.send(nil, in.from, in.tag+1, nil); err != nil {
			return moved, err
		}
	}
	for _, q := range [...]*queue{&in.messages, &in.credits} {
		m, err := q.poll()
		if err != nil {
			return moved, err
		}
		moved = moved || m
	}
	return moved, nil
}

// still reports whether this process has nothing to send.
func (t *transport) still() bool {
	for _, o := range t.out {
		if len(o.messages.waiting) > 0 || o.tail.value.Load()/o.unit() > o.shipped {
			return false
		}
	}
	for _, in := range t.in {
		if len(in.credits.waiting) > 0 || in.head.value.Load()/in.unit() > in.credited {
			return false
		}
	}
	return true
}

// empty reports whether all messages of the trial have been sent and have arrived.
func (t *transport) empty() bool {
	for _, o := range t.out {
		if len(o.messages.waiting)+len(o.credits.waiting) > 0 || o.shipped < o.total {
			return false
		}
	}
	for _, in := range t.in {
		if len(in.messages.waiting)+len(in.credits.waiting) > 0 || in.arrived < in.total {
			return false
		}
	}
	return true
}

// cancel cancels all pending receives.
func (t *transport) cancel() error {
	for _, o := range t.out {
		if err := o.credits.cancel(); err != nil {
			return err
		}
	}
	for _, in := range t.in {
		if err := in.messages.cancel(); err != nil {
			return err
		}
	}
	return nil
}
