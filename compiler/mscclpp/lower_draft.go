package mscclpp

import (
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// draft is an operation before its channels, buffers and semaphores are
// numbered.
type draft struct {
	kind     string
	src, dst []span
	messages []int // its channels are the ones these messages use
	ready    bool  // it uses the channels in reverse: the receiver has begun
	steps    []int
	chained  bool // its semaphore is between two parts of one threadblock
}

// drafter writes the operations of one threadblock of a plan.
//
// The threads of a threadblock synchronise only at a nop. One is needed before
// an operation that conflicts with another since the last nop, between a wait
// and the accesses that it protects, and between an access and the signal that
// announces it.
type drafter struct {
	l      *lowering
	rank   int
	ops    []draft
	recent []recentAccess       // since the last nop
	waited bool                 // since the last nop, thread 0 has waited
	others bool                 // since the last nop, other threads have waited
	taken  map[signalSource]int // since the last nop: the thread that took from each source
	first  map[signalSource]int // the same up to the first nop
}

// signalSource is a source of signals: a threadblock of another GPU that sends
// data, one that announces that it has begun and can receive, or a threadblock
// of the same GPU.
type signalSource struct {
	tb   int
	kind string
}

// recentAccess is an access since the last nop.
type recentAccess struct {
	at      span
	writes  bool
	packets bool // threads divide the place packet by packet
}

func (d *drafter) nop() {
	d.ops = append(d.ops, draft{kind: "nop"})
	if d.first == nil {
		d.first = d.taken
	}
	d.recent, d.waited, d.others, d.taken = nil, false, false, map[signalSource]int{}
}

// take lets one thread for each source take a signal from it. It synchronises
// first if another thread has taken from one of them since the last nop: the
// two could take in either order, and the other's signal might never come.
func (d *drafter) take(lines []signalSource) {
	for lane, from := range lines {
		if was, ok := d.taken[from]; ok && was != lane {
			d.nop()
			break
		}
	}
	for lane, from := range lines {
		d.taken[from] = lane
	}
}

// syncFor synchronises, if necessary, before the first lanes threads signal the
// actions and waits of all threads.
func (d *drafter) syncFor(lanes int) {
	if len(d.recent) > 0 || d.others || d.waited && lanes > 1 {
		d.nop()
	}
}

// takenTwice reports whether, if the threadblock started over, a thread would
// take from a source that another has taken from since the last nop.
func (d *drafter) takenTwice() bool {
	for from, lane := range d.taken {
		if was, ok := d.first[from]; ok && was != lane {
			return true
		}
	}
	return false
}

// wait waits for messages, with one thread for each, or if ready is set until their
// receivers have begun.
func (d *drafter) wait(messages []int, ready bool) {
	for _, some := range d.l.lanes(messages) {
		o := draft{kind: "wait", messages: some}
		if ready {
			o = draft{kind: "rlxwait", messages: some, ready: true}
		}
		lines := make([]signalSource, len(some))
		for i, m := range some {
			from := d.l.g.msgs[m].send
			if ready {
				from = d.l.g.msgs[m].recv
			}
			lines[i] = signalSource{d.l.g.tb[from], o.kind}
		}
		d.waitFor(o, lines)
	}
}

// waitFor appends an operation by which one thread for each source waits.
func (d *drafter) waitFor(o draft, lines []signalSource) {
	d.take(lines)
	d.ops = append(d.ops, o)
	d.waited, d.others = true, d.others || len(lines) > 1
}

// lanes divides messages into lists that one operation can handle: channels of one
// type, no threadblock twice, and no more than an operation has room for.
func (l *lowering) lanes(messages []int) (lists [][]int) {
next:
	for _, m := range messages {
		for i, list := range lists {
			apart := func(n int) bool {
				return l.g.port(m) != l.g.port(n) || l.g.tb[l.g.msgs[m].send] == l.g.tb[l.g.msgs[n].send]
			}
			if len(list) < MaxOpChannels && !slices.ContainsFunc(list, apart) {
				lists[i] = append(list, m)
				continue next
			}
		}
		lists = append(lists, []int{m})
	}
	return lists
}

func (d *drafter) signal(m int) {
	d.syncFor(1)
	d.ops = append(d.ops, draft{kind: "signal", messages: []int{m}})
}

// acquire waits for steps of other threadblocks of the GPU, and release announces
// a step to those that wait for it, in several operations if there are too many
// semaphores for one.
func (d *drafter) acquire(steps []int, chained bool) {
	for some := range slices.Chunk(steps, MaxSemaphores) {
		lines := make([]signalSource, len(some))
		for i, s := range some {
			lines[i] = signalSource{d.l.g.tb[s], "sem_acquire"}
		}
		d.waitFor(draft{kind: "sem_acquire", steps: some, chained: chained}, lines)
	}
}

func (d *drafter) release(steps []int, chained bool) {
	if len(steps) > 0 {
		d.syncFor(len(steps))
	}
	for some := range slices.Chunk(steps, MaxSemaphores) {
		d.ops = append(d.ops, draft{kind: "sem_release", steps: some, chained: chained})
	}
}

func (d *drafter) move(kind string, messages []int, src, dst []span) {
	k := kindOf(kind)
	packets := false
	for _, pattern := range [...]string{k.src, k.dst} {
		for i := range pattern {
			packets = packets || packet(pattern[i])
		}
	}
	var mine []recentAccess
	note := func(at span, letter byte, writes bool) {
		if at.rank == d.rank && !packet(letter) { // the flags of packets order accesses to them
			mine = append(mine, recentAccess{at, writes, packets})
		}
	}
	for i, at := range src {
		note(at, patternLetter(k.src, i), false)
	}
	for i, at := range dst {
		note(at, patternLetter(k.dst, i), true)
	}
	if d.waited || d.clash(mine) {
		d.nop()
	}
	d.recent = append(d.recent, mine...)
	d.ops = append(d.ops, draft{kind: kind, src: src, dst: dst, messages: messages})
}

// clash reports whether other threads may have touched one of these places
// since the last nop. Accesses to the same whole place are safe, because
// threads divide it the same way.
func (d *drafter) clash(mine []recentAccess) bool {
	for _, a := range mine {
		for _, b := range d.recent {
			if (a.writes || b.writes) && a.at.overlaps(b.at) && (a.at != b.at || a.packets != b.packets) {
				return true
			}
		}
	}
	return false
}

// send copies a message from memory to where it lands, and signals it.
func (d *drafter) send(m int, from span) {
	to := d.l.land.spot[m]
	if !d.l.g.port(m) {
		d.move("put", []int{m}, []span{from}, []span{to})
		d.signal(m)
		return
	}
	kind := "pws"
	if d.l.g.overwrittenInFlight(d.l.touched, m, from) {
		kind = "pwsf"
	}
	d.syncFor(1) // one thread hands it to the port
	d.ops = append(d.ops, draft{kind: kind, src: []span{from}, dst: []span{to}, messages: []int{m}})
	d.waited = d.waited || kind == "pwsf" // thread 0 has waited for the data to arrive
}

func (d *drafter) simple(s int) {
	if x := d.l.g.sums[s]; x != nil {
		d.sum(s, x)
		return
	}
	l, step := d.l, d.l.g.steps[s]
	src, dst := l.at(s, step.Src), l.at(s, step.Dst)
	out, in := one(l.g.sent[s]), one(l.g.got[s])
	var landed span
	direct := false
	if in != none {
		landed, direct = l.land.spot[in], l.land.direct[in]
		d.wait(l.g.got[s], false)
	}
	// An operation can store a sum and send it to a peer at once, except over a
	// port, which only copies what is in memory.
	sum := func(to span) {
		from := []span{src, landed}
		switch {
		case out == none:
			d.move("re", nil, from, []span{to})
		case l.g.port(out):
			d.move("re", nil, from, []span{to})
			d.send(out, to)
		default:
			d.move("res", l.g.sent[s], from, []span{to, l.land.spot[out]})
			d.signal(out)
		}
	}
	switch step.Op {
	case ir.Send:
		d.send(out, src)
	case ir.Recv, ir.RecvCopySend:
		// Whoever receives what this step sends assumes that the step is over, so
		// a message that landed elsewhere must be copied to its place before that.
		if !direct {
			d.move("copy", nil, []span{landed}, []span{dst})
		}
		if out != none {
			d.send(out, landed)
		}
	case ir.RecvReduceCopy, ir.RecvReduceCopySend:
		sum(dst)
	case ir.RecvReduceSend:
		sum(landed) // every operation that sends the sum stores it too
	case ir.Copy:
		d.move("copy", nil, []span{src}, []span{dst})
	case ir.Reduce:
		d.move("re", nil, []span{dst, src}, []span{dst})
	}
}

func (d *drafter) sum(s int, x *sum) {
	l := d.l
	d.wait(l.g.got[s], false)
	from, to := []span{l.at(s, x.base)}, []span{l.at(s, x.dst)}
	for _, t := range x.terms {
		if t.message == none {
			from = append(from, l.at(s, t.at))
		} else {
			from = append(from, l.land.spot[t.message])
		}
	}
	if len(l.g.sent[s]) == 0 {
		d.move("re", nil, from, to)
		return
	}
	for _, m := range l.g.sent[s] {
		to = append(to, l.land.spot[m])
	}
	d.move("res", l.g.sent[s], from, to)
	for _, m := range l.g.sent[s] {
		d.signal(m)
	}
}

// sumPackets writes a sum under LL. It first adds what is available without
// waiting.
func (d *drafter) sumPackets(s int, x *sum) {
	l := d.l
	dst := l.at(s, x.dst)
	from, packets, to := []span{l.at(s, x.base)}, []span{}, []span{dst}
	for _, t := range x.terms {
		if t.message == none {
			from = append(from, l.at(s, t.at))
		} else {
			packets = append(packets, l.land.spot[t.message])
		}
	}
	if len(from) > 1 {
		d.move("re", nil, from, to)
		from = to
	}
	for _, m := range l.g.sent[s] {
		to = append(to, l.land.spot[m])
	}
	switch {
	case len(packets) == 0:
	case len(to) == 1:
		d.move("repkt", nil, append(from[:1:1], packets...), to)
	default:
		d.move("respkt", l.g.sent[s], append(from[:1:1], packets...), to)
	}
}

// one returns the only message of a list, or none if the list has not exactly one.
func one(messages []int) int {
	if len(messages) == 0 {
		return none
	}
	return messages[0]
}

// packets writes a step under LL. Messages need no signal, since each packet
// carries a flag. A port can only be handed memory that holds packets already.
func (d *drafter) packets(s int) {
	if x := d.l.g.sums[s]; x != nil {
		d.sumPackets(s, x)
		return
	}
	l, step := d.l, d.l.g.steps[s]
	src, dst := l.at(s, step.Src), l.at(s, step.Dst)
	out, in := one(l.g.sent[s]), one(l.g.got[s])
	var landed, there span
	if in != none {
		landed = l.land.spot[in]
	}
	if out != none {
		there = l.land.spot[out]
	}
	port, made := out != none && l.g.port(out), l.land.assembled[s]
	sum := func(to span) {
		from := []span{src, landed}
		switch {
		case out == none:
			d.move("repkt", nil, from, []span{to})
		case port:
			d.move("recpkt", nil, from, []span{to, made})
			d.move("rppkt", l.g.sent[s], []span{made}, []span{there})
		default:
			d.move("respkt", l.g.sent[s], from, []span{to, there})
		}
	}
	switch step.Op {
	case ir.Send:
		if !port {
			d.move("ppkt", l.g.sent[s], []span{src}, []span{there})
			break
		}
		d.move("cpkt", nil, []span{src}, []span{made})
		d.move("rppkt", l.g.sent[s], []span{made}, []span{there})
	case ir.Recv, ir.RecvCopySend:
		if out != none {
			d.move("rppkt", l.g.sent[s], []span{landed}, []span{there})
		}
		d.move("upkt", nil, []span{landed}, []span{dst})
	case ir.RecvReduceCopy, ir.RecvReduceCopySend:
		sum(dst)
	case ir.RecvReduceSend:
		to := l.land.sums[l.g.tb[s]]
		to.size = int(step.Count)
		sum(to)
	case ir.Copy:
		d.move("copy", nil, []span{src}, []span{dst})
	case ir.Reduce:
		d.move("re", nil, []span{dst, src}, []span{dst})
	}
}
