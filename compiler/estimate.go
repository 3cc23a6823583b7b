package compiler

// costs is a rough model of a step's time at one size under one protocol: a part
// for each step and a part for each of its chunks, in arbitrary units. The
// proportions are those of an A100 (docs/reference/simulator-rules.md). The compiler knows no
// topology, so messages do not contend for links here.
type costs struct {
	call        int64 // of any step
	local       int64 // added for a step within the rank
	wait        int64 // added for each wait for another threadblock
	latency     int64 // latency of a message
	slotLatency int64 // latency until an emptied slot can be refilled
	slots       int32 // slots of a connection

	send, receive, forward, copy int64 // for each chunk
}

// The message sizes and protocols at which placements are compared.
const (
	latency = iota // tiny messages under LL
	simple         // large messages under Simple
	ll             // large messages under LL
	sizes
)

var costsAt = [sizes]costs{
	latency: {call: 4, local: 15, wait: 15, latency: 5, slotLatency: 5, slots: 8},
	simple:  {call: 1, local: 1, wait: 1, latency: 1, slotLatency: 1, slots: 2, send: 20, receive: 18, forward: 40, copy: 50},
	ll:      {call: 2, local: 4, wait: 12, latency: 4, slotLatency: 4, slots: 8, send: 40, receive: 40, forward: 80, copy: 30},
}

func (c *costs) of(in *instr) int64 {
	chunk := c.copy
	switch {
	case in.get != none && in.put != none:
		chunk = c.forward
	case in.get != none:
		chunk = c.receive
	case in.put != none:
		chunk = c.send
	default:
		return c.call + c.local + chunk*int64(in.count)
	}
	return c.call + chunk*int64(in.count)
}

// Large messages are processed in tiles: a threadblock executes all its steps
// for one tile, then for the next. The estimate runs tiles of them; the
// difference between the last and the first is the cost of further tiles.
const (
	tiles      = 6
	firstTiles = 2
)

// estimate is the estimated time of the program with its present placement:
// with small messages, then for each protocol with large ones, of all tiles and
// of those after the first ones alone.
//
//	tile 1   tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	tile 2            tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	                  └ waits for its threadblock's last step, and for slots
//
// Further tiles are cheap where work is spread evenly over the threadblocks and
// each needs little time from its first step of a tile to its last. Small
// messages are fast where there are few waits.
type estimate [2*sizes - 1]int64

type times [sizes]int64

// timing executes the program at all sizes at once.
type timing struct {
	prog           *program
	started, ended []times     // by instruction
	now            []times     // by threadblock
	slots          []slotTimes // by connection
	end            times       // of what was executed so far
}

// maxSlots is the largest number of slots in costsAt.
const maxSlots = 8

// slotTimes records when the slots of a connection's last messages were
// emptied.
type slotTimes struct {
	sent, taken int32
	free        [maxSlots]times
}

// estimate executes all tiles in the global order, in which every instruction
// comes after those it waits for.
func (prog *program) estimate() (all estimate) {
	t := timing{
		prog: prog, started: make([]times, len(prog.ins)), ended: make([]times, len(prog.ins)),
		now: make([]times, len(prog.tbs)), slots: make([]slotTimes, len(prog.conns)),
	}
	var first times
	for tile := range tiles {
		for _, i := range prog.seq {
			t.execute(i)
		}
		switch tile + 1 {
		case 1:
			all[0] = t.end[latency]
		case firstTiles:
			first = t.end
		}
	}
	for k := simple; k < sizes; k++ {
		all[2*k-1], all[2*k] = t.end[k], t.end[k]-first[k]
	}
	return all
}

// execute sets the times of an instruction, its threadblock and its
// connections.
func (t *timing) execute(i int32) {
	in := &t.prog.ins[i]
	at := t.start(i, in)
	var done times
	for k := range at {
		c := &costsAt[k]
		done[k] = at[k] + c.of(in)
		if in.get != none {
			done[k] = max(done[k], t.ended[t.prog.msgs[in.get].sender][k]+c.latency)
		}
		t.end[k] = max(t.end[k], done[k])
	}
	if in.put != none {
		t.slots[t.prog.msgs[in.put].conn].sent++
	}
	if in.get != none {
		from := &t.slots[t.prog.msgs[in.get].conn]
		for k := range done {
			c := &costsAt[k]
			from.free[from.taken%c.slots][k] = done[k] + c.slotLatency
		}
		from.taken++
	}
	t.started[i], t.ended[i], t.now[t.prog.tbOf[i]] = at, done, done
}

// start returns when an instruction can begin: its threadblock has reached it,
// its dependencies are complete, its message begins to arrive, and the
// connection it sends on has a free slot.
func (t *timing) start(i int32, in *instr) times {
	prog, tb := t.prog, t.prog.tbOf[i]
	at, awaited := t.now[tb], false
	for _, p := range prog.preds.row(i) {
		if a := prog.alias[p]; prog.tbOf[a] != tb {
			awaited = true
			for k := range at {
				at[k] = max(at[k], t.ended[a][k])
			}
		}
	}
	for k := range at {
		c := &costsAt[k]
		if in.get != none {
			at[k] = max(at[k], t.started[prog.msgs[in.get].sender][k]+c.latency)
		}
		if awaited {
			at[k] += c.wait
		}
		if in.put != none {
			to := &t.slots[prog.msgs[in.put].conn]
			at[k] = max(at[k], to.free[to.sent%c.slots][k])
		}
	}
	return at
}

// maxLossDivisor limits the loss at any one size to 1/maxLossDivisor of the
// time.
const maxLossDivisor = 50

// ratioTo compares this estimate with base: the product of the ratios of time
// at each size, where small messages count as much as large ones. It is 1 if
// any size loses more than maxLossDivisor allows.
func (e *estimate) ratioTo(base *estimate) float64 {
	ratio := 1.0
	for k := range e {
		is, was := max(e[k], 1), max(base[k], 1)
		if is-was > was/maxLossDivisor {
			return 1
		}
		ratio *= float64(is) / float64(was)
		if k == 0 {
			ratio *= ratio * ratio
		}
	}
	return ratio
}
