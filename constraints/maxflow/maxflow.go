package maxflow

// Unlimited is a capacity that no flow exhausts.
const Unlimited = int64(1) << 61

// Graph is a flow network of vertices 0 to n-1 and arcs numbered from 0.
type Graph struct {
	vertices  int
	head      []int32 // where an arc leads; arc i is 2i, its reverse 2i+1
	capacity  []int64 // of arc i
	residual  []int64 // what is left of 2i and of 2i+1
	firstArc  []int32 // arcs out of v: list[first[v]:first[v+1]]; nil before the first run
	arcs      []int32
	level     []int32
	current   []int32 // next arc to try, of vertices that have a level
	queue     []int32 // vertices that have a level
	work      int64
	workLimit int64 // of work; 0 for any
}

// New returns a network without arcs.
func New(vertices int) *Graph { return &Graph{vertices: vertices} }

// Arc adds an arc and returns its number: 0, 1, …
func (g *Graph) Arc(from, to int, capacity int64) int {
	g.head = append(g.head, int32(to), int32(from))
	g.capacity = append(g.capacity, capacity)
	g.firstArc = nil
	return len(g.capacity) - 1
}

// Capacity returns the capacity of an arc.
func (g *Graph) Capacity(arc int) int64 { return g.capacity[arc] }

// SetCapacity changes the capacity of an arc for the next MaxFlow.
func (g *Graph) SetCapacity(arc int, capacity int64) { g.capacity[arc] = capacity }

// Raise changes the capacity of an arc to at least the present one and keeps the
// present flow, so that Augment can go on from it.
func (g *Graph) Raise(arc int, capacity int64) {
	g.residual[2*arc] += capacity - g.capacity[arc]
	g.capacity[arc] = capacity
}

// LimitWork limits the number of arcs that all further runs together examine. A run
// that is stopped by it returns a flow that may not be the maximum.
func (g *Graph) LimitWork(most int64) { g.work, g.workLimit = 0, max(most, 1) }

// LimitReached reports whether the limit on work was met: the flow of the last run
// may not be the maximum, nor OnSourceSide a cut.
func (g *Graph) LimitReached() bool { return g.workLimit > 0 && g.work >= g.workLimit }

// Flow returns the flow on an arc after the last run.
func (g *Graph) Flow(arc int) int64 { return g.capacity[arc] - g.residual[2*arc] }

// OnSourceSide reports whether v lies on the source's side of a minimum cut: of all
// minimum cuts, the one nearest to the source. It is only valid if the last run
// returned less than its limit and did not meet the limit on work.
func (g *Graph) OnSourceSide(v int) bool { return g.level[v] >= 0 }

// MaxFlow returns the value of a maximum flow from one vertex to another, or most
// if that is less: it stops there. It starts from no flow.
func (g *Graph) MaxFlow(from, to int, most int64) int64 {
	if g.firstArc == nil {
		g.index()
	}
	for i, c := range g.capacity {
		g.residual[2*i], g.residual[2*i+1] = c, 0
	}
	g.work += int64(len(g.capacity))
	return g.Augment(from, to, most)
}

// Augment adds up to most to the present flow, from one vertex to another, and
// returns the amount added.
func (g *Graph) Augment(from, to int, most int64) int64 {
	total := int64(0)
	for total < most && g.buildLevels(int32(from), int32(to)) {
		for total < most {
			pushed := g.push(int32(from), int32(to), most-total)
			if pushed == 0 {
				break
			}
			total += pushed
		}
	}
	return total
}

// index lists the arcs of each vertex.
func (g *Graph) index() {
	degree := make([]int32, g.vertices+2)
	for e := range g.head {
		degree[g.head[e^1]+1]++
	}
	for v := 1; v < len(degree); v++ {
		degree[v] += degree[v-1]
	}
	g.firstArc = append([]int32(nil), degree...)
	g.arcs = make([]int32, len(g.head))
	for e := range g.head {
		v := g.head[e^1]
		g.arcs[degree[v]] = int32(e)
		degree[v]++
	}
	g.residual = make([]int64, len(g.head))
	g.level = make([]int32, g.vertices)
	for v := range g.level {
		g.level[v] = -1
	}
	g.queue = g.queue[:0]
	g.current = make([]int32, g.vertices)
}

// buildLevels numbers vertices by their distance from the source in the residual
// network, and reports whether it reaches the sink. It visits no vertex that is
// farther than the sink, so that short paths in a large network are found fast.
func (g *Graph) buildLevels(from, to int32) bool {
	for _, v := range g.queue {
		g.level[v] = -1
	}
	g.queue = g.queue[:0]
	g.setLevel(from, 0)
	for i := 0; i < len(g.queue) && !g.LimitReached(); i++ {
		v := g.queue[i]
		arcs := g.arcs[g.firstArc[v]:g.firstArc[v+1]]
		g.work += int64(len(arcs))
		for _, e := range arcs {
			if w := g.head[e]; g.residual[e] > 0 && g.level[w] < 0 {
				g.setLevel(w, g.level[v]+1)
				if w == to {
					return true // vertices at this distance or farther are on no shortest path
				}
			}
		}
	}
	return false
}

func (g *Graph) setLevel(v, level int32) {
	g.level[v], g.current[v] = level, g.firstArc[v]
	g.queue = append(g.queue, v)
}

// push sends up to most from v to the sink along rising levels, and returns the
// amount sent. The recursion is as deep as there are levels.
func (g *Graph) push(v, to int32, most int64) int64 {
	if v == to {
		return most
	}
	sent := int64(0)
	for ; g.current[v] < g.firstArc[v+1]; g.current[v]++ {
		g.work++
		e := g.arcs[g.current[v]]
		w := g.head[e]
		if g.residual[e] == 0 || g.level[w] != g.level[v]+1 {
			continue
		}
		got := g.push(w, to, min(most-sent, g.residual[e]))
		g.residual[e] -= got
		g.residual[e^1] += got
		if sent += got; sent == most {
			return sent
		}
	}
	return sent
}
