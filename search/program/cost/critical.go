package cost

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
	crossings     int32   // messages that leave a node, those that wait included
	latency       float32 // µs: sum over the messages' paths
	occupied      float32 // µs: waiting for one message of another instance on each path
	wire          float32 // µs for each byte of a chunk, by the bandwidth of the paths
	chunks        float32 // chunks sent, one threadblock after another
	forwarded     float32 // chunks of messages that are forwarded as they arrive
	forwardedWire float32 // µs for each byte of a chunk in these
	summed        float32 // chunks of the messages in sums
	worked        float32 // chunks copied or reduced
	crossed       float32 // chunks of the messages in crossings
}

// Costs by which chains are compared.
const (
	messageStart  = 2.0  // µs a message
	queuedStart   = 1.0  // µs more if it waits for one before it on its connection
	sumStart      = 2.0  // µs to reduce what a message brought
	localStart    = 4.0  // µs a copy or reduction within a rank
	chunkByte     = 5e-5 // µs a byte of a chunk that a threadblock sends or receives
	forwardedPart = 0.25 // of the cost of a byte, where it is forwarded as it arrives
)

// chainChunks are the sizes of a chunk, in bytes, at which chains are compared.
var chainChunks = [2]float64{16, 1 << 20}

// cost is the time that a chain takes with chunks of a given size.
func (c *criticalPath) cost(bytes float64) float64 {
	return messageStart*float64(c.messages+c.net) + queuedStart*float64(c.queued) + sumStart*float64(c.sums) + localStart*float64(c.local) +
		float64(c.latency) + (float64(c.wire)+chunkByte*float64(c.chunks+c.summed)+forwardedPart*(float64(c.forwardedWire)+chunkByte*float64(c.forwarded)))*bytes
}

// pathSearch finds the longest chains of a program through the operations that wrote
// what each operation reads. It searches twice: for small messages, which do not delay
// each other, and for large ones, which take turns on their connection.
type pathSearch struct {
	*instance
	schedule *connectionSchedule
	writers  *lastWriters
	after    []predecessors                 // by operation
	ends     []criticalPath                 // by operation: the longest chain that ends with it
	longest  [len(chainChunks)]criticalPath // the longest of all, by size
	bytes    float64                        // of a chunk
	queues   bool                           // messages of one connection follow one another
}

// predecessors are the operations that an operation waits for: of the writers of its
// source, and of those of a reduction's operand, the one with the longest chain. Each is
// 1 + an operation, or 0 for none.
type predecessors struct {
	src, operand int32
	depth        int32 // operations in the longest sequence that ends with this one
}

