package mscclpp

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// sum is a single operation of a plan that replaces several steps of a program:
// several messages, and chunks of the GPU's own, are added to one place, and
// the result is sent.
//
//	tb 0: r   sc[0]                                            wait   0, 1
//	tb 1: r   sc[1]                                            nop
//	tb 2: re  sc[0] ⊕ in[0]  waits for tb 0 and tb 1           res    in[0] ⊕ sc[0] ⊕ sc[1] → in[0], gpu 1 in[0]
//	      re  sc[1] ⊕ in[0]                              ──▶   nop
//	      s   in[0]                                            signal 2
//
// The sum takes the place of the first reduction; the other steps become idle.
type sum struct {
	base  ir.Loc // the place that is added to
	terms []term // what is added, in order
	dst   ir.Loc
}

// term is a chunk of the GPU's own or a message. A message may land where the
// program would have copied it.
type term struct {
	at      ir.Loc
	message int // none for a chunk of the GPU's own
}

// Limits on a sum, from the number of places and channels of an operation.
const (
	maxTerms      = MaxOpPlaces - 1 // beside what they are added to
	maxSumTargets = MaxOpChannels   // beside where the sum is stored
)

type sumFinder struct {
	g      *graph
	all    accesses
	ll     bool
	taken  []int            // by threadblock: number of messages of other threadblocks that its sums take
	most   int              // limit on taken
	places []int            // by step: its position in the graph's order
	lanes  map[[2]int][]int // by sending and receiving threadblock: the messages between them
}

// summed replaces the runs of reductions of a graph by sums, and reports
// whether there are any. The sums of a threadblock take at most most messages
// that other threadblocks were to receive. The waits of idle steps are dropped;
// computeClocks finds the necessary waits again.
//
// Under LL the sum is sent to everyone who wants it at once. Under Simple it is
// sent only to the peer that the same threadblock sends it to next; messages are
// larger there, and it is better if the other threadblocks send theirs in
// parallel.
func (g *graph) summed(all accesses, ll bool, most int) bool {
	w := &sumFinder{g: g, all: all, ll: ll, most: most, taken: make([]int, len(g.owner)), places: make([]int, len(g.steps))}
	for i, s := range g.order {
		w.places[s] = i
	}
	w.lanes = map[[2]int][]int{}
	for m, msg := range g.msgs {
		key := [2]int{g.tb[msg.send], g.tb[msg.recv]}
		w.lanes[key] = append(w.lanes[key], m)
	}
	for t := range g.owner {
		for s := g.base[t]; s < g.base[t+1]; {
			s += w.run(s)
		}
	}
	if len(g.sums) == 0 {
		return false
	}
	for s := range g.deps {
		g.deps[s] = slices.DeleteFunc(g.deps[s], func(d int) bool { return g.idle[d] })
	}
	return true
}

// run makes a sum of the reductions that begin with step s, and returns the
// number of steps it has examined.
func (w *sumFinder) run(s int) int {
	g := w.g
	if g.steps[s].Op != ir.Reduce || g.at(s, g.steps[s].Src).overlaps(g.at(s, g.steps[s].Dst)) {
		return 1
	}
	end := s + 1
	for end < g.base[g.tb[s]+1] && end-s < maxTerms && w.joinsRun(s, end) {
		end++
	}
	x := &sum{base: g.steps[s].Dst, dst: g.steps[s].Dst}
	for i := s; i < end; i++ {
		x.terms = append(x.terms, term{g.steps[i].Src, none})
	}
	var idle []int
	for i := range x.terms {
		if r := w.receiveOf(s, s+i); r != none {
			x.terms[i].message = g.got[r][0]
			idle = append(idle, r)
			w.take(s, r)
		}
	}
	if r := w.producer(s); r != none && len(x.terms) < maxTerms {
		x.base = g.steps[r].Src
		for _, m := range g.got[r] {
			x.terms = slices.Insert(x.terms, 0, term{x.dst, m})
		}
		idle = append(idle, r)
		w.take(s, r)
	}
	if len(x.terms) == 1 && len(idle) == 0 {
		return 1
	}
	for i := s + 1; i < end; i++ {
		idle = append(idle, i)
	}
	g.got[s] = nil
	packets := false
	for _, t := range x.terms {
		if t.message != none {
			packets = true
			g.got[s] = append(g.got[s], t.message)
		}
	}
	for _, out := range w.sends(s, end) {
		if len(g.sent[s]) < maxSumTargets && (packets || !w.ll) {
			m := g.sent[out][0]
			g.sent[s] = append(slices.Clip(g.sent[s]), m)
			g.msgs[m].send = s
			idle = append(idle, out)
		}
	}
	for _, i := range idle {
		g.idle[i], g.deps[i], g.got[i], g.sent[i] = true, nil, nil, nil
	}
	if g.sums == nil {
		g.sums = map[int]*sum{}
	}
	g.sums[s] = x
	return end - s
}

// joinsRun reports whether reduction i can join the run that s begins: it adds to
// the same place and waits for nothing that comes after s.
func (w *sumFinder) joinsRun(s, i int) bool {
	a, b := w.g.steps[s], w.g.steps[i]
	return b.Op == ir.Reduce && a.Dst == b.Dst && a.Count == b.Count && !w.g.at(i, b.Src).overlaps(w.g.at(i, b.Dst)) && w.waitsEndBefore(s, i)
}

