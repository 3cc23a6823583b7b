package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/colltune/colltune/compiler/internal/container"
)

// channels assigns every message a channel (GC3 5.2): the one its directive
// names, or else the lowest on which its whole chain of fused instructions can
// run.
//
//	chain 0→1→2            channel 0: at rank 1, connection 0→1 is paired with 1→2
//	chain 0→1→3            channel 1: on channel 0, 0→1 is paired already
//	message 0→1            channel 0: a single message pairs nothing
//
// A fused instruction pairs the connection it receives from with the one it
// sends on, because one threadblock serves both; and a connection can be paired
// with only one other. Where a directive, or the limit on channels, makes that
// impossible, the fusion is undone.
//
// Every instance has channels of its own. Those of the first instance keep the
// program's numbers, and the others get free numbers.
func channels(prog *program) error {
	b := connPairing{
		conns: container.NewConnTable(),
		limit: max(1, int32(prog.opt.MaxChannels)/prog.instances),
	}
	chain := make([]int32, 0, 64)
	free := slices.ContainsFunc(prog.msgs, func(m message) bool { return m.channel == none })
	for pass := range 2 {
		if pass == 1 && !free {
			break
		}
		for m := range prog.msgs {
			if prog.ins[prog.msgs[m].sender].get != none {
				continue // not the head of its chain
			}
			chain = chain[:0]
			directive := int32(none)
			for n := int32(m); n != none; n = prog.ins[prog.msgs[n].receiver].put {
				chain = append(chain, n)
				directive = max(directive, prog.msgs[n].channel)
			}
			if directed := directive != none; directed == (pass == 0) {
				b.placeChain(prog, chain, directive)
			}
		}
	}
	return prog.numberChannels()
}

// connPairing records which connections are paired by fused instructions.
type connPairing struct {
	conns *container.ConnTable // numbers connections by instance, as channels have no final numbers yet
	peers []fusedPeers         // by connection
	limit int32                // channels an instance may choose from
	added []int32              // pairs that the current attempt has added, so that it can be undone
}

// fusedPeers holds the connections that a connection is paired with: next at
// its receiver, the one that is sent on; prev at its sender, the one that is
// received from. none if there is none.
type fusedPeers struct{ next, prev int32 }

// placeChain chooses the channel of a chain and records it in the chain's
// messages.
func (b *connPairing) placeChain(prog *program, chain []int32, directive int32) {
	if directive != none || len(chain) == 1 {
		b.commit(prog, chain, max(directive, 0))
		return
	}
	best, fewest := int32(0), len(chain)
	for c := range b.limit {
		clashes := 0
		if b.try(prog, chain, c, func(int32) { clashes++ }); clashes == 0 {
			b.record(prog, chain, c)
			return
		}
		b.undo()
		if clashes < fewest {
			best, fewest = c, clashes
		}
	}
	b.commit(prog, chain, best)
}

func (b *connPairing) conn(m *message, c int32) int32 {
	q, made := b.conns.Number(container.ConnKey{From: m.from, To: m.to, Instance: m.instance, Channel: c})
	if made {
		b.peers = append(b.peers, fusedPeers{none, none})
	}
	return q
}

// bind pairs two connections. It reports false if either is paired with a
// third.
func (b *connPairing) bind(in, out int32) bool {
	onward, back := b.peers[in].next, b.peers[out].prev
	if onward == out && back == in {
		return true
	}
	if onward != none || back != none {
		return false
	}
	b.peers[in].next, b.peers[out].prev = out, in
	b.added = append(b.added, in, out)
	return true
}

func (b *connPairing) undo() {
	for i := 0; i < len(b.added); i += 2 {
		b.peers[b.added[i]].next, b.peers[b.added[i+1]].prev = none, none
	}
	b.added = b.added[:0]
}

