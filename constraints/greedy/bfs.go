package greedy

import (
	"math"
	"slices"
)

// breadthFirst forwards data by distance: a chunk from a rank t sends away comes from a
// neighbour of distance t-1, and all chunks of one distance over one link are one message.
// Neighbours are chosen such that the links into a rank are evenly loaded, over all distances so
// far (Efficient Direct-Connect Topologies, arXiv 2202.03356, section 5). On rings, tori and
// hypercubes the result is optimal but for one latency for each distance. It returns nil if some
// rank cannot be reached.
func (n *hopGraph) breadthFirst() []message {
	far := n.distances()
	// Messages are sorted by distance, then by the difference of receiver and sender, so that
	// on a switch no two send to one rank at once. These and the message's index are packed
	// into one number, because sorting takes most of the time.
	var list []message
	var turns []uint64
	order, nearest := make([]int32, n.ranks), make([]uint64, n.ranks)
	e := &loadBalancer{n: n, allowed: make([][]int32, n.ranks)}
	for v := range n.ranks {
		if n.ctx.Err() != nil {
			return nil
		}
		// Nearest first, and from v on, so that equivalent ranks choose equivalently.
		for i := range nearest {
			s := (v + i) % n.ranks
			nearest[i] = uint64(far[v][s]+1)<<32 | uint64(i)
		}
		slices.Sort(nearest)
		for i, key := range nearest {
			order[i] = int32((v + int(uint32(key))) % n.ranks)
		}
		e.startRank(v)
		for i := 1; i < n.ranks; {
			depth := far[v][order[i]]
			end := i
			for end < n.ranks && far[v][order[end]] == depth {
				end++
			}
			if depth < 0 {
				return nil
			}
			e.startDistance()
			for _, s := range order[i:end] {
				e.add(s, func(u int32) bool { return far[u][s] == depth-1 })
			}
			e.balance()
			for link, h := range n.in[v] {
				if given := e.given[link]; len(given) > 0 {
					turn := (v - int(n.hops[h].From) + n.ranks) % n.ranks
					turns = append(turns, uint64(depth)<<48|uint64(turn)<<32|uint64(len(list)))
					list = append(list, message{hop: h, chunks: e.clone(given)})
				}
			}
			i = end
		}
	}
	slices.Sort(turns)
	messages := make([]message, len(list))
	for i, key := range turns {
		messages[i] = list[uint32(key)]
	}
	return messages
}

// distances returns the number of sends from rank s to rank v as far[v][s]; -1 if there is no
// path.
func (n *hopGraph) distances() (far [][]int32) {
	far = make([][]int32, n.ranks)
	all := make([]int32, n.ranks*n.ranks)
	for s := range n.ranks {
		far[s] = all[s*n.ranks : (s+1)*n.ranks]
	}
	queue := make([]int32, 0, n.ranks)
	for s := range n.ranks {
		if n.ctx.Err() != nil {
			break
		}
		for v := range far {
			far[v][s] = -1
		}
		far[s][s] = 0
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue) && len(queue) < n.ranks; i++ {
			u := queue[i]
			for _, h := range n.out[u] {
				if v := n.hops[h].To; far[v][s] < 0 {
					far[v][s] = far[u][s] + 1
					queue = append(queue, v)
				}
			}
		}
	}
	return far
}

// loadBalancer divides chunks among the links into a rank.
type loadBalancer struct {
	n       *hopGraph
	v       int
	cost    []float64 // time a chunk takes a link
	load    []float64 // time given to each link so far
	given   [][]int32 // chunks of the distance in hand, by link
	allowed [][]int32 // the links a source's chunk may come over
	arena   []int32   // room for what is kept
}