// waitsEndBefore reports whether all dependencies of step i come before step s.
func (w *sumFinder) waitsEndBefore(s, i int) bool {
	return !slices.ContainsFunc(w.g.deps[i], func(d int) bool { return w.places[d] >= w.places[s] })
}

// take moves the messages that step r receives to the sum that s begins.
func (w *sumFinder) take(s, r int) {
	g := w.g
	for _, m := range g.got[r] {
		if g.tb[r] != g.tb[s] {
			w.taken[g.tb[s]]++
			key := [2]int{g.tb[g.msgs[m].send], g.tb[s]}
			w.lanes[key] = append(w.lanes[key], m)
		}
		g.msgs[m].recv = s
	}
}

// inTurn reports whether step s may receive the messages of step r instead. Signals
// between two threadblocks are only counted, so their messages must be received in
// the order in which they are sent.
func (w *sumFinder) inTurn(s, r int) bool {
	g := w.g
	if w.ll {
		return true
	}
	for _, m := range g.got[r] {
		for _, n := range w.lanes[[2]int{g.tb[g.msgs[m].send], g.tb[s]}] {
			if a, b := &g.msgs[m], &g.msgs[n]; m != n && g.tb[b.recv] == g.tb[s] && b.recv != s && (a.send < b.send) != (s < b.recv) {
				return false
			}
		}
	}
	return true
}

// lastWriter returns the last step before i that wrote a place, if i is the
// first to use the place since then and the run that lead begins may take over
// that step's work; otherwise none.
func (w *sumFinder) lastWriter(lead, i int, at span, op ...ir.Op) int {
	g := w.g
	by := none
	for c := at.index; c < at.index+at.size; c++ {
		list := w.all[at.rank][at.buffer][c]
		first := slices.IndexFunc(list, func(a access) bool { return a.step == i })
		if first < 1 || !list[first-1].writes || by != none && by != list[first-1].step {
			return none
		}
		by = list[first-1].step
	}
	r := g.steps[by]
	if g.idle[by] || !slices.Contains(op, r.Op) || !w.inTurn(lead, by) || g.at(by, r.Dst) != at || w.places[by] >= w.places[lead] || w.taken[g.tb[lead]] >= w.most {
		return none
	}
	return by
}

// receiveOf returns the step that receives the message that reduction i of the
// run of s adds, if no other step uses that message; otherwise none.
func (w *sumFinder) receiveOf(s, i int) int {
	g := w.g
	at := g.at(i, g.steps[i].Src)
	if at.buffer != collective.Scratch {
		return none
	}
	r := w.lastWriter(s, i, at, ir.Recv)
	if r == none {
		return none
	}
	for c := at.index; c < at.index+at.size; c++ {
		list := w.all[at.rank][at.buffer][c]
		next := slices.IndexFunc(list, func(a access) bool { return a.step == i }) + 1
		if next < len(list) && !list[next].writes {
			return none
		}
	}
	return r
}

// producer returns the step that produces the operand that the run of s is
// added to, if the sum can include that step: a copy, or a message added to a
// place that is unchanged until then. Otherwise it returns none.
func (w *sumFinder) producer(s int) int {
	g := w.g
	r := w.lastWriter(s, s, g.at(s, g.steps[s].Dst), ir.RecvReduceCopy, ir.Copy)
	if r == none || !w.waitsEndBefore(s, r) {
		return none
	}
	from := g.at(r, g.steps[r].Src)
	if from == g.at(r, g.steps[r].Dst) {
		return r
	}
	if from.overlaps(g.at(r, g.steps[r].Dst)) {
		return none
	}
	for c := from.index; c < from.index+from.size; c++ {
		for _, a := range w.all[from.rank][from.buffer][c] {
			if a.writes && w.places[a.step] > w.places[r] && w.places[a.step] <= w.places[s] {
				return none
			}
		}
	}
	return r
}

// sends returns the steps that send the result of the run from s to end and
// that the sum can include: they send to memory, and the place is not
// overwritten before they do.
func (w *sumFinder) sends(s, end int) (outs []int) {
	g := w.g
	at := g.at(s, g.steps[s].Dst)
	for _, a := range w.all[at.rank][at.buffer][at.index] {
		x := a.step
		if w.places[x] <= w.places[end-1] || g.idle[x] {
			continue
		}
		if a.writes {
			break
		}
		if !w.ll && x != end {
			continue
		}
		early := true
		for _, d := range g.deps[x] {
			early = early && (g.tb[d] == g.tb[s] && d >= s && d < end || w.places[d] < w.places[s])
		}
		if g.steps[x].Op != ir.Send || g.at(x, g.steps[x].Src) != at || g.port(g.sent[x][0]) || !early || w.rewritten(end, x, at) {
			continue
		}
		outs = append(outs, x)
	}
	return outs
}

// rewritten reports whether any chunk of a place is written between the end of
// a run and step x.
func (w *sumFinder) rewritten(end, x int, at span) bool {
	for c := at.index; c < at.index+at.size; c++ {
		for _, a := range w.all[at.rank][at.buffer][c] {
			if a.writes && w.places[a.step] > w.places[end-1] && w.places[a.step] < w.places[x] {
				return true
			}
		}
	}
	return false
}
