package compiler

import "github.com/colltune/colltune/compiler/collective"

// use is what becomes of a rank's buffer, anywhere in the program.
type use uint8

const (
	reads use = 1 << iota
	writes
	copyFrom // within the rank
	copyTo
)

// uses is the use of all buffers, by rank.
func (u *unit) uses() [][3]use {
	all := make([][3]use, u.col.Ranks)
	for i := range u.ops {
		o := &u.ops[i]
		from, to := &all[o.src][o.srcBuf], &all[o.dst][o.dstBuf]
		*from |= reads
		*to |= writes
		switch {
		case o.reduce:
			all[o.dst][o.with().buf] |= reads
		case o.copies():
			*from |= copyFrom
			*to |= copyTo
		}
	}
	return all
}

// ledger has an entry for every chunk of some buffers.
type ledger[T any] struct {
	first   [][3]int // by rank and buffer; none where it is not of them
	entries []T
}

// newLedger has the buffers of which all of that is true.
func newLedger[T any](u *unit, uses [][3]use, all use) (l ledger[T]) {
	l.first = make([][3]int, len(uses))
	n := 0
	for r := range uses {
		for b := range uses[r] {
			l.first[r][b] = none
			if uses[r][b]&all == all {
				l.first[r][b] = n
				n += u.size(int32(r), collective.Buffer(b))
			}
		}
	}
	l.entries = make([]T, n)
	return l
}

// of are the entries of some chunks of a rank, from the first to the last and with
// all between; none where the ledger has none, or is none.
func (l *ledger[T]) of(rank int32, c chunks) []T {
	if l.first == nil {
		return nil
	}
	first := l.first[rank][c.buf]
	if first == none {
		return nil
	}
	return l.entries[first+int(c.off) : first+int(c.end())]
}

// put gives some chunks of a rank an entry, where the ledger has them.
func (l *ledger[T]) put(rank int32, c chunks, entry T) {
	at := l.of(rank, c)
	for k := 0; k < len(at); k += int(c.stride) {
		at[k] = entry
	}
}

// filled has the same everywhere.
func filled(all []int32, with int32) []int32 {
	for i := range all {
		all[i] = with
	}
	return all
}

// looked marks the chunks that the caller may look at in the end: results, and the
// input.
func looked(l *ledger[bool], u *unit) {
	sideBySide(u.col.Ranks, len(l.entries), func(from, to int) {
		for r := from; r < to; r++ {
			if l.first[r][collective.In] == none && l.first[r][collective.Out] == none {
				continue
			}
			mark := func(b collective.Buffer, i int) {
				if b, off := u.col.Place(r, b, i); l.first[r][b] != none {
					l.entries[l.first[r][b]+off] = true
				}
			}
			for i := range u.col.OutChunks(r) {
				if u.col.Want(r, i).Kind != collective.WantNothing {
					mark(collective.Out, i)
				}
			}
			for i := range u.col.InChunks(r) {
				mark(collective.In, i)
			}
		}
	})
}