// startRank starts with a rank.
func (e *loadBalancer) startRank(v int) {
	e.v, e.cost, e.load = v, e.cost[:0], e.load[:0]
	for i, h := range e.n.in[v] {
		slowest := math.Inf(1)
		for _, edge := range e.n.hops[h].Edges {
			slowest = min(slowest, e.n.t.Edges[edge].Bandwidth.PerMicro())
		}
		e.cost = append(e.cost, 1/slowest)
		e.load = append(e.load, 0)
		if i == len(e.given) {
			e.given = append(e.given, nil)
		}
	}
}

// startDistance starts with the next distance.
func (e *loadBalancer) startDistance() {
	for i := range e.given {
		e.given[i] = e.given[i][:0]
	}
}

// clone copies chunks into the arena.
func (e *loadBalancer) clone(chunks []int32) []int32 {
	if cap(e.arena)-len(e.arena) < len(chunks) {
		e.arena = make([]int32, 0, max(len(chunks), min(e.n.ranks*e.n.ranks, 4096)))
	}
	at := len(e.arena)
	e.arena = append(e.arena, chunks...)
	return e.arena[at:len(e.arena):len(e.arena)]
}

// add assigns the chunk of a source to the link that is then least loaded.
func (e *loadBalancer) add(source int32, from func(u int32) bool) {
	may := e.allowed[source][:0]
	for i, h := range e.n.in[e.v] {
		if from(e.n.hops[h].From) {
			may = append(may, int32(i))
		}
	}
	e.allowed[source] = may
	best := may[0]
	for _, l := range may {
		if e.load[l]+e.cost[l] < e.load[best]+e.cost[best]-loadEpsilon {
			best = l
		}
	}
	e.assign(best, source)
}

// loadEpsilon keeps rounding from moving chunks back and forth.
const loadEpsilon = 1e-9

func (e *loadBalancer) assign(link, chunk int32) {
	e.load[link] += e.cost[link]
	e.given[link] = append(e.given[link], chunk)
}

// augmentStep is a step of an augmenting path: the chunk given[from][at] moves to the link that
// the step belongs to.
type augmentStep struct{ from, at int32 }

// balance moves chunks along augmenting paths, from the most loaded link to one that has less
// load even with a chunk more, until there is no such path.
func (e *loadBalancer) balance() {
	if len(e.load) < 2 {
		return
	}
	via := make([]augmentStep, len(e.load))
	for i := range len(e.n.hops) + e.n.ranks {
		if i%checkInterval == 0 && e.n.ctx.Err() != nil {
			return
		}
		top := e.fullest()
		if len(e.given[top]) == 0 {
			return
		}
		end := e.findRelief(top, via)
		if end < 0 {
			return
		}
		for l := end; l != top; {
			s := via[l]
			c := e.given[s.from][s.at]
			e.given[s.from] = slices.Delete(e.given[s.from], int(s.at), int(s.at)+1)
			e.load[s.from] -= e.cost[s.from]
			e.assign(l, c)
			l = s.from
		}
	}
}

// fullest returns the most loaded of the links that have chunks to give away.
func (e *loadBalancer) fullest() (top int32) {
	for l := range e.load {
		if len(e.given[l]) > 0 && (len(e.given[top]) == 0 || e.load[l] > e.load[top]+loadEpsilon) {
			top = int32(l)
		}
	}
	return top
}

// findRelief returns the nearest link, along an augmenting path from the fullest, that has less
// load than the fullest even with a chunk more. via is the path. It returns none if there is no
// such link.
func (e *loadBalancer) findRelief(top int32, via []augmentStep) (end int32) {
	for l := range via {
		via[l] = augmentStep{none, 0}
	}
	via[top].from = top
	queue := []int32{top}
	for i := 0; i < len(queue); i++ {
		l := queue[i]
		for at, c := range e.given[l] {
			for _, m := range e.allowed[c] {
				if via[m].from != none {
					continue
				}
				via[m] = augmentStep{l, int32(at)}
				queue = append(queue, m)
				if e.load[m]+e.cost[m] < e.load[top]-loadEpsilon {
					return m
				}
			}
			if len(queue) == len(via) { // all links have been met
				break
			}
		}
	}
	return none
}
