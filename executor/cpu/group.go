package cpu

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/colltune/colltune/executor/cpu/mpi"
)

// group is the processes of a launch, seen from one of them. Process 0 leads: it serves
// the host, tells the others what to run, and gathers their reports. The program's ranks
// are divided among them in order.
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
type group struct {
	world   *mpi.World
	last    documents
	control []*queue // from the leader; in the leader, from every follower
	sending queue
	inbox   []note // arrived, in order
	between *transport
	idle    int // how many polls in a row found nothing
}

// note is a message between the leader and a follower.
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
	noteStop  // the host has given up: stop, and finish the messages under way
	noteStuck // a deadlock: stop, and report where
	noteQuit
	noteReport
	noteStatus
)

// The iteration of a noteTrial that carries a document; they come before the knobs, if the
// followers do not have them yet.
const (
	atProgram  = -1
	atTopology = -2
)

// atPlaces is the iteration of a report on where a process stands in a deadlock.
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

// newGroup joins the launch.
func newGroup() (*group, error) {
	w, err := mpi.Join()
	if err != nil {
		return nil, err
	}
	g := &group{world: w, sending: queue{world: w}}
	from := []int{0}
	if w.Rank == 0 {
		from = nil
		for p := 1; p < w.Size; p++ {
			from = append(from, p)
		}
	}
	for _, p := range from {
		q := &queue{world: w}
		g.control = append(g.control, q)
		if err := g.expect(q, p); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// expect receives the next note from a process, and again whenever one has come.
func (g *group) expect(q *queue, from int) error {
	b := make([]byte, noteBytes)
	return q.receive(b, from, tagNote, func() error {
		n, length := decodeNote(b)
		n.from = from
		if length == 0 {
			g.inbox = append(g.inbox, n)
			return g.expect(q, from)
		}
		n.text = make([]byte, length)
		return q.receive(n.text, from, tagText, func() error {
			g.inbox = append(g.inbox, n)
			return g.expect(q, from)
		})
	})
}

// send sends a note.
func (g *group) send(to int, n note) error {
	if err := g.sending.send(n.encode(), to, tagNote, nil); err != nil {
		return err
	}
	if len(n.text) > 0 {
		return g.sending.send(n.text, to, tagText, nil)
	}
	return nil
}

// tell sends a note to all followers.
func (g *group) tell(n note) error {
	for p := 1; p < g.world.Size; p++ {
		if err := g.send(p, n); err != nil {
			return err
		}
	}
	return nil
}

// poll makes progress on all messages, without waiting.
func (g *group) poll() error {
	moved := false
	for _, q := range g.control {
		m, err := q.poll()
		if err != nil {
			return err
		}
		moved = moved || m
	}
	m, err := g.sending.poll()
	if err != nil {
		return err
	}
	moved = moved || m
	if g.between != nil {
		m, err := g.between.poll()
		if err != nil {
			return err
		}
		moved = moved || m
	}
	if moved {
		g.idle = 0
	}
	return nil
}

// rest yields the processor, the longer the more polls in a row found nothing.
func (g *group) rest() {
	g.idle++
	switch {
	case g.idle < 100:
		runtime.Gosched()
	case g.idle < 2000:
		time.Sleep(20 * time.Microsecond)
	default:
		time.Sleep(time.Millisecond)
	}
}

// next removes the oldest note from the inbox.
func (g *group) next() (note, bool) {
	if len(g.inbox) == 0 {
		return note{}, false
	}
	n := g.inbox[0]
	g.inbox = g.inbox[1:]
	return n, true
}

// await waits for the next note.
func (g *group) await() (note, error) {
	for {
		if err := g.poll(); err != nil {
			return note{}, err
		}
		if n, ok := g.next(); ok {
			return n, nil
		}
		g.rest()
	}
}

// meanwhile runs f while messages make progress.
func (g *group) meanwhile(f func()) error {
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
		if err := g.poll(); err != nil {
			return err
		}
		g.rest()
	}
}

// owner returns the process that runs a rank.
func (g *group) owner(rank, ranks int) int { return rank * g.world.Size / ranks }

// queue holds messages under way. It completes them in the order in which they began.
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

// poll removes the messages that have ended, calls their functions, and reports whether
// there were any.
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
