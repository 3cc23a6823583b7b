package cost

import (
	"slices"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// Summary sums up the cost of a routing from the operations of one instance: the load
// on each thing that can be the bottleneck.
//
//	launch ─▶ the critical path of messages, a tile of each ─▶ the further tiles, at the pace
//	                                                           of the busiest edge or connection
//
// It is for ranking and proves no bound: threadblocks, the waits between them, and
// links that are shared for part of the time are not known yet. Of a program's messages
// alone it takes a fraction of the time, and what it estimates is at most what the whole
// summary does.
type Summary struct {
	Whole         bool            // criticalPaths and local work are known, too
	Loop          int             // chunks that the call's size is divided into
	criticalPaths [2]criticalPath // the longest with small messages, and with large ones
	edge          float64         // µs for each byte of a chunk, on the busiest edge
	inside        float64         // the same, of messages within a node only
	messages      float64         // µs: fixed costs of messages, on the edge with the most
	Moved         float64         // chunks of all messages
	calls         float64         // messages of the connection with the most
	connected     float64         // chunks of the connection with the most
	localCalls    float64         // copies and reductions of the threadblock with the most
	local         float64         // chunks of these
	Connections   int             // of the rank with the most, in one direction: it needs as many threadblocks
	Ends          int             // the same, in both directions: it can use as many
	SMs           int             // the most threadblocks of a GPU
	Channels      int             // the fewest it can do with: of the pair of ranks with the most connections
	network       crossing
}

// crossing is the load on connections that leave a node; zero where there are none.
type crossing struct {
	starts  int     // connections of the rank with the most, in one direction
	calls   float64 // messages of the connection with the most
	chunks  float64 // chunks of the connection with the most
	latency float64 // µs: of the longest path
	wire    float64 // µs for each byte, on the narrowest edge
}

// pathCost is the path of a message from one rank to another.
type pathCost struct {
	path     topologies.Route
	wire     float64 // µs a byte, on the narrowest edge
	occupied float64 // µs that a message occupies an edge, whatever its size
}

func pathCostOf(t *topologies.Topology, from, to int32) pathCost {
	path, _ := t.Route(int(from), int(to))
	w := pathCost{path: path}
	for _, part := range path.Parts {
		for _, e := range part {
			w.wire = max(w.wire, 1/t.Edges[e].Bandwidth.PerMicro())
			w.occupied = max(w.occupied, float64(t.Edges[e].Message))
		}
	}
	return w
}

// load is the messages on a connection or an edge.
type load struct{ messages, chunks float64 }

// work is the copies and reductions within a rank: their number, their chunks, and the
// most chunks of one.
type work struct{ operations, chunks, most float64 }

// Summarize computes the summary of a program on a topology.
func Summarize(p *lang.Program, t *topologies.Topology) *Summary { return Complete(nil, p, t) }

// Complete computes the whole summary of a program from that of its messages, which is nil if
// it is not known.
func Complete(of *Summary, p *lang.Program, t *topologies.Topology) *Summary {
	one := newInstance(p)
	if one.ops == nil { // the compiler will refuse it
		return &Summary{Whole: true, Loop: p.Collective.LoopChunks(), SMs: t.MinSMs()}
	}
	if of == nil {
		of = Messages(p, t)
	}
	whole := *of
	whole.Whole = true
	schedule := newConnectionSchedule(one.ops, t)
	search := pathSearch{instance: one, schedule: schedule}
	search.longestPaths()
	whole.criticalPaths = search.longest
	whole.addLocal(one, schedule)
	return &whole
}

// Messages sums up the messages of a program alone.
func Messages(p *lang.Program, t *topologies.Topology) *Summary {
	of := &Summary{Loop: p.Collective.LoopChunks(), SMs: t.MinSMs()}
	schedule, factors := &connectionSchedule{first: map[uint64]int32{}}, scopeFactors(p)
	var carried []load // by connection
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Src.Rank == op.Dst.Rank {
			continue
		}
		n := schedule.connection(op.Src.Rank, op.Dst.Rank, op.Channel, op.Scope, t)
		if int(n) == len(carried) {
			carried = append(carried, load{})
		}
		carried[n].messages++
		carried[n].chunks += float64(op.Src.Count)
		of.Moved += float64(op.Src.Count)
	}
	of.addMessages(t, schedule, carried, factors)
	of.countStarts(schedule, factors, p.Collective.Ranks)
	of.countConnections(schedule, p.Collective.Ranks)
	return of
}

