package cuda

import "github.com/colltune/colltune/compiler/ir"

// stepAt names a step of a rank.
type stepAt struct{ threadblock, step int }

// turns says which kind of step goes first where several could. Sends come before
// receives, because others wait for them, and a rank that waits for a message can
// do nothing else meanwhile.
var turns = []func(ir.Op) bool{
	func(o ir.Op) bool { return o.Sends() && !o.Receives() },
	func(o ir.Op) bool { return !o.Sends() && !o.Receives() },
	ir.Op.Receives,
}

// inOrder puts all steps of each rank in one order. Each comes after all that it
// waits for: the step before it in its threadblock, those that it depends on, and
// the sending of what it receives. Ranks that follow it never wait for each other
// in a circle, provided that sending waits for nobody. It is nil if there is no
// such order.
func inOrder(p *ir.Program) [][]stepAt {
	order, next := make([][]stepAt, len(p.GPUs)), make([][]int, len(p.GPUs))
	left := 0
	for r := range p.GPUs {
		next[r] = make([]int, len(p.GPUs[r].Threadblocks))
		for tb := range p.GPUs[r].Threadblocks {
			left += len(p.GPUs[r].Threadblocks[tb].Steps)
		}
	}
	sent, received := map[connection]int{}, map[connection]int{}
	ready := func(r, id int, kind func(ir.Op) bool) bool {
		tb := &p.GPUs[r].Threadblocks[id]
		if next[r][id] == len(tb.Steps) || !kind(tb.Steps[next[r][id]].Op) {
			return false
		}
		s := &tb.Steps[next[r][id]]
		for _, d := range s.Deps {
			if next[r][d.TB] <= int(d.Step) {
				return false
			}
		}
		from := connection{tb.Recv, r, tb.Channel}
		return !s.Op.Receives() || sent[from] > received[from]
	}
	type place struct{ rank, threadblock int }
	for left > 0 {
		var now []place // collected first: what one of them lets go on is for a later round
		for _, kind := range turns {
			for r := range p.GPUs {
				for id := range p.GPUs[r].Threadblocks {
					if ready(r, id, kind) {
						now = append(now, place{r, id})
					}
				}
			}
			if len(now) > 0 {
				break
			}
		}
		if len(now) == 0 {
			return nil
		}
		for _, at := range now {
			tb, step := &p.GPUs[at.rank].Threadblocks[at.threadblock], next[at.rank][at.threadblock]
			if tb.Steps[step].Op.Sends() {
				sent[connection{at.rank, tb.Send, tb.Channel}]++
			}
			if tb.Steps[step].Op.Receives() {
				received[connection{tb.Recv, at.rank, tb.Channel}]++
			}
			order[at.rank] = append(order[at.rank], stepAt{at.threadblock, step})
			next[at.rank][at.threadblock]++
			left--
		}
	}
	return order
}
