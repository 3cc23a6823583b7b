package search

import "github.com/colltune/colltune/compiler/lang"

// chain is operations that wait for each other.
//
//	rank 1 ─ message ─▶ rank 2 ─ message ─▶ rank 3 += ─ message ─▶ rank 4
//	                            rank 5 ─ message ─┘ │
//	                            rank 6 ─ message ───┘ its sum waits for the other's,
//	                                                  and the message for neither
type chain struct {
	messages, net int32   // and those of them that leave a node
	sums          int32   // messages of which only what is done where they arrive waits
	local         int32   // copies and reductions between them
	stored        int32   // messages that are not what the one before brought, sent on
	latency       float32 // µs, of their paths
	behind        float32 // µs, where each has one of another instance before it
	wire          float32 // µs a byte of every chunk, at the width of their paths
	chunks        float32 // that one threadblock after the other sends
	summed        float32 // the same, of the sums
	worked        float32 // the same, copied and reduced
}

// Where chains are compared: what a message, what is done where it arrives and a local
// operation take beside their bytes, in µs, and the bytes of a chunk, few and many.
const (
	messageStart = 2.0
	sumStart     = 2.0
	localStart   = 4.0
	chunkByte    = 5e-5 // of a threadblock, that sends or receives
)

var chainChunks = [2]float64{16, 1 << 20}

// weigh is how long a chain is where chunks have so many bytes.
func (c *chain) weigh(bytes float64) float64 {
	return messageStart*float64(c.messages+c.net) + sumStart*float64(c.sums) + localStart*float64(c.local) +
		float64(c.latency) + (float64(c.wire)+chunkByte*float64(c.chunks+c.summed))*bytes
}

// chains follows what each operation reads to the operation that wrote it.
type chains struct {
	program *lang.Program
	factors []float64                     // by scope: how often it is replicated
	between func(from, to int32) *passage // what a message meets
	spared  []bool                        // operations that are nobody's work
	joined  []bool                        // those done as one with the one before
	wrote   places                        // 1 + the operation that wrote a chunk last
	ends    [][len(chainChunks)]chain     // by operation: the longest that ends with it
	longest [len(chainChunks)]chain       // of all
}

// follow goes through the operations.
func (c *chains) follow() {
	c.wrote, c.ends = newPlaces(c.program), make([][len(chainChunks)]chain, len(c.program.Ops))
	for i := range c.program.Ops {
		op := &c.program.Ops[i]
		for which, bytes := range chainChunks {
			end, by := c.before(&op.Src, which)
			c.add(&end, int32(i), by)
			if op.Kind == lang.Reduce {
				other, by := c.before(&op.Dst, which)
				if c.addTo(&other, int32(i)); by > 0 && other.weigh(bytes) > end.weigh(bytes) {
					end = other
				}
			}
			c.ends[i][which] = end
			if end.weigh(bytes) > c.longest[which].weigh(bytes) {
				c.longest[which] = end
			}
		}
		into := c.wrote.of(&op.Dst)
		for n := range op.Dst.Count {
			into[op.Dst.Index+n*op.Dst.Stride] = int32(i) + 1
		}
	}
}

// before is the longest chain that ends with what wrote the chunks of a span, and 1 + the
// operation that it ends with.
func (c *chains) before(s *lang.Span, which int) (longest chain, from int32) {
	chunks, weight, last := c.wrote.of(s), 0.0, int32(0)
	for n := range s.Count {
		by := chunks[s.Index+n*s.Stride]
		if by == 0 || by == last { // an input, or what was just looked at
			continue
		}
		last = by
		end := &c.ends[by-1][which]
		if w := end.weigh(chainChunks[which]); w > weight {
			longest, weight, from = *end, w, by
		}
	}
	return longest, from
}

// add has an operation follow a chain that ends with what it reads, which is 1 + by.
func (c *chains) add(to *chain, i, by int32) {
	op := &c.program.Ops[i]
	chunks := float32(float64(op.Src.Count) / c.factors[op.Scope])
	switch {
	case c.spared[i]:
	case op.Src.Rank == op.Dst.Rank:
		to.local++
		to.worked += chunks
	default:
		w := c.between(op.Src.Rank, op.Dst.Rank)
		to.messages++
		if by > 0 && c.program.Ops[by-1].Dst != op.Src {
			to.stored++
		}
		if w.path.Net {
			to.net++
		}
		to.latency += float32(w.path.Latency)
		to.behind += float32(w.behind)
		to.wire += float32(float64(op.Src.Count) * w.wire)
		to.chunks += chunks
	}
}

// addTo has a reduction follow a chain that ends with what it adds to.
func (c *chains) addTo(to *chain, i int32) {
	op := &c.program.Ops[i]
	chunks := float32(float64(op.Src.Count) / c.factors[op.Scope])
	switch {
	case c.joined[i]:
	case op.Src.Rank == op.Dst.Rank:
		to.local++
		to.worked += chunks
	default:
		to.sums++
		to.summed += chunks
	}
}

// mostJoined is how many reductions a runtime does as one.
const mostJoined = 16

// joinedSums tells of every operation whether it is a reduction within a rank that is
// done as one with the one before into the same place.
func joinedSums(p *lang.Program) []bool {
	joined, run := make([]bool, len(p.Ops)), map[lang.Span]int{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Kind != lang.Reduce || op.Src.Rank != op.Dst.Rank {
			delete(run, op.Dst)
			continue
		}
		n := run[op.Dst]
		joined[i] = n > 0
		run[op.Dst] = (n + 1) % mostJoined
	}
	return joined
}