// addMessages adds the load of connections: of each by itself, and of all together on the
// edges that they share.
func (of *Summary) addMessages(t *topologies.Topology, schedule *connectionSchedule, carried []load, factors []float64) {
	busy := make([]load, len(t.Edges)) // in µs a byte, and µs
	inside := make([]float64, len(t.Edges))
	for n, l := range carried {
		factor := factors[schedule.conns[n].scope]
		of.calls = max(of.calls, l.messages)
		of.connected = max(of.connected, l.chunks/factor)
		path := schedule.paths[n].path
		for _, part := range path.Parts {
			for _, e := range part {
				busy[e].chunks += l.chunks / t.Edges[e].Bandwidth.PerMicro()
				if !path.Net {
					inside[e] += l.chunks / t.Edges[e].Bandwidth.PerMicro()
				}
				busy[e].messages += l.messages * factor * float64(t.Edges[e].Message)
			}
		}
		if path.Net {
			w := &of.network
			w.calls, w.chunks, w.latency = max(w.calls, l.messages), max(w.chunks, l.chunks/factor), max(w.latency, float64(path.Latency))
			w.wire = max(w.wire, schedule.paths[n].wire)
		}
	}
	for e, l := range busy {
		of.edge, of.messages = max(of.edge, l.chunks), max(of.messages, l.messages)
		of.inside = max(of.inside, inside[e])
	}
}

// ends are the connections of ranks, by rank: on which it sends, and on which it receives.
type ends struct{ out, in []int }

func endsOf(schedule *connectionSchedule, ranks int) ends {
	used := ends{make([]int, ranks), make([]int, ranks)}
	for n, at := range schedule.conns {
		if int(at.end) == n {
			used.out[at.from]++
			used.in[at.to]++
		}
	}
	return used
}

// countConnections counts the connections of each rank, and of each pair of ranks.
func (of *Summary) countConnections(schedule *connectionSchedule, ranks int) {
	used := endsOf(schedule, ranks)
	for r := range ranks {
		of.Connections = max(of.Connections, used.out[r], used.in[r])
		of.Ends = max(of.Ends, used.out[r]+used.in[r])
	}
	for _, first := range schedule.first {
		of.Channels = max(of.Channels, schedule.channels(first))
	}
}

// countStarts counts the connections of each rank that leave its node, or lead into it.
func (of *Summary) countStarts(schedule *connectionSchedule, factors []float64, ranks int) {
	replicas := make([]float64, len(schedule.conns)) // by end
	out, in := make([]float64, ranks), make([]float64, ranks)
	for n, at := range schedule.conns {
		if !schedule.paths[n].path.Net {
			continue
		}
		more := max(factors[at.scope]-replicas[at.end], 0)
		replicas[at.end] += more
		out[at.from] += more
		in[at.to] += more
	}
	of.network.starts = int(max(slices.Max(out), slices.Max(in)))
}

// addLocal adds the work within ranks, divided among the threadblocks that their connections
// need.
func (of *Summary) addLocal(one *instance, schedule *connectionSchedule) {
	worked := make([]work, one.program.Collective.Ranks) // by rank
	for i := range one.ops {
		op := &one.ops[i]
		if one.batched[i] || !isLocal(op) {
			continue
		}
		w := &worked[op.Src.Rank]
		chunks := one.chunks(int32(i))
		w.operations++
		w.chunks += chunks
		w.most = max(w.most, chunks)
	}
	used := endsOf(schedule, len(worked))
	for rank, w := range worked {
		if w.operations == 0 {
			continue
		}
		threadblocks := float64(max(used.out[rank], used.in[rank], 1))
		of.localCalls = max(of.localCalls, w.operations/threadblocks, 1)
		of.local = max(of.local, w.chunks/threadblocks, w.most)
	}
}