// try pairs the chain's connections on channel c, and calls clash for the messages where
// that is impossible.
func (b *connPairing) try(prog *program, chain []int32, c int32, clash func(m int32)) {
	in := b.conn(&prog.msgs[chain[0]], c)
	for _, m := range chain[1:] {
		out := b.conn(&prog.msgs[m], c)
		if !b.bind(in, out) {
			clash(m)
		}
		in = out
	}
}

// record sets channel c in the messages of a chain whose pairs have been made.
func (b *connPairing) record(prog *program, chain []int32, c int32) {
	b.added = b.added[:0]
	for _, m := range chain {
		prog.msgs[m].channel = c
	}
}

// commit pairs the chain's connections on channel c, and undoes the fusions
// where that is impossible.
func (b *connPairing) commit(prog *program, chain []int32, c int32) {
	if len(chain) > 1 {
		b.try(prog, chain, c, func(m int32) { prog.split(prog.msgs[m].sender) })
	}
	b.record(prog, chain, c)
}

// numberChannels assigns a final channel number to every owner, and lists the
// connections. A channel number only has to be unique between two ranks, so
// instances whose messages use different links, such as those of a phase within
// nodes and of one between them, can share numbers.
func (prog *program) numberChannels() error {
	links := prog.linksByOwner()
	numbers, count := numberOwners(links)
	if count > prog.opt.MaxChannels {
		return fmt.Errorf("%d channels needed, %d by each of %d instances and by their directives: the limit is %d",
			count, (len(links)+int(prog.instances)-1)/int(prog.instances), prog.instances, prog.opt.MaxChannels)
	}
	number, before := int32(0), owner{none, none}
	for i := range prog.msgs {
		m := &prog.msgs[i]
		if o := (owner{m.instance, m.channel}); o != before { // messages of an owner often follow each other
			before, number = o, numbers[o]
		}
		m.channel = number
	}
	prog.listConns()
	return nil
}

type owner struct{ instance, channel int32 }

// link is the two ranks of a message.
type link struct{ from, to int32 }

// linksByOwner lists the links that the messages of each owner use. They are
// left out if there is a single instance, which keeps its numbers.
func (prog *program) linksByOwner() map[owner]map[link]bool {
	links := map[owner]map[link]bool{}
	before := owner{none, none}
	for i := range prog.msgs {
		m := &prog.msgs[i]
		o := owner{m.instance, m.channel}
		if o != before && links[o] == nil {
			links[o] = map[link]bool{}
		}
		if prog.instances > 1 {
			links[o][link{m.from, m.to}] = true
		}
		before = o
	}
	return links
}

// numberOwners gives every owner the lowest channel number that no other owner
// uses on any of its links; those of the first instance keep their numbers. It
// also returns one more than the highest number.
func numberOwners(links map[owner]map[link]bool) (numbers map[owner]int32, count int) {
	owners := slices.SortedFunc(maps.Keys(links), func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.channel, b.channel))
	})
	numbers = map[owner]int32{}
	var taken []map[link]bool // links in use, by channel number
	meets := func(n int32, o owner) bool {
		for l := range links[o] {
			if taken[n][l] {
				return true
			}
		}
		return false
	}
	for _, o := range owners {
		n := o.channel
		if o.instance != 0 {
			for n = 0; n < int32(len(taken)) && meets(n, o); {
				n++
			}
		}
		for int32(len(taken)) <= n {
			taken = append(taken, map[link]bool{})
		}
		maps.Copy(taken[n], links[o])
		numbers[o] = n
	}
	return numbers, len(taken)
}

// listConns numbers the connections that messages use.
func (prog *program) listConns() {
	ids := container.NewConnTable()
	for i := range prog.msgs {
		m := &prog.msgs[i]
		id, made := ids.Number(container.ConnKey{From: m.from, To: m.to, Channel: m.channel})
		if made {
			prog.conns = append(prog.conns, conn{m.from, m.to, m.channel})
		}
		m.conn = id
	}
}
