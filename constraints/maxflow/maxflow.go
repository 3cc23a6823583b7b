package maxflow

// Unlimited is a capacity no flow uses up.
const Unlimited = int64(1) << 61

// Graph is a network of vertices 0 to n-1 and numbered arcs.
type Graph struct {
	vertices int
	head     []int32 // where an arc leads; arc i is 2i, its reverse 2i+1
	capacity []int64 // of arc i
	room     []int64 // what is left of 2i and of 2i+1
	first    []int32 // arcs out of v: list[first[v]:first[v+1]]; nil before the first run
	list     []int32
	level    []int32
	at       []int32 // next arc to try, of vertices that have a level
	queue    []int32 // vertices that have a level
	work     int64
	most     int64 // of work; 0 for any
}

// New is a network without arcs.
func New(vertices int) *Graph { return &Graph{vertices: vertices} }

// Arc adds an arc and returns its number: 0, 1, …
func (g *Graph) Arc(from, to int, capacity int64) int {
	g.head = append(g.head, int32(to), int32(from))
	g.capacity = append(g.capacity, capacity)
	g.first = nil
	return len(g.capacity) - 1
}

// Capacity is what an arc may carry.
func (g *Graph) Capacity(arc int) int64 { return g.capacity[arc] }

// Set changes what an arc may carry in the next run.
func (g *Graph) Set(arc int, capacity int64) { g.capacity[arc] = capacity }

// Widen changes what an arc may carry to no less, in what is left of the network as well.
func (g *Graph) Widen(arc int, capacity int64) {
	g.room[2*arc] += capacity - g.capacity[arc]
	g.capacity[arc] = capacity
}

// Limit is how many arcs all runs together may look at, from now on. A run that is
// stopped by it has found some flow, and maybe not the largest.
func (g *Graph) Limit(most int64) { g.work, g.most = 0, max(most, 1) }

// Spent tells whether the limit has been reached: what the last run found may not be
// the largest flow, nor what it reached a cut.
func (g *Graph) Spent() bool { return g.most > 0 && g.work >= g.most }

// Flow is what an arc carried in the last run.
func (g *Graph) Flow(arc int) int64 { return g.capacity[arc] - g.room[2*arc] }

// Reached tells whether v lies on the source's side of the minimum cut that the
// last run found, the one nearest to the source. It means nothing where the run
// ended at its limit.
func (g *Graph) Reached(v int) bool { return g.level[v] >= 0 }

// Run is the maximum flow from one vertex to another, or most where that is
// less: it stops there.
func (g *Graph) Run(from, to int, most int64) int64 {
	if g.first == nil {
		g.index()
	}
	for i, c := range g.capacity {
		g.room[2*i], g.room[2*i+1] = c, 0
	}
	g.work += int64(len(g.capacity))
	return g.More(from, to, most)
}

// More adds to the flow there is, from one vertex to another, and returns what
// it added.
func (g *Graph) More(from, to int, most int64) int64 {
	total := int64(0)
	for total < most && g.layer(int32(from), int32(to)) {
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
	g.first = append([]int32(nil), degree...)
	g.list = make([]int32, len(g.head))
	for e := range g.head {
		v := g.head[e^1]
		g.list[degree[v]] = int32(e)
		degree[v]++
	}
	g.room = make([]int64, len(g.head))
	g.level = make([]int32, g.vertices)
	for v := range g.level {
		g.level[v] = -1
	}
	g.queue = g.queue[:0]
	g.at = make([]int32, g.vertices)
}

// layer numbers vertices by their distance in what is left of the network. It touches
// none that are farther than the end: a short way in a large network is found soon.
func (g *Graph) layer(from, to int32) bool {
	for _, v := range g.queue {
		g.level[v] = -1
	}
	g.queue = g.queue[:0]
	g.label(from, 0)
	for i := 0; i < len(g.queue) && !g.Spent(); i++ {
		v := g.queue[i]
		arcs := g.list[g.first[v]:g.first[v+1]]
		g.work += int64(len(arcs))
		for _, e := range arcs {
			if w := g.head[e]; g.room[e] > 0 && g.level[w] < 0 {
				g.label(w, g.level[v]+1)
				if w == to {
					return true // what is as far or farther leads nowhere
				}
			}
		}
	}
	return false
}

func (g *Graph) label(v, level int32) {
	g.level[v], g.at[v] = level, g.first[v]
	g.queue = append(g.queue, v)
}

// push sends as much as fits, up to most, from v to the end along rising
// levels. Levels bound its depth.
func (g *Graph) push(v, to int32, most int64) int64 {
	if v == to {
		return most
	}
	sent := int64(0)
	for ; g.at[v] < g.first[v+1]; g.at[v]++ {
		g.work++
		e := g.list[g.at[v]]
		w := g.head[e]
		if g.room[e] == 0 || g.level[w] != g.level[v]+1 {
			continue
		}
		got := g.push(w, to, min(most-sent, g.room[e]))
		g.room[e] -= got
		g.room[e^1] += got
		if sent += got; sent == most {
			return sent
		}
	}
	return sent
}
