package compiler

import (
	"fmt"
	"maps"
	"slices"
)

// channels gives every message its channel (GC3 5.2): the program's directive
// where there is one, else the lowest that serves the whole of its chain.
//
//	chain 0→1→2            channel 0: at rank 1, what comes from 0 goes to 2
//	chain 0→1→3            channel 1: at rank 1, channel 0 is taken for 0 and 2
//	message 0→1            channel 0: a single message binds nothing
//
// A fused instruction binds the connection it receives from and the one it
// sends to to one threadblock; each can be bound to one other only. A directive
// is kept and the fusion given up where both cannot be had; so it is where a
// chain would need more channels than the limit leaves for it.
//
// Every instance has channels of its own. Those of the first are numbered as the
// program says, those of the others take the numbers left free.
func channels(u *unit) error {
	b := binding{
		conns: newRegister(),
		limit: max(1, int32(u.opt.MaxChannels)/u.keys),
	}
	chain := make([]int32, 0, 64)
	free := slices.ContainsFunc(u.msgs, func(m message) bool { return m.channel == none })
	for pass := range 2 {
		if pass == 1 && !free {
			break
		}
		for m := range u.msgs {
			if u.ins[u.msgs[m].sender].get != none {
				continue // not the first of its chain
			}
			chain = chain[:0]
			directive := int32(none)
			for n := int32(m); n != none; n = u.ins[u.msgs[n].receiver].put {
				chain = append(chain, n)
				directive = max(directive, u.msgs[n].channel)
			}
			if directed := directive != none; directed == (pass == 0) {
				b.place(u, chain, directive)
			}
		}
	}
	return u.number()
}

// binding is which connection is bound to which.
type binding struct {
	conns *register // of connections, before instances have their numbers
	mates []mate    // by connection
	limit int32     // channels an instance may choose from
	made  []int32   // pairs bound by the attempt in hand, to undo
}

// mate is what a connection is bound to: at its receiver the one sent on, at its
// sender the one received from.
type mate struct{ onward, back int32 }

// place chooses the chain's channel and notes it in its messages.
func (b *binding) place(u *unit, chain []int32, directive int32) {
	if directive != none {
		b.commit(u, chain, directive)
		return
	}
	if len(chain) == 1 {
		b.commit(u, chain, 0)
		return
	}
	best, fewest := int32(0), len(chain)
	for c := range b.limit {
		clashes := b.try(u, chain, c)
		if clashes == 0 {
			b.note(u, chain, c)
			return
		}
		b.undo()
		if clashes < fewest {
			best, fewest = c, clashes
		}
	}
	b.commit(u, chain, best)
}

// conn is the number of m's connection, were it on channel c.
func (b *binding) conn(m *message, c int32) int32 {
	q, made := b.conns.of(connKey{m.from, m.to, m.key, c})
	if made {
		b.mates = append(b.mates, mate{none, none})
	}
	return q
}

// bind binds two connections if both are free, or bound to each other already.
func (b *binding) bind(in, out int32) bool {
	onward, back := b.mates[in].onward, b.mates[out].back
	if onward == out && back == in {
		return true
	}
	if onward != none || back != none {
		return false
	}
	b.mates[in].onward, b.mates[out].back = out, in
	b.made = append(b.made, in, out)
	return true
}

func (b *binding) undo() {
	for i := 0; i < len(b.made); i += 2 {
		b.mates[b.made[i]].onward, b.mates[b.made[i+1]].back = none, none
	}
	b.made = b.made[:0]
}

// try binds the chain on channel c and counts where that cannot be.
func (b *binding) try(u *unit, chain []int32, c int32) (clashes int) {
	in := b.conn(&u.msgs[chain[0]], c)
	for _, m := range chain[1:] {
		out := b.conn(&u.msgs[m], c)
		if !b.bind(in, out) {
			clashes++
		}
		in = out
	}
	return clashes
}

// note gives the chain's messages channel c, the bindings being made.
func (b *binding) note(u *unit, chain []int32, c int32) {
	b.made = b.made[:0]
	for _, m := range chain {
		u.msgs[m].channel = c
	}
}

// commit binds the chain on channel c, giving up the fusions that cannot be.
func (b *binding) commit(u *unit, chain []int32, c int32) {
	if len(chain) == 1 {
		b.note(u, chain, c)
		return
	}
	in := b.conn(&u.msgs[chain[0]], c)
	for _, m := range chain[1:] {
		out := b.conn(&u.msgs[m], c)
		if !b.bind(in, out) {
			u.split(u.msgs[m].sender)
		}
		in = out
	}
	b.note(u, chain, c)
}

// number gives every (instance, channel) in use its number in the IR, and lists
// the connections. A channel is a number between two ranks: instances whose
// messages take different links, as those of a phase within the nodes and one
// between them, can have the same.
func (u *unit) number() error {
	type own struct{ key, channel int32 }
	type link struct{ from, to int32 }
	links := map[own]map[link]bool{}
	before := own{none, none}
	for i := range u.msgs {
		m := &u.msgs[i]
		o := own{m.key, m.channel}
		if o != before && links[o] == nil {
			links[o] = map[link]bool{}
		}
		if u.keys > 1 { // or there is nothing to choose
			links[o][link{m.from, m.to}] = true
		}
		before = o
	}
	inUse := make([]own, 0, len(links))
	for o := range links {
		inUse = append(inUse, o)
	}
	slices.SortFunc(inUse, func(a, b own) int {
		if a.key != b.key {
			return int(a.key - b.key)
		}
		return int(a.channel - b.channel)
	})
	number := map[own]int32{}
	var taken []map[link]bool // by number
	meets := func(n int32, o own) bool {
		for l := range links[o] {
			if taken[n][l] {
				return true
			}
		}
		return false
	}
	highest := int32(-1)
	for _, o := range inUse {
		n := o.channel
		if o.key != 0 {
			for n = 0; n < int32(len(taken)) && meets(n, o); {
				n++
			}
		}
		for int32(len(taken)) <= n {
			taken = append(taken, map[link]bool{})
		}
		maps.Copy(taken[n], links[o])
		number[o] = n
		highest = max(highest, n)
	}
	if int(highest) >= u.opt.MaxChannels {
		return fmt.Errorf("%d channels needed, %d by each of %d instances and by their directives: the limit is %d",
			highest+1, (len(inUse)+int(u.keys)-1)/int(u.keys), u.keys, u.opt.MaxChannels)
	}
	var given int32
	before = own{none, none}
	for i := range u.msgs {
		m := &u.msgs[i]
		if o := (own{m.key, m.channel}); o != before {
			before, given = o, number[o]
		}
		m.channel = given
	}
	u.listConns()
	return nil
}

// listConns numbers the connections that messages use.
func (u *unit) listConns() {
	ids := newRegister()
	for i := range u.msgs {
		m := &u.msgs[i]
		id, made := ids.of(connKey{m.from, m.to, 0, m.channel})
		if made {
			u.conns = append(u.conns, conn{m.from, m.to, m.channel})
		}
		m.conn = id
	}
}
