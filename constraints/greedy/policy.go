package greedy

import (
	"math"
	"math/bits"
)

// policy is what a try prefers, as a row of the table of policies, with its seed.
type policy struct {
	name string
	// rare prefers chunks that few ranks know of.
	rare bool
	// once sends a chunk to a node only if no rank there knows it.
	once bool
	// patient leaves a slow link idle if the other links bring everything its end
	// lacks sooner.
	patient bool
	// lazy leaves a slow link idle half of the time, in case something better
	// comes.
	lazy bool
	// weight, by chunk, takes precedence over everything else: it is what came
	// late in an earlier try.
	weight []int32
	seed   uint64
}

// policies are tried in turn.
var policies = []policy{
	{name: "rarest", rare: true},
	{name: "rarest, patient", rare: true, patient: true},
	{name: "random"},
	{name: "random, patient", patient: true},
	{name: "rarest, lazy", rare: true, lazy: true},
	{name: "rarest, once a node", rare: true, once: true},
	{name: "random, patient and lazy", patient: true, lazy: true},
}

// idle reports whether all of a hop's edges are free.
func (r *run) idle(h int32) bool {
	for _, e := range r.hops[h].edges {
		if r.free[e] > r.now {
			return false
		}
	}
	return true
}

// dawdles reports whether a hop that is slower than another to the same rank sits
// this moment out.
func (r *run) dawdles(h int32) bool {
	for _, o := range r.into[r.hops[h].to] {
		if r.time[o] < r.time[h]*(1-tolerance) {
			return mix(r.seed, uint64(h), math.Float64bits(r.now))&1 == 0
		}
	}
	return false
}

// better reports whether the other hops to a rank bring everything it lacks before
// this one would bring a chunk.
func (r *run) better(h int32) bool {
	arrive := r.now + r.time[h]
	count := 0.0
	for _, o := range r.into[r.hops[h].to] {
		if o == h {
			continue
		}
		free := r.now
		for _, e := range r.hops[o].edges {
			free = max(free, r.free[e])
		}
		slots := math.Floor((arrive - free) / r.time[o] * (1 + tolerance))
		if slots >= 1 {
			count += min(slots, float64(r.offers(o, arrive)))
		}
	}
	return count >= float64(r.lacks[r.hops[h].to])
}

// offers counts the chunks that a hop could bring before the given time and that
// its end does not know.
func (r *run) offers(h int32, by float64) (count int) {
	from, to := int(r.hops[h].from), int(r.hops[h].to)
	by = by*(1+tolerance) - r.time[h]
	for w := range r.words {
		for set := r.known[from*r.words+w] &^ r.known[to*r.words+w]; set != 0; set &= set - 1 {
			if r.arrival[from*r.total+w*64+bits.TrailingZeros64(set)] <= by {
				count++
			}
		}
	}
	return count
}

// looked limits how many chunks a hop chooses from; of more, it considers those
// from some position on.
const looked = 512

// choose is the best chunk for a hop to carry now, or none.
func (r *run) choose(h int32) int32 {
	hop := &r.hops[h]
	have := r.have[int(hop.from)*r.words : (int(hop.from)+1)*r.words]
	known := r.known[int(hop.to)*r.words : (int(hop.to)+1)*r.words]
	var inNode []int16
	if hop.net && r.inNode != nil {
		node := r.t.Ranks[hop.to].Node
		inNode = r.inNode[node*r.total : (node+1)*r.total]
	}
	best, least := none, uint64(math.MaxUint64)
	start := 0
	if r.words > 1 {
		start = int(mix(r.seed, uint64(h), uint64(r.lacks[hop.to])) % uint64(r.words))
	}
	seen := 0
	for i := range r.words {
		w := start + i
		if w >= r.words {
			w -= r.words
		}
		for set := have[w] &^ known[w]; set != 0; set &= set - 1 {
			c := int32(w*64 + bits.TrailingZeros64(set))
			key := mix(r.seed, uint64(c), uint64(hop.to)) >> 32
			if r.rare {
				key |= uint64(r.count[c]) << 32
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
		if seen >= looked {
			break
		}
	}
	return best
}

// mix spreads three numbers over 64 bits.
func mix(a, b, c uint64) uint64 {
	x := a*0xd6e8feb86659fd93 ^ b*0xa0761d6478bd642f ^ c*0xe7037ed1a0b428db
	for range 2 {
		x ^= x >> 32
		x *= 0xd6e8feb86659fd93
	}
	return x ^ x>>32
}
