package cuda

import "github.com/colltune/colltune/compiler/ir"

// stepAt identifies a step of a rank.
type stepAt struct{ threadblock, step int }

// turns are the kinds of steps by priority. Sends come before receives, because others wait
// for them, and a rank that waits for a message can do nothing else meanwhile.
var turns = []func(ir.Op) bool{
	func(o ir.Op) bool { return o.Sends() && !o.Receives() },
	func(o ir.Op) bool { return !o.Sends() && !o.Receives() },
	ir.Op.Receives,
}

// inOrder puts all steps of each rank in one order. A step comes after the one before it in
// its threadblock, its dependencies, and the send of the message it receives. Ranks that
// run in this order never wait for each other in a cycle, provided that sends do not wait.
// It returns nil if there is no such order.
func inOrder(p *ir.Program) [][]stepAt {
	s := sequence{
		program: p, order: make([][]stepAt, len(p.GPUs)), next: make([][]int, len(p.GPUs)),
		sent: map[connection]int{}, received: map[connection]int{},
	}
	left := 0
	for r := range p.GPUs {
		s.next[r] = make([]int, len(p.GPUs[r].Threadblocks))
		for tb := range p.GPUs[r].Threadblocks {
			left += len(p.GPUs[r].Threadblocks[tb].Steps)
		}
	}
	for left > 0 {
		now := s.allReady()
		if len(now) == 0 {
			return nil
		}
		for _, at := range now {
			s.take(at)
		}
		left -= len(now)
	}
	return s.order
}

// sequence is such an order under construction.
type sequence struct {
	program        *ir.Program
	order          [][]stepAt
	next           [][]int // by rank and threadblock: the first step that is not in the order
	sent, received map[connection]int
}

type blockAt struct{ rank, threadblock int }

// allReady lists the threadblocks whose next step is ready: those of the first kind in
// turns that has any. They are found before one is taken, so that steps that become ready
// wait for the next round.
func (s *sequence) allReady() (now []blockAt) {
	for _, kind := range turns {
		for r := range s.program.GPUs {
			for id := range s.program.GPUs[r].Threadblocks {
				if at := (blockAt{r, id}); s.ready(at, kind) {
					now = append(now, at)
				}
			}
		}
		if len(now) > 0 {
			break
		}
	}
	return now
}

// ready reports whether a threadblock's next step is of a kind, and all that it waits for
// is in the order.
func (s *sequence) ready(at blockAt, kind func(ir.Op) bool) bool {
	tb, next := &s.program.GPUs[at.rank].Threadblocks[at.threadblock], s.next[at.rank]
	if next[at.threadblock] == len(tb.Steps) || !kind(tb.Steps[next[at.threadblock]].Op) {
		return false
	}
	step := &tb.Steps[next[at.threadblock]]
	for _, d := range step.Deps {
		if next[d.TB] <= int(d.Step) {
			return false
		}
	}
	from := connection{tb.Recv, at.rank, tb.Channel}
	return !step.Op.Receives() || s.sent[from] > s.received[from]
}

// take puts a threadblock's next step into the order.
func (s *sequence) take(at blockAt) {
	tb, step := &s.program.GPUs[at.rank].Threadblocks[at.threadblock], s.next[at.rank][at.threadblock]
	if tb.Steps[step].Op.Sends() {
		s.sent[connection{at.rank, tb.Send, tb.Channel}]++
	}
	if tb.Steps[step].Op.Receives() {
		s.received[connection{tb.Recv, at.rank, tb.Channel}]++
	}
	s.order[at.rank] = append(s.order[at.rank], stepAt{at.threadblock, step})
	s.next[at.rank][at.threadblock]++
}
