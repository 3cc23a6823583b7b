package synth

import (
	"math"
	"math/bits"
	"slices"
)

// branching is how a chunk that is copied spreads: for each rank it reaches, the
// lane and the step by which it comes from a rank that already had it.
//
//	step 1   0 ─▶ 3            the lanes of all steps together are a tree,
//	step 2   0 ─▶ 1   3 ─▶ 4   of which later steps hang on earlier ones
type branching []hop

// brancher finds the cheapest branching from a source to all ranks that want a
// chunk, where each lane has a price in each step. It enumerates the sets of ranks
// that can hold the chunk after each step, and discards those for which even a
// lower bound on the remaining cost is too high:
//
//	after step 1   {0} {0,3} {0,1} …      a step adds ranks, each over the cheapest
//	after step 2   {0,1,3,4} …            lane from a rank that the set has
//
// The result is exact and needs no solver. There are very many sets; branchRanks
// ranks are as many as can be handled in a moment.
type brancher struct {
	net    *network
	steps  int
	source int
	wants  uint32 // as a set of ranks, without the source
	reach  [][]bool

	price []int64   // by lane × steps + step
	ahead [][]int64 // by step and rank: the least cost of reaching it in this step or later
	limit int64     // branchings of this cost or more are of no use

	*sets
	work  int         // done so far
	most  int         // limit on work for one branching; if it is reached, spent is set
	over  func() bool // time is up; this sets spent too
	spent bool

	step int // the current step
	set  uint32
	left []added
}

// sets is working memory for sets of ranks, by step. Branchers can share it.
type sets struct {
	paid  [][]int64  // by set: the least cost of reaching it
	whose [][]uint32 // by set: its predecessor on the cheapest path
	live  [][]uint32 // the sets reached
}

func newSets(ranks, steps int) *sets {
	s := &sets{live: make([][]uint32, steps+1)}
	for range steps + 1 {
		s.paid = append(s.paid, slices.Repeat([]int64{infinite}, 1<<ranks))
		s.whose = append(s.whose, make([]uint32, 1<<ranks))
	}
	return s
}

// clear empties it for the next search.
func (s *sets) clear() {
	for t, live := range s.live {
		for _, set := range live {
			s.paid[t][set] = infinite
		}
		s.live[t] = live[:0]
	}
}

// added is a rank that the current step may add to a set.
type added struct {
	rank  int
	now   int64 // cost of adding it in this step
	later int64 // lower bound on its cost in a later step
	rest  int64 // sum of the lesser cost of this rank and all that follow
}

const (
	// infinite is a cost above that of any branching.
	infinite = math.MaxInt64 / 4
	// maxSetWork limits roughly the sets examined for one branching, and
	// checkSets is the number between two looks at the clock.
	maxSetWork = 200_000_000
	checkSets  = 1 << 14
)

func newBrancher(s *sets, net *network, steps, source int, wanted []int) *brancher {
	b := &brancher{net: net, steps: steps, source: source, sets: s}
	for _, r := range wanted {
		if r != source {
			b.wants |= 1 << r
		}
	}
	for t := range steps + 1 {
		b.reach = append(b.reach, make([]bool, net.ranks))
		for r := range net.ranks {
			b.reach[t][r] = net.dist[source][r] >= 0 && int(net.dist[source][r]) <= t
		}
	}
	return b
}

// cheapest returns the branching of least cost, or nil if none costs less than the
// limit. If that takes too much work, or over says that time is up, it sets spent, and
// the result means nothing.
func (b *brancher) cheapest(price []int64, limit int64, over func() bool) (branching, int64) {
	b.price, b.spent, b.most, b.over = price, false, b.work+maxSetWork, over
	b.limit = min(limit, b.soonest()+1)
	b.foresee()
	b.clear()
	b.paid[0][1<<b.source] = 0
	b.live[0] = append(b.live[0], 1<<b.source)
	best, end := b.limit, uint32(0)
	for b.step = 0; b.step < b.steps; b.step++ {
		for _, set := range b.live[b.step] {
			if !b.spent {
				b.grow(set)
			}
		}
	}
	for _, set := range b.live[b.steps] {
		if paid := b.paid[b.steps][set]; paid < best && set&b.wants == b.wants {
			best, end = paid, set
		}
	}
	if end == 0 || b.spent {
		return nil, best
	}
	return b.retrace(end), best
}

// soonest is the cost of spreading the chunk as early as possible: an upper bound
// on the least cost.
func (b *brancher) soonest() (pays int64) {
	for r := range b.net.ranks {
		d := int(b.net.dist[b.source][r])
		if d <= 0 || d > b.steps {
			continue
		}
		least := int64(infinite)
		for _, l := range b.net.in[r] {
			if int(b.net.dist[b.source][b.net.lanes[l].from]) == d-1 {
				least = min(least, b.price[int(l)*b.steps+d-1])
			}
		}
		pays += least
	}
	return pays
}

