package search

import "github.com/colltune/colltune/compiler/lang"

// criticalPath sums up a chain of operations, each of which waits for the one before.
//
//	rank 1 ─ message ─▶ rank 2 ─ message ─▶ rank 3 += ─ message ─▶ rank 4
//	                            rank 5 ─ message ─┘ │
//	                            rank 6 ─ message ───┘ rank 3 adds one after the other;
//	                                                  the messages need not wait
type criticalPath struct {
	messages, net int32   // length in messages, and how many of them leave a node
	sums          int32   // messages into a reduction that waits for another operand, too
	local         int32   // copies and reductions between messages
	stored        int32   // messages sent from memory, not forwarded as they arrive
	queued        int32   // messages that wait for an earlier one on their connection
	latency       float32 // µs: sum over the messages' paths
	behind        float32 // µs: waiting for one message of another instance on each path
	wire          float32 // µs for each byte of a chunk, by the bandwidth of the paths
	chunks        float32 // chunks sent, one threadblock after another
	passed        float32 // chunks of messages that are forwarded as they arrive
	passedWire    float32 // µs for each byte of a chunk in these
	summed        float32 // chunks of the messages in sums
	worked        float32 // chunks copied or reduced
}

// Costs by which chains are compared.
const (
	messageStart = 2.0  // µs a message
	queuedStart  = 1.0  // µs more if it waits for one before it on its connection
	sumStart     = 2.0  // µs to reduce what a message brought
	localStart   = 4.0  // µs a copy or reduction within a rank
	chunkByte    = 5e-5 // µs a byte of a chunk that a threadblock sends or receives
	passedPart   = 0.25 // of the cost of a byte, where it is forwarded as it arrives
)

// chainChunks are the sizes of a chunk, in bytes, at which chains are compared.
var chainChunks = [2]float64{16, 1 << 20}

// cost is the time that a chain takes with chunks of a given size.
func (c *criticalPath) cost(bytes float64) float64 {
	return messageStart*float64(c.messages+c.net) + queuedStart*float64(c.queued) + sumStart*float64(c.sums) + localStart*float64(c.local) +
		float64(c.latency) + (float64(c.wire)+chunkByte*float64(c.chunks+c.summed)+passedPart*(float64(c.passedWire)+chunkByte*float64(c.passed)))*bytes
}

// pathSearch finds the longest chains of a program through the operations that wrote
// what each operation reads. It searches twice: for small messages, which do not delay
// each other, and for large ones, which take turns on their connection.
type pathSearch struct {
	program *lang.Program
	factors []float64                      // by scope: the number of instances
	spared  []bool                         // by operation: the compiler removes it
	joined  []bool                         // by operation: it runs together with the one before
	wrote   chunkTable                     // 1 + the last operation that wrote a chunk
	after   []waits                        // by operation
	ends    []criticalPath                 // by operation: the longest chain that ends with it
	longest [len(chainChunks)]criticalPath // the longest of all, by size
	lines   *connectionSchedule
	bytes   float64 // of a chunk
	turns   bool    // messages of one connection take turns
}

// waits are the operations that an operation waits for: of those that wrote what it
// reads (from), and of those that wrote what it adds to (to), the one with the longest
// chain. Each is 1 + an operation, or 0 for none.
type waits struct {
	from, to int32
	depth    int32 // operations in the longest sequence that ends with this one
}

// longestPaths visits the operations in the program's order, and then by depth, for
// messages to take turns in.
func (c *pathSearch) longestPaths() {
	c.wrote, c.ends = newChunkTable(c.program), make([]criticalPath, len(c.program.Ops))
	c.after = make([]waits, len(c.program.Ops))
	c.bytes = chainChunks[0]
	for i := range c.program.Ops {
		op, w := &c.program.Ops[i], &c.after[i]
		w.from = c.before(&op.Src, &w.depth)
		if op.Kind == lang.Reduce {
			w.to = c.before(&op.Dst, &w.depth)
		}
		w.depth++
		c.end(int32(i), &c.longest[0])
		into := c.wrote.of(&op.Dst)
		for n := range op.Dst.Count {
			into[op.Dst.Index+n*op.Dst.Stride] = int32(i) + 1
		}
	}
	c.bytes, c.turns = chainChunks[1], true
	for _, i := range c.byDepth() {
		c.end(i, &c.longest[1])
	}
}

// byDepth sorts the operations stably by depth.
func (c *pathSearch) byDepth() []int32 {
	deepest := int32(0)
	for i := range c.after {
		deepest = max(deepest, c.after[i].depth)
	}
	first := make([]int32, deepest+2) // by depth
	for i := range c.after {
		first[c.after[i].depth+1]++
	}
	for d := range deepest + 1 {
		first[d+1] += first[d]
	}
	order := make([]int32, len(c.after))
	for i := range c.after {
		at := &first[c.after[i].depth]
		order[*at] = int32(i)
		*at++
	}
	return order
}

