package cpu

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/colltune/colltune/executor/cpu/mpi"
)

// crew is the processes of a launch, seen from one of them. Process 0 leads: it
// serves the host, tells the others what to run, and gathers what came of it.
// The program's ranks are divided among them in order.
//
//	leader                            follower
//	  trial: program, topology, knobs ──▶
//	  ◀── report: ready, or why not
//	  go 0 ──▶                            both run iteration 0
//	  ◀── report: time, wrong elements
//	  go 1 ──▶                            …
//	  over ──▶
//
// All of it, and the messages between connections, goes through one goroutine a
// process, which makes all calls of MPI and never waits in one.
type crew struct {
	world   *mpi.World
	last    documents
	control []*queue // from the leader; in the leader, from every follower
	sending queue
	inbox   []note // arrived, in order
	between *transport
	idle    int // how many polls in a row found nothing
}

// note is one of the messages by which the crew is led.
type note struct {
	kind noteKind
	from int
	at   int64 // iteration
	// report: nanoseconds and wrong elements; status: progress, messages sent
	// and received; trial: see assign.
	a, b, c, d, e, f int64
	text             []byte
}

type noteKind int64

const (
	noteTrial noteKind = iota + 1
	noteGo
	noteOver  // the trial is over: wait for the next
	noteStop  // the host has given up: stop, and finish what is under way
	noteStuck // stop where you are, and say where that is
	noteQuit
	noteReport
	noteStatus
)

// What a trial's note carries in place of an iteration: the documents that come
// before its knobs, if the followers do not have them yet.
const (
	atProgram  = -1
	atTopology = -2
)

// atPlaces is, in place of an iteration, that a report says where a process stands
// in a deadlock.
const atPlaces = -2

const (
	tagNote = 1
	tagText = 2
	tagData = 16 // a connection's data; its credits have the next tag
	mostTag = 1<<15 - 1
	// noteBytes is the size of a note without its text.
	noteBytes = 80
)

func (n *note) encode() []byte {
	b := make([]byte, noteBytes)
	for i, v := range [...]int64{int64(n.kind), n.at, n.a, n.b, n.c, n.d, n.e, n.f, int64(len(n.text))} {
		binary.LittleEndian.PutUint64(b[i*8:], uint64(v))
	}
	return b
}

func decodeNote(b []byte) (n note, text int) {
	v := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[i*8:])) }
	return note{kind: noteKind(v(0)), at: v(1), a: v(2), b: v(3), c: v(4), d: v(5), e: v(6), f: v(7)}, int(v(8))
}

// newCrew joins the launch.
func newCrew() (*crew, error) {
	w, err := mpi.Join()
	if err != nil {
		return nil, err
	}
	c := &crew{world: w, sending: queue{world: w}}
	from := []int{0}
	if w.Rank == 0 {
		from = nil
		for p := 1; p < w.Size; p++ {
			from = append(from, p)
		}
	}
	for _, p := range from {
		q := &queue{world: w}
		c.control = append(c.control, q)
		if err := c.expect(q, p); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// expect receives the next note from a process, and again whenever one has come.
func (c *crew) expect(q *queue, from int) error {
	b := make([]byte, noteBytes)
	return q.receive(b, from, tagNote, func() error {
		n, length := decodeNote(b)
		n.from = from
		if length == 0 {
			c.inbox = append(c.inbox, n)
			return c.expect(q, from)
		}
		n.text = make([]byte, length)
		return q.receive(n.text, from, tagText, func() error {
			c.inbox = append(c.inbox, n)
			return c.expect(q, from)
		})
	})
}

// send sends a note.
func (c *crew) send(to int, n note) error {
	if err := c.sending.send(n.encode(), to, tagNote, nil); err != nil {
		return err
	}
	if len(n.text) > 0 {
		return c.sending.send(n.text, to, tagText, nil)
	}
	return nil
}

// tell sends a note to all followers.
func (c *crew) tell(n note) error {
	for p := 1; p < c.world.Size; p++ {
		if err := c.send(p, n); err != nil {
			return err
		}
	}
	return nil
}

// poll makes progress wherever it can be made.
func (c *crew) poll() error {
	moved := false
	for _, q := range c.control {
		m, err := q.poll()
		if err != nil {
			return err
		}
		moved = moved || m
	}
	m, err := c.sending.poll()
	if err != nil {
		return err
	}
	moved = moved || m
	if c.between != nil {
		m, err := c.between.poll()
		if err != nil {
			return err
		}
		moved = moved || m
	}
	if moved {
		c.idle = 0
	}
	return nil
}

// rest yields the processor, the longer the longer nothing has come.
func (c *crew) rest() {
	c.idle++
	switch {
	case c.idle < 100:
		runtime.Gosched()
	case c.idle < 2000:
		time.Sleep(20 * time.Microsecond)
	default:
		time.Sleep(time.Millisecond)
	}
}

// next removes the oldest note from the inbox.
func (c *crew) next() (note, bool) {
	if len(c.inbox) == 0 {
		return note{}, false
	}
	n := c.inbox[0]
	c.inbox = c.inbox[1:]
	return n, true
}

// await waits for the next note.
func (c *crew) await() (note, error) {
	for {
		if err := c.poll(); err != nil {
			return note{}, err
		}
		if n, ok := c.next(); ok {
			return n, nil
		}
		c.rest()
	}
}

// meanwhile runs f while everything else goes on.
func (c *crew) meanwhile(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	for {
		select {
		case <-done:
			return nil
		default:
		}
		if err := c.poll(); err != nil {
			return err
		}
		c.rest()
	}
}

// owner is the process in which a rank of the program lives.
func (c *crew) owner(rank, ranks int) int { return rank * c.world.Size / ranks }

// queue holds messages under way that end in the order in which they began.
type queue struct {
	world   *mpi.World
	waiting []underway
	ended   int64
}

type underway struct {
	request *mpi.Request
	then    func() error
}

func (q *queue) send(b []byte, to, tag int, then func() error) error {
	r, err := q.world.Send(b, to, tag)
	if err != nil {
		return fmt.Errorf("to process %d: %w", to, err)
	}
	q.waiting = append(q.waiting, underway{r, then})
	return nil
}

func (q *queue) receive(b []byte, from, tag int, then func() error) error {
	r, err := q.world.Receive(b, from, tag)
	if err != nil {
		return fmt.Errorf("from process %d: %w", from, err)
	}
	q.waiting = append(q.waiting, underway{r, then})
	return nil
}

// poll removes the messages that have ended, and acts on them.
func (q *queue) poll() (moved bool, err error) {
	for len(q.waiting) > 0 {
		m := q.waiting[0]
		done, err := q.world.Done(m.request)
		if err != nil || !done {
			return moved, err
		}
		moved = true
		q.ended++
		q.waiting = q.waiting[1:]
		if m.then != nil {
			if err := m.then(); err != nil {
				return moved, err
			}
		}
	}
	return moved, nil
}

// cancel cancels the receives for which nothing was sent.
func (q *queue) cancel() error {
	for _, m := range q.waiting {
		if err := q.world.Cancel(m.request); err != nil {
			return err
		}
	}
	q.waiting = nil
	return nil
}
