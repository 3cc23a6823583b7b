package greedy

import (
	"math"
	"math/bits"
)

// policy is the preferences of an asynchronous try.
type policy struct {
	// rare prefers chunks that few ranks know of.
	rare bool
	// once sends a chunk to a node only if no rank there knows it.
	once bool
	// patient leaves a link idle if the other links bring everything that its receiver
	// lacks sooner.
	patient bool
	// lazy leaves a slow link idle at half of the moments, at random.
	lazy bool
	// weight, by chunk, is how often it arrived late in an earlier try. It takes
	// precedence over everything else.
	weight []int32
	seed   uint64
}

// policies are used in turn by the tries.
var policies = []policy{
	{rare: true},
	{rare: true, patient: true},
	{},
	{patient: true},
	{rare: true, lazy: true},
	{rare: true, once: true},
	{patient: true, lazy: true},
}

// idle reports whether all of a hop's edges are free.
func (r *run) idle(h int32) bool {
	for _, e := range r.hops[h].Edges {
		if r.free[e] > r.now {
			return false
		}
	}
	return true
}

// sitsOut reports whether a lazy try leaves a hop idle at this moment, because another hop to
// the same rank is faster.
func (r *run) sitsOut(h int32) bool {
	for _, o := range r.in[r.hops[h].To] {
		if r.delay[o] < r.delay[h]*(1-tolerance) {
			return hash(r.seed, uint64(h), math.Float64bits(r.now))&1 == 0
		}
	}
	return false
}

// othersSuffice reports whether the other hops to a rank bring everything that it lacks before
// this one would bring a chunk.
func (r *run) othersSuffice(h int32) bool {
	arrive := r.now + r.delay[h]
	count := 0.0
	for _, o := range r.in[r.hops[h].To] {
		if o == h {
			continue
		}
		free := r.now
		for _, e := range r.hops[o].Edges {
			free = max(free, r.free[e])
		}
		slots := math.Floor((arrive - free) / r.delay[o] * (1 + tolerance))
		if slots >= 1 {
			count += min(slots, float64(r.offers(o, arrive)))
		}
	}
	return count >= float64(r.lacks[r.hops[h].To])
}

// offers counts the chunks that a hop could bring by a time and that its receiver does not
// know.
func (r *run) offers(h int32, by float64) (count int) {
	from, to := int(r.hops[h].From), int(r.hops[h].To)
	by = by*(1+tolerance) - r.delay[h]
	for w := range r.wordsPerRow {
		for set := r.known[from*r.wordsPerRow+w] &^ r.known[to*r.wordsPerRow+w]; set != 0; set &= set - 1 {
			if r.arrival[from*r.ranks+w*64+bits.TrailingZeros64(set)] <= by {
				count++
			}
		}
	}
	return count
}

// maxConsidered limits the chunks that a hop chooses from; if there are more, it considers
// those from a random position on.
const maxConsidered = 512

// choose returns the best chunk for a hop to carry now, or none.
func (r *run) choose(h int32) int32 {
	hop := &r.hops[h]
	have := r.have[int(hop.From)*r.wordsPerRow : (int(hop.From)+1)*r.wordsPerRow]
	known := r.known[int(hop.To)*r.wordsPerRow : (int(hop.To)+1)*r.wordsPerRow]
	var inNode []int16
	if hop.Net && r.inNode != nil {
		node := r.t.Ranks[hop.To].Node
		inNode = r.inNode[node*r.ranks : (node+1)*r.ranks]
	}
	best, least := none, uint64(math.MaxUint64)
	start := 0
	if r.wordsPerRow > 1 {
		start = int(hash(r.seed, uint64(h), uint64(r.lacks[hop.To])) % uint64(r.wordsPerRow))
	}
	seen := 0
	for i := range r.wordsPerRow {
		w := start + i
		if w >= r.wordsPerRow {
			w -= r.wordsPerRow
		}
		for set := have[w] &^ known[w]; set != 0; set &= set - 1 {
			c := int32(w*64 + bits.TrailingZeros64(set))
			key := hash(r.seed, uint64(c), uint64(hop.To)) >> 32
			if r.rare {
				key |= uint64(r.holders[c]) << 32
			}
			if inNode != nil {
				if inNode[c] > 0 && r.once {
					continue
				}
				key |= uint64(inNode[c]) << 48
			}
			if r.weight != nil {
				key -= min(key, uint64(r.weight[c])<<32)
			}
			if key < least {
				best, least = c, key
			}
			seen++
		}
		if seen >= maxConsidered {
			break
		}
	}
	return best
}

// hash hashes three numbers into 64 bits.
func hash(a, b, c uint64) uint64 {
	x := a*0xd6e8feb86659fd93 ^ b*0xa0761d6478bd642f ^ c*0xe7037ed1a0b428db
	for range 2 {
		x ^= x >> 32
		x *= 0xd6e8feb86659fd93
	}
	return x ^ x>>32
}
