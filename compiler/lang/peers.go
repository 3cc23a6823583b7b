package lang

import "fmt"

// peers are the ranks that each rank sends to, a bit for each pair.
type peers struct {
	most  int // of one rank
	sent  []uint64
	count []int32 // by sender
}

// maxCounted is the most ranks whose peers are counted, in 8 MiB.
const maxCounted = 1 << 13

// SetMaxPeers limits the ranks that a rank sends to, each of which takes a threadblock. The
// operation that exceeds it returns an *Error with Peers set. Over more than 8,192 ranks it
// sets no limit.
func (t *Trace) SetMaxPeers(n int) {
	if ranks := t.coll.Ranks; ranks <= maxCounted && n < ranks-1 {
		t.peers = peers{n, make([]uint64, (ranks*ranks+63)/64), make([]int32, ranks)}
	}
}

// checkPeers counts a message's receiver, and returns an error if the sender has too many.
func (t *Trace) checkPeers(from, to int) error {
	p := &t.peers
	if p.sent == nil || from == to {
		return nil
	}
	pair := from*t.coll.Ranks + to
	word, bit := &p.sent[pair/64], uint64(1)<<(pair%64)
	if *word&bit != 0 {
		return nil
	}
	*word |= bit
	if p.count[from]++; int(p.count[from]) > p.most {
		return &Error{Pos: t.pos, Msg: fmt.Sprintf("rank %d sends to more than %d ranks", from, p.most), Peers: true}
	}
	return nil
}