// longestPaths visits the operations in the program's order, and then, with messages that
// queue, by depth.
func (c *pathSearch) longestPaths() {
	c.writers, c.ends = newLastWriters(c.program), make([]criticalPath, len(c.ops))
	c.after = make([]predecessors, len(c.ops))
	c.bytes = chainChunks[0]
	for i := range c.ops {
		op, p := &c.ops[i], &c.after[i]
		p.src = c.lastWriter(&op.Src, &p.depth)
		if op.Kind == lang.Reduce {
			p.operand = c.lastWriter(&op.Operand, &p.depth)
		}
		p.depth++
		c.end(int32(i), &c.longest[0])
		writers := c.writers.of(&op.Dst)
		for n := range op.Dst.Count {
			writers[n*op.Dst.Stride] = int32(i) + 1
		}
	}
	c.bytes, c.queues = chainChunks[1], true
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

// lastWriter returns 1 + the operation with the longest chain among those that wrote the
// chunks of a span, or 0. It raises depth to the deepest of them.
func (c *pathSearch) lastWriter(s *lang.Span, depth *int32) (longest int32) {
	writers, most, last := c.writers.of(s), -1.0, int32(0)
	for n := range s.Count {
		by := writers[n*s.Stride]
		if by == 0 || by == last { // an input, or the same as the last
			continue
		}
		last = by
		*depth = max(*depth, c.after[by-1].depth)
		if cost := c.ends[by-1].cost(c.bytes); cost > most {
			most, longest = cost, by
		}
	}
	return longest
}

// chain returns the longest chain that ends with an operation, given as in predecessors.
func (c *pathSearch) chain(by int32) (none criticalPath) {
	if by > 0 {
		return c.ends[by-1]
	}
	return none
}

// end finds the longest chain that ends with an operation, and updates longest.
func (c *pathSearch) end(i int32, longest *criticalPath) {
	p := c.after[i]
	end := c.chain(p.src)
	c.extend(&end, i)
	if c.ops[i].Kind == lang.Reduce {
		other := c.chain(p.operand)
		if c.extendOperand(&other, i); p.operand > 0 && other.cost(c.bytes) > end.cost(c.bytes) {
			end = other
		}
	}
	c.ends[i] = end
	if end.cost(c.bytes) > longest.cost(c.bytes) {
		*longest = end
	}
}

// extend appends an operation to a chain that ends with a writer of its source.
func (c *pathSearch) extend(to *criticalPath, i int32) {
	if isLocal(&c.ops[i]) {
		to.local++
		to.worked += float32(c.chunks(i))
		return
	}
	if c.queues {
		if ahead := c.schedule.queue(i, to.cost(c.bytes), c.busy(i)); ahead >= 0 {
			*to = c.ends[ahead]
			if c.forwards(ahead) { // all of it was sent before this begins
				c.forward(to, ahead, -1)
				c.send(to, ahead)
			}
			to.queued++
			c.cross(to, i)
			c.send(to, i)
			return
		}
	}
	w := c.schedule.paths[c.schedule.of[i]]
	to.messages++
	if c.cross(to, i) {
		to.net++
	}
	to.latency += float32(w.path.Latency)
	to.occupied += float32(w.occupied)
	if c.forwards(i) {
		c.forward(to, i, 1)
		return
	}
	if c.after[i].src > 0 {
		to.stored++
	}
	c.send(to, i)
}

// extendOperand appends a reduction to a chain that ends with a writer of its operand.
func (c *pathSearch) extendOperand(to *criticalPath, i int32) {
	switch {
	case c.batched[i]:
	case isLocal(&c.ops[i]):
		to.local++
		to.worked += float32(c.chunks(i))
	default:
		to.sums++
		to.summed += float32(c.chunks(i))
	}
}

// forwards reports whether a message sends on what the message before it brought.
func (c *pathSearch) forwards(i int32) bool {
	op, by := &c.ops[i], c.after[i].src
	if by == 0 || isLocal(op) {
		return false
	}
	brought := &c.ops[by-1]
	return brought.Dst == op.Src && !isLocal(brought)
}

// wire returns the time of all replicas of a message together on the wire, in µs for each
// byte of a chunk.
func (c *pathSearch) wire(i int32) float32 {
	return float32(float64(c.ops[i].Src.Count) * c.schedule.paths[c.schedule.of[i]].wire)
}

// cross counts a message that leaves its node, and reports whether it does.
func (c *pathSearch) cross(to *criticalPath, i int32) bool {
	if !c.schedule.paths[c.schedule.of[i]].path.Net {
		return false
	}
	to.crossings++
	to.crossed += float32(c.chunks(i))
	return true
}

func (c *pathSearch) send(to *criticalPath, i int32) {
	to.chunks += float32(c.chunks(i))
	to.wire += c.wire(i)
}

func (c *pathSearch) forward(to *criticalPath, i int32, times float32) {
	to.forwarded += times * float32(c.chunks(i))
	to.forwardedWire += times * c.wire(i)
}

// busy returns how long a message keeps its connection busy, in µs.
func (c *pathSearch) busy(i int32) float64 {
	one := criticalPath{queued: 1}
	c.send(&one, i)
	return one.cost(c.bytes)
}