// before returns 1 + the operation with the longest chain among those that wrote the
// chunks of a span, or 0. It raises depth to the deepest of them.
func (c *pathSearch) before(s *lang.Span, depth *int32) (from int32) {
	chunks, weight, last := c.wrote.of(s), -1.0, int32(0)
	for n := range s.Count {
		by := chunks[s.Index+n*s.Stride]
		if by == 0 || by == last { // an input, or the same as the last
			continue
		}
		last = by
		*depth = max(*depth, c.after[by-1].depth)
		if w := c.ends[by-1].cost(c.bytes); w > weight {
			weight, from = w, by
		}
	}
	return from
}

// chain returns the longest chain that ends with an operation, given as in waits.
func (c *pathSearch) chain(by int32) (none criticalPath) {
	if by > 0 {
		return c.ends[by-1]
	}
	return none
}

// end finds the longest chain that ends with an operation, and updates longest.
func (c *pathSearch) end(i int32, longest *criticalPath) {
	w := c.after[i]
	end := c.chain(w.from)
	c.add(&end, i)
	if c.program.Ops[i].Kind == lang.Reduce {
		other := c.chain(w.to)
		if c.addTo(&other, i); w.to > 0 && other.cost(c.bytes) > end.cost(c.bytes) {
			end = other
		}
	}
	c.ends[i] = end
	if end.cost(c.bytes) > longest.cost(c.bytes) {
		*longest = end
	}
}

// add extends a chain, which wrote what an operation reads, by the operation.
func (c *pathSearch) add(to *criticalPath, i int32) {
	op := &c.program.Ops[i]
	if c.spared[i] {
		return
	}
	if op.Src.Rank == op.Dst.Rank {
		to.local++
		to.worked += c.chunks(i)
		return
	}
	if c.turns {
		if before := c.lines.queue(i, to.cost(c.bytes), c.alone(i)); before >= 0 {
			*to = c.ends[before]
			if c.passes(before) { // all of it was sent before this begins
				c.pass(to, before, -1)
				c.send(to, before)
			}
			to.queued++
			c.send(to, i)
			return
		}
	}
	w := c.lines.ways[c.lines.of[i]]
	to.messages++
	if w.path.Net {
		to.net++
	}
	to.latency += float32(w.path.Latency)
	to.behind += float32(w.behind)
	if c.passes(i) {
		c.pass(to, i, 1)
		return
	}
	if c.after[i].from > 0 {
		to.stored++
	}
	c.send(to, i)
}

// passes reports whether a message forwards what the message before it brought.
func (c *pathSearch) passes(i int32) bool {
	op, by := &c.program.Ops[i], c.after[i].from
	if by == 0 || op.Src.Rank == op.Dst.Rank {
		return false
	}
	before := &c.program.Ops[by-1]
	return before.Dst == op.Src && before.Src.Rank != before.Dst.Rank
}

// chunks returns the chunks that each instance of an operation moves, and wire the time
// of all instances together on the wire, in µs for each byte of a chunk.
func (c *pathSearch) chunks(i int32) float32 {
	op := &c.program.Ops[i]
	return float32(float64(op.Src.Count) / c.factors[op.Scope])
}

func (c *pathSearch) wire(i int32) float32 {
	return float32(float64(c.program.Ops[i].Src.Count) * c.lines.ways[c.lines.of[i]].wire)
}

func (c *pathSearch) send(to *criticalPath, i int32) {
	to.chunks += c.chunks(i)
	to.wire += c.wire(i)
}

func (c *pathSearch) pass(to *criticalPath, i int32, times float32) {
	to.passed += times * c.chunks(i)
	to.passedWire += times * c.wire(i)
}

// alone is how long a message keeps its connection busy.
func (c *pathSearch) alone(i int32) float64 {
	one := criticalPath{queued: 1}
	c.send(&one, i)
	return one.cost(c.bytes)
}

// addTo extends a chain, which wrote what a reduction adds to, by the reduction.
func (c *pathSearch) addTo(to *criticalPath, i int32) {
	op := &c.program.Ops[i]
	switch {
	case c.joined[i]:
	case op.Src.Rank == op.Dst.Rank:
		to.local++
		to.worked += c.chunks(i)
	default:
		to.sums++
		to.summed += c.chunks(i)
	}
}

// mostJoined is the most reductions that a runtime executes as one.
const mostJoined = 16

// joinedSums reports for each operation whether it is a reduction within a rank that
// runs together with the one before it into the same place.
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
