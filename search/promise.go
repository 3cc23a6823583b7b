package search

import (
	"math"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// promise is what a routing would take, by sums over its operations alone: for each
// thing that can be the slowest, what it has to carry.
//
//	launch ─▶ the longest chain of messages, a tile of each ─▶ the further tiles, at the pace
//	                                                           of the busiest edge or connection
//
// It is an order and no bound: nothing is known yet of threadblocks, of who waits
// for whom among them, and of links that are shared for part of the time.
type promise struct {
	loop        int      // chunks that a call's size is divided into
	chains      [2]chain // the longest of small messages, and of large ones
	edge        float64  // µs a byte of every chunk: the busiest edge's
	messages    float64  // µs: what the messages cost the edge where they cost most
	calls       float64  // messages of the busiest connection
	connected   float64  // chunks over the connection that carries most
	localCalls  float64  // copies and reductions of the rank and channel that have most
	local       float64  // their chunks
	connections int      // one way, of the rank that has most: threadblocks it must have
	channels    int      // that the program names
}

// chain is messages that wait for each other.
type chain struct {
	messages, net int32   // and those of them that leave a node
	local         int32   // copies and reductions between them
	stored        int32   // messages that are not what the one before brought, sent on
	latency       float32 // µs, of their paths
	behind        float32 // µs, where each has one of another instance before it
	wire          float32 // µs a byte of every chunk, at the width of their paths
	chunks        float32 // that one threadblock after the other sends
	worked        float32 // the same, copied and reduced
}

// Where chains are compared: what a message and a local operation take beside their
// bytes, in µs, and the bytes of a chunk, few and many.
const (
	messageStart = 2.0
	localStart   = 4.0
)

var chainChunks = [2]float64{16, 1 << 20}

// weigh is how long a chain is where chunks have so many bytes.
func (c *chain) weigh(bytes float64) float64 {
	return messageStart*float64(c.messages+c.net) + localStart*float64(c.local) + float64(c.latency) + float64(c.wire)*bytes
}

// passage is what a message from one rank to another meets.
type passage struct {
	path   topologies.Path
	wire   float64 // µs a byte, of the narrowest edge
	behind float64 // µs that an edge is taken by a message, whatever its bytes
}

func passageOf(t *topologies.Topology, from, to int32) passage {
	path, _ := t.Path(int(from), int(to))
	w := passage{path: path}
	for _, e := range path.Edges {
		w.wire = max(w.wire, 1/t.Edges[e].Bandwidth.PerMicro())
		w.behind = max(w.behind, float64(t.Edges[e].Message))
	}
	return w
}

// promises sums a program up.
func promises(p *lang.Program, t *topologies.Topology) *promise {
	ways := map[[2]int32]*passage{}
	factors := scopeFactors(p)
	of := &promise{loop: p.Collective.LoopChunks()}
	spared := sparedCopies(p)
	of.chains = longestChains(p, factors, spared, func(from, to int32) *passage {
		at := [2]int32{from, to}
		w := ways[at]
		if w == nil {
			one := passageOf(t, from, to)
			w = &one
			ways[at] = w
		}
		return w
	})

	type connection struct {
		from, to, channel, scope int32
	}
	type load struct{ messages, chunks float64 }
	carried := map[connection]load{}
	worked := map[[2]int32]load{} // by rank and channel
	named := map[int32]bool{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Channel >= 0 {
			named[op.Channel] = true
		}
		if spared[i] {
			continue
		}
		if op.Src.Rank == op.Dst.Rank {
			l := worked[[2]int32{op.Src.Rank, op.Channel}]
			l.messages++
			l.chunks += float64(op.Src.Count) / factors[op.Scope]
			worked[[2]int32{op.Src.Rank, op.Channel}] = l
			continue
		}
		at := connection{op.Src.Rank, op.Dst.Rank, op.Channel, op.Scope}
		l := carried[at]
		l.messages++
		l.chunks += float64(op.Src.Count)
		carried[at] = l
	}
	of.channels = max(len(named), 1)
	busy := make([]load, len(t.Edges)) // in µs a byte, and µs
	ends := map[[3]int32]bool{}        // rank, peer and channel; receiving ranks as -1-rank
	used := map[int32]int{}
	for at, l := range carried {
		factor := factors[at.scope]
		of.calls = max(of.calls, l.messages)
		of.connected = max(of.connected, l.chunks/factor)
		for _, e := range ways[[2]int32{at.from, at.to}].path.Edges {
			busy[e].chunks += l.chunks / t.Edges[e].Bandwidth.PerMicro()
			busy[e].messages += l.messages * factor * float64(t.Edges[e].Message)
		}
		for _, end := range [][3]int32{{at.from, at.to, at.channel}, {-1 - at.to, at.from, at.channel}} {
			if !ends[end] {
				ends[end] = true
				used[end[0]]++
				of.connections = max(of.connections, used[end[0]])
			}
		}
	}
	for _, l := range worked {
		of.localCalls, of.local = max(of.localCalls, l.messages), max(of.local, l.chunks)
	}
	for _, l := range busy {
		of.edge, of.messages = max(of.edge, l.chunks), max(of.messages, l.messages)
	}
	return of
}

// scopeFactors is how often the operations of each scope are replicated.
func scopeFactors(p *lang.Program) []float64 {
	factors := make([]float64, len(p.Scopes))
	for i, s := range p.Scopes {
		factors[i] = float64(s.Factor)
		if i > 0 { // a scope's parent comes before it
			factors[i] *= factors[s.Parent]
		}
	}
	return factors
}

// longestChains follows what each operation reads to the operation that wrote it.
func longestChains(p *lang.Program, factors []float64, spared []bool, between func(from, to int32) *passage) (longest [2]chain) {
	wrote := newPlaces(p) // 1 + the operation
	ends := make([][2]chain, len(p.Ops))
	for i := range p.Ops {
		op := &p.Ops[i]
		var before [2]chain
		var weight [2]float64
		var from [2]int32
		last := int32(0)
		read := func(s *lang.Span) {
			chunks := wrote.of(s)
			for k, n := s.Index, int32(0); n < s.Count; k, n = k+s.Stride, n+1 {
				by := chunks[k]
				if by == 0 || by == last { // an input, or what was just looked at
					continue
				}
				last = by
				for which := range before {
					c := &ends[by-1][which]
					if w := c.weigh(chainChunks[which]); w > weight[which] {
						weight[which], before[which], from[which] = w, *c, by
					}
				}
			}
		}
		read(&op.Src)
		if op.Kind == lang.Reduce {
			read(&op.Dst)
		}
		for which := range before {
			c := &before[which]
			if spared[i] {
				ends[i][which] = *c
				continue
			}
			if op.Src.Rank == op.Dst.Rank {
				c.local++
				c.worked += float32(float64(op.Src.Count) / factors[op.Scope])
			} else {
				w := between(op.Src.Rank, op.Dst.Rank)
				c.messages++
				if by := from[which]; by > 0 && p.Ops[by-1].Dst != op.Src {
					c.stored++
				}
				if w.path.Net {
					c.net++
				}
				c.latency += float32(w.path.Latency)
				c.behind += float32(w.behind)
				c.wire += float32(float64(op.Src.Count) * w.wire)
				c.chunks += float32(float64(op.Src.Count) / factors[op.Scope])
			}
			ends[i][which] = *c
			if c.weigh(chainChunks[which]) > longest[which].weigh(chainChunks[which]) {
				longest[which] = *c
			}
		}
		into := wrote.of(&op.Dst)
		for k, n := op.Dst.Index, int32(0); n < op.Dst.Count; k, n = k+op.Dst.Stride, n+1 {
			into[k] = int32(i) + 1
		}
	}
	return longest
}

// sparedCopies are the copies within a rank that are nobody's work: something is
// added to what was copied, which the compiler adds to it where it was (its pass
// forward).
func sparedCopies(p *lang.Program) []bool {
	spared := make([]bool, len(p.Ops))
	copied := newPlaces(p) // 1 + the copy, where nothing has touched what it left since
	for i := range p.Ops {
		op := &p.Ops[i]
		for _, s := range [2]*lang.Span{&op.Src, &op.Dst} {
			chunks := copied.of(s)
			for k, n := s.Index, int32(0); n < s.Count; k, n = k+s.Stride, n+1 {
				if by := chunks[k]; by > 0 {
					spared[by-1] = op.Kind == lang.Reduce && s == &op.Dst
					chunks[k] = 0
				}
			}
		}
		if op.Kind != lang.Reduce && op.Src.Rank == op.Dst.Rank {
			into := copied.of(&op.Dst)
			for k, n := op.Dst.Index, int32(0); n < op.Dst.Count; k, n = k+op.Dst.Stride, n+1 {
				into[k] = int32(i) + 1
			}
		}
	}
	return spared
}

// places is a number for each chunk of all buffers that a program touches.
type places [][][]int32 // by rank, buffer and chunk

func newPlaces(p *lang.Program) places {
	var sizes [][]int32
	for i := range p.Ops {
		for _, s := range [2]*lang.Span{&p.Ops[i].Src, &p.Ops[i].Dst} {
			for int(s.Rank) >= len(sizes) {
				sizes = append(sizes, nil)
			}
			of := &sizes[s.Rank]
			for int(s.Buf) >= len(*of) {
				*of = append(*of, 0)
			}
			(*of)[s.Buf] = max((*of)[s.Buf], s.Index+(s.Count-1)*s.Stride+1)
		}
	}
	all := make(places, len(sizes))
	for rank, of := range sizes {
		all[rank] = make([][]int32, len(of))
		for buffer, n := range of {
			all[rank][buffer] = make([]int32, n)
		}
	}
	return all
}

// of is the numbers of the buffer that a span lies in.
func (p places) of(s *lang.Span) []int32 { return p[s.Rank][s.Buf] }

// estimate is the promised time in microseconds of so many instances at a size, with
// the best of a protocol's tiles.
func (m *promise) estimate(c *topologies.Protocol, bytes int64, instances int) float64 {
	least := m.tiled(c, max(float64(c.Tile), 1), bytes, float64(instances))
	for _, tile := range c.Tiles {
		least = min(least, m.tiled(c, max(float64(tile), 1), bytes, float64(instances)))
	}
	return least
}

// tiled is the promised time with one tile.
func (m *promise) tiled(c *topologies.Protocol, tile float64, bytes int64, copies float64) float64 {
	chunk := float64(bytes) / float64(m.loop) / copies
	tiles := max(math.Ceil(chunk/tile), 1)
	x := chunk / tiles // bytes of a chunk in a tile, in each instance

	call := float64(c.SendCall) + float64(c.RecvCall)
	aByte := 0.0 // what a threadblock takes to move one
	// What sends on what it receives begins when that does, but for Simple's slices:
	// other messages wait for all bytes of those before them.
	stored := func(of *chain) float64 {
		return float64(min(of.messages, of.stored+of.local+1)) / float64(max(of.messages, 1))
	}
	whole := 0.0
	switch {
	case c.Pass > 0:
		aByte = max(float64(c.SendPass), float64(c.RecvPass)) / float64(c.Pass)
		call += float64(c.SendPass+c.RecvPass) * float64(c.MinPass) / float64(c.Pass)
	case c.SendRate > 0:
		aByte = 1 / c.SendRate.PerMicro()
		call += float64(c.SendSlice) + float64(c.RecvSlice)
		whole = 0.5
	}
	// A local operation waits for another threadblock's, and is waited for.
	local := float64(c.ReduceCall) + float64(c.ReducePass) + 2*float64(c.Dep)
	worked := 0.0 // µs a byte
	if c.Threads > 0 {
		worked = float64(c.ReducePass) / float64(c.Threads*16)
	}
	// A message of more than a tile is as many calls.
	calls := func(messages, chunks float64) float64 { return max(messages, chunks*x/tile) }

	first, forwards := 0.0, 1.0
	for i := range m.chains {
		of := &m.chains[i]
		moved := max(stored(of), whole)
		if of.messages > of.stored+of.local+1 {
			forwards = max(c.Fused, 1)
		}
		first = max(first, float64(of.messages)*float64(c.Latency)+float64(of.net)*float64(c.NetLatency)+float64(of.latency)+(copies-1)*float64(of.behind)+
			float64(of.local)*local+x*float64(of.worked)*worked+call*calls(float64(of.messages), moved*float64(of.chunks))+
			moved*x*max(float64(of.wire)*c.Wire*copies, float64(of.chunks)*aByte))
	}
	pace := max(copies*(m.edge*x*c.Wire+m.messages), call*calls(m.calls, m.connected)+m.connected*x*aByte*forwards,
		m.localCalls*float64(c.ReduceCall)+m.local*x*worked)
	return float64(c.Launch) + max(first, pace) + (tiles-1)*pace
}