// earliest is a branching that spreads the chunk as early as possible, always over
// the cheapest lane.
func (b *brancher) earliest(price []int64) branching {
	b.price = price
	set := uint32(1) << b.source
	for t := range b.steps {
		more := set
		for r, soon := range b.reach[t+1] {
			if soon {
				more |= 1 << r
			}
		}
		b.whose[t+1][more], set = set, more
	}
	return b.retrace(set)
}

// foresee computes ahead.
func (b *brancher) foresee() {
	b.ahead = make([][]int64, b.steps+1)
	for t := b.steps; t >= 0; t-- {
		b.ahead[t] = slices.Repeat([]int64{infinite}, b.net.ranks)
		if t == b.steps {
			continue
		}
		copy(b.ahead[t], b.ahead[t+1])
		for i, l := range b.net.lanes {
			if b.reach[t][l.from] {
				b.ahead[t][l.to] = min(b.ahead[t][l.to], b.price[i*b.steps+t])
			}
		}
	}
}

// grow lets a set send to ranks it lacks, in every way that may be useful.
func (b *brancher) grow(set uint32) {
	b.set = set
	paid := b.paid[b.step][set]
	hope := paid // including a lower bound for the missing ranks that are already decided
	b.left = b.left[:0]
	more := set
	for r := range b.net.ranks {
		if set>>r&1 == 1 {
			continue
		}
		a := added{rank: r, now: infinite}
		if b.wants>>r&1 == 1 {
			a.later = b.ahead[b.step+1][r]
		}
		for _, l := range b.net.in[r] {
			if set>>b.net.lanes[l].from&1 == 1 {
				a.now = min(a.now, b.price[int(l)*b.steps+b.step])
			}
		}
		last := b.step == b.steps-1
		switch {
		case a.now == 0: // adding a rank for free never hurts
			more |= 1 << r
		case a.now == infinite || last && a.later == 0:
			if hope += a.later; hope >= b.limit {
				return
			}
		default:
			b.left = append(b.left, a)
		}
	}
	rest := int64(0)
	for i := len(b.left) - 1; i >= 0; i-- {
		rest += min(b.left[i].now, b.left[i].later)
		b.left[i].rest = rest
	}
	b.extend(0, more, paid, hope)
}

// extend decides about the remaining ranks one after another.
func (b *brancher) extend(at int, set uint32, paid, hope int64) {
	if b.work++; b.work > b.most || b.work%checkSets == 0 && b.over() {
		b.spent = true
	}
	if b.spent {
		return
	}
	if at == len(b.left) {
		if hope < b.limit {
			b.keep(set, paid)
		}
		return
	}
	a := &b.left[at]
	if hope+a.rest >= b.limit {
		return
	}
	b.extend(at+1, set|1<<a.rank, paid+a.now, hope+a.now)
	b.extend(at+1, set, paid, hope+a.later)
}

// keep records the cost of a set after the step, and its predecessor.
func (b *brancher) keep(set uint32, paid int64) {
	t := b.step + 1
	was := b.paid[t][set]
	if paid >= was {
		return
	}
	if was == infinite {
		b.live[t] = append(b.live[t], set)
	}
	b.paid[t][set], b.whose[t][set] = paid, b.set
}

// retrace reconstructs the branching that ends with a set, without hops that
// nobody needs.
func (b *brancher) retrace(set uint32) branching {
	type came struct {
		hop
		from int32
	}
	by := make([]came, b.net.ranks)
	for t := b.steps - 1; t >= 0; t-- {
		was := b.whose[t+1][set]
		for news := set &^ was; news != 0; news &= news - 1 {
			r := bits.TrailingZeros32(news)
			least := int64(infinite)
			for _, l := range b.net.in[r] {
				from := b.net.lanes[l].from
				if pays := b.price[int(l)*b.steps+t]; was>>from&1 == 1 && pays < least {
					least, by[r] = pays, came{hop{l, t}, from}
				}
			}
		}
		set = was
	}
	var all branching
	done := uint32(1) << b.source
	for wants := b.wants; wants != 0; wants &= wants - 1 {
		for r := bits.TrailingZeros32(wants); done>>r&1 == 0; r = int(by[r].from) {
			done |= 1 << r
			all = append(all, by[r].hop)
		}
	}
	slices.SortFunc(all, func(a, b hop) int { return (a.step-b.step)<<16 + int(a.lane-b.lane) })
	return all
}
