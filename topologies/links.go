package topologies

import "sync/atomic"

// links remembers between which ranks there is a route, two bits a pair: whether it was
// looked for, and whether there is one. A row, of one sender, is made when it is first used.
type links struct {
	rows []atomic.Pointer[linkRow] // by sender; none over more than maxRemembered ranks
}

type linkRow []atomic.Uint64 // 32 receivers a word

// maxRemembered is the most ranks between which routes are remembered, in 64 MiB.
const maxRemembered = 1 << 14

const (
	unlooked = iota
	unlinked
	linked
)

func (l *links) init(ranks int) {
	if ranks <= maxRemembered {
		l.rows = make([]atomic.Pointer[linkRow], ranks)
	}
}

// row returns a sender's row, or nil if none is kept. Concurrent callers may make two, of
// which one remains.
func (l *links) row(sender int) linkRow {
	if l.rows == nil {
		return nil
	}
	at := &l.rows[sender]
	row := at.Load()
	if row == nil {
		fresh := make(linkRow, (len(l.rows)+31)/32)
		at.CompareAndSwap(nil, &fresh)
		row = at.Load()
	}
	return *row
}

// of returns what is known of a receiver.
func (r linkRow) of(receiver int) uint64 { return r[receiver/32].Load() >> (receiver % 32 * 2) & 3 }

func (r linkRow) set(receiver int, to uint64) { r[receiver/32].Or(to << (receiver % 32 * 2)) }

// Linked reports whether rank a can send to rank b, that is whether Path finds a route. It
// is false if a and b are equal or out of range.
func (t *Topology) Linked(a, b int) bool {
	if a == b || min(a, b) < 0 || max(a, b) >= len(t.Ranks) {
		return false
	}
	return t.routed(a, b) || t.forwards(a, b)
}

// routed reports whether there is a route from one rank to another without forwarding.
func (t *Topology) routed(a, b int) bool {
	row := t.adjacent().links.row(a)
	if row != nil {
		if known := row.of(b); known != unlooked {
			return known == linked
		}
	}
	_, ok := t.route(a, b)
	switch {
	case row == nil:
	case ok:
		row.set(b, linked)
	default:
		row.set(b, unlinked)
	}
	return ok
}

func (t *Topology) forwards(a, b int) bool {
	_, ok := t.forwarded[[2]int{a, b}]
	return ok
}
