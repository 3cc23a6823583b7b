package compiler

// costs is a rough model of what steps take at one size under one protocol: a part
// for each step and a part for each of its chunks, in arbitrary units. The
// proportions are those of an A100 (docs/simulator.md). The compiler knows no
// topology, so messages do not contend for links here.
type costs struct {
	call  int64 // of any step
	local int64 // added for a step within the rank
	wait  int64 // added for each wait for another threadblock
	way   int64 // latency of a message
	back  int64 // latency until a slot that was emptied can be refilled
	slots int32 // slots of a connection

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
	latency: {call: 4, local: 15, wait: 15, way: 5, back: 5, slots: 8},
	simple:  {call: 1, local: 1, wait: 1, way: 1, back: 1, slots: 2, send: 20, receive: 18, forward: 40, copy: 50},
	ll:      {call: 2, local: 4, wait: 12, way: 4, back: 4, slots: 8, send: 40, receive: 40, forward: 80, copy: 30},
}

// of is the cost of a step.
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

// Large messages are processed in tiles: a threadblock executes all its steps for
// one tile, then for the next. This many are estimated; the difference between the
// last and the first is the cost of further tiles.
const (
	tiles      = 6
	firstTiles = 2
)

// estimate is how long the program would take with its instructions placed as they
// are: with small messages, then for each protocol with large ones, all tiles of
// them and those after the first alone.
//
//	tile 1   tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	tile 2            tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	                  └ waits for its threadblock's last step, and for slots
//
// Further tiles are cheap where work is spread evenly over the threadblocks and none
// takes long from its first step of a tile to its last. Small messages are fast where
// there are few waits.
type estimate [2*sizes - 1]int64

// estimate simulates all tiles in the global order, in which everything comes
// after what it waits for.
func (u *unit) estimate() (all estimate) {
	const mostSlots = 8
	type times [sizes]int64
	type line struct {
		sent, taken int32
		free        [mostSlots]times // when each slot of the last messages was emptied
	}
	begun, ended := make([]times, len(u.ins)), make([]times, len(u.ins))
	now, lines := make([]times, len(u.tbs)), make([]line, len(u.conns))
	var end, first times
	for tile := range tiles {
		for _, i := range u.seq {
			in, tb := &u.ins[i], u.tbOf[i]
			at, awaited := now[tb], false
			for _, p := range u.preds.row(i) {
				if a := u.alias[p]; u.tbOf[a] != tb {
					awaited = true
					for k := range at {
						at[k] = max(at[k], ended[a][k])
					}
				}
			}
			var source *times // of the message that is received
			if in.get != none {
				sender := u.msgs[in.get].sender
				source = &ended[sender]
				for k := range at {
					at[k] = max(at[k], begun[sender][k]+costsAt[k].way)
				}
			}
			var to *line
			if in.put != none {
				to = &lines[u.msgs[in.put].conn]
			}
			var done times
			for k := range at {
				c := &costsAt[k]
				if awaited {
					at[k] += c.wait
				}
				if to != nil {
					at[k] = max(at[k], to.free[to.sent%c.slots][k])
				}
				done[k] = at[k] + c.of(in)
				if source != nil {
					done[k] = max(done[k], source[k]+c.way)
				}
				end[k] = max(end[k], done[k])
			}
			if to != nil {
				to.sent++
			}
			if source != nil {
				from := &lines[u.msgs[in.get].conn]
				for k := range done {
					c := &costsAt[k]
					from.free[from.taken%c.slots][k] = done[k] + c.back
				}
				from.taken++
			}
			begun[i], ended[i], now[tb] = at, done, done
		}
		switch tile + 1 {
		case 1:
			all[0] = end[latency]
		case firstTiles:
			first = end
		}
	}
	for k := simple; k < sizes; k++ {
		all[2*k-1], all[2*k] = end[k], end[k]-first[k]
	}
	return all
}

// tolerated limits what one size may lose where others gain: one part in so many.
const tolerated = 50

// against compares this estimate with base: the product of the ratios of time at
// each size, where small messages count as much as large ones. It is 1 if any size
// gets intolerably longer.
func (e *estimate) against(base *estimate) float64 {
	ratio := 1.0
	for k := range e {
		is, was := max(e[k], 1), max(base[k], 1)
		if is-was > was/tolerated {
			return 1
		}
		ratio *= float64(is) / float64(was)
		if k == 0 {
			ratio *= ratio * ratio
		}
	}
	return ratio
}
