package compiler

// costs is what a program's steps are taken to cost at one size, under one protocol,
// in a unit of its own: what a step costs whatever its size, and what a chunk of it
// does. They are in the proportions of an A100's (docs/simulator.md). Links are not
// the compiler's to know, so messages share none.
type costs struct {
	call  int64 // of a step
	local int64 // beside that, of one within the rank
	wait  int64 // for another threadblock
	way   int64 // of a message
	back  int64 // of a slot, to be filled again
	slots int32 // of a connection

	send, receive, forward, copy int64 // a chunk
}

// The sizes at which placements are compared.
const (
	latency = iota // messages of LL with hardly anything in them
	simple         // large ones of Simple
	ll             // large ones of LL
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

// Large messages come in tiles: a threadblock does all its steps for one, then for the
// next. Of as many as that, those after the first are what a tile more takes.
const (
	tiles      = 6
	firstTiles = 2
)

// estimate is how long the program takes as it is placed: small messages, then for
// each protocol all tiles of large ones, and those after the first.
//
//	tile 1   tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	tile 2            tb 0 ▒▒ s ▒▒ cpy         tb 1 ── r ── re
//	                  └ waits for its threadblock's last step, and for slots
//
// The last are short where threadblocks have as much to do as others, and none ends a
// tile long after it began it; small messages want waits spared.
type estimate [2*sizes - 1]int64

// estimate goes through all tiles in the global order, which puts everything behind
// what it waits for.
func (u *unit) estimate() (all estimate) {
	const mostSlots = 8
	type times [sizes]int64
	type line struct {
		sent, taken int32
		free        [mostSlots]times // when the slots of the last messages were
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
			var source *times // of what arrives
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

// tolerated is by how much of itself an estimate may be worse, where others are better.
const tolerated = 50

// against is how much of an estimate's time this takes, from small messages to large
// ones, which have as much to say as these; 1 where it is longer anywhere.
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
