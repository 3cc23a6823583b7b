package greedy

import (
	"math"
	"slices"
)

// breadthFirst lets data spread from rank to rank by distance: what is t sends
// away comes from a neighbour that is one closer, and everything of one distance
// that comes over one link comes in one message. Which neighbour gives what is
// chosen so that the links into a rank are loaded evenly, over all distances so
// far (after Efficient Direct-Connect Topologies, arXiv 2202.03356, section 5).
// On rings, tori and hypercubes nothing is lost but a latency a distance.
func (n *network) breadthFirst(chunks int) []message {
	far := n.distances()
	// Messages go by distance, and within one by turn of ranks: on a switch no two
	// send to one at a time. Both and the message's place are one number, as
	// sorting takes most of the time.
	var list []message
	var turns []uint64
	order, nearest := make([]int32, n.ranks), make([]uint64, n.ranks)
	e := &evener{n: n, chunks: chunks, may: make([][]int32, n.ranks)}
	for v := range n.ranks {
		n.look()
		// Nearest first; from v on, so that like ranks choose alike.
		for i := range nearest {
			s := (v + i) % n.ranks
			nearest[i] = uint64(far[v][s]+1)<<32 | uint64(i)
		}
		slices.Sort(nearest)
		for i, key := range nearest {
			order[i] = int32((v + int(uint32(key))) % n.ranks)
		}
		e.serve(v)
		for i := 1; i < n.ranks; {
			depth := far[v][order[i]]
			end := i
			for end < n.ranks && far[v][order[end]] == depth {
				end++
			}
			if depth < 0 {
				return nil
			}
			e.begin()
			for _, s := range order[i:end] {
				e.add(s, func(u int32) bool { return far[u][s] == depth-1 })
			}
			e.even()
			for link, h := range n.into[v] {
				if given := e.given[link]; len(given) > 0 {
					turn := (v - int(n.hops[h].from) + n.ranks) % n.ranks
					turns = append(turns, uint64(depth)<<48|uint64(turn)<<32|uint64(len(list)))
					list = append(list, message{hop: h, chunks: e.keep(given)})
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

// distances is the number of sends from rank s to rank v, as far[v][s]; -1 where
// there is no way.
func (n *network) distances() (far [][]int32) {
	far = make([][]int32, n.ranks)
	all := make([]int32, n.ranks*n.ranks)
	for s := range n.ranks {
		far[s] = all[s*n.ranks : (s+1)*n.ranks]
	}
	queue := make([]int32, 0, n.ranks)
	for s := range n.ranks {
		n.look()
		for v := range far {
			far[v][s] = -1
		}
		far[s][s] = 0
		queue = append(queue[:0], int32(s))
		for i := 0; i < len(queue) && len(queue) < n.ranks; i++ {
			u := queue[i]
			for _, h := range n.onto[u] {
				if v := n.hops[h].to; far[v][s] < 0 {
					far[v][s] = far[u][s] + 1
					queue = append(queue, v)
				}
			}
		}
	}
	return far
}

// evener divides chunks between the links into a rank.
type evener struct {
	n      *network
	v      int
	chunks int
	each   []float64 // time a chunk takes a link
	load   []float64 // time given to each link so far
	given  [][]int32 // chunks of the distance in hand, by link
	may    [][]int32 // the links a source's chunks may come over
	kept   []int32   // room for what is kept
}

// serve turns to a rank.
func (e *evener) serve(v int) {
	e.v, e.each, e.load = v, e.each[:0], e.load[:0]
	for i, h := range e.n.into[v] {
		slowest := math.Inf(1)
		for _, edge := range e.n.hops[h].edges {
			slowest = min(slowest, e.n.t.Edges[edge].Bandwidth.PerMicro())
		}
		e.each = append(e.each, 1/slowest)
		e.load = append(e.load, 0)
		if i == len(e.given) {
			e.given = append(e.given, nil)
		}
	}
}

// begin turns to a distance.
func (e *evener) begin() {
	for i := range e.given {
		e.given[i] = e.given[i][:0]
	}
}

// keep is a copy of chunks that nothing else is written into.
func (e *evener) keep(chunks []int32) []int32 {
	if cap(e.kept)-len(e.kept) < len(chunks) {
		e.kept = make([]int32, 0, max(len(chunks), min(e.n.ranks*e.n.ranks*e.chunks, 4096)))
	}
	at := len(e.kept)
	e.kept = append(e.kept, chunks...)
	return e.kept[at:len(e.kept):len(e.kept)]
}

// add gives each chunk of a source to the link that has least to carry then.
func (e *evener) add(source int32, from func(u int32) bool) {
	may := e.may[source][:0]
	for i, h := range e.n.into[e.v] {
		if from(e.n.hops[h].from) {
			may = append(may, int32(i))
		}
	}
	e.may[source] = may
	for c := range e.chunks {
		best := may[c%len(may)]
		for i := range may {
			if l := may[(c+i)%len(may)]; e.load[l]+e.each[l] < e.load[best]+e.each[best]-small {
				best = l
			}
		}
		e.put(best, source*int32(e.chunks)+int32(c))
	}
}

// small keeps rounding from moving chunks to and fro.
const small = 1e-9

func (e *evener) put(link, chunk int32) {
	e.load[link] += e.each[link]
	e.given[link] = append(e.given[link], chunk)
}

// chainStep is one move in a chain of them: the chunk given[from][at] comes to the
// link that the step is of.
type chainStep struct{ from, at int32 }

// even moves chunks, along chains of links, from the link with most to carry to
// one that has less even with a chunk more, until none has.
func (e *evener) even() {
	if len(e.load) < 2 {
		return
	}
	via := make([]chainStep, len(e.load))
	for i := range len(e.n.hops) + e.n.ranks*e.chunks {
		if i%seldom == 0 {
			e.n.look()
		}
		top := e.fullest()
		if len(e.given[top]) == 0 {
			return
		}
		end := e.relief(top, via)
		if end < 0 {
			return
		}
		for l := end; l != top; {
			s := via[l]
			c := e.given[s.from][s.at]
			e.given[s.from] = slices.Delete(e.given[s.from], int(s.at), int(s.at)+1)
			e.load[s.from] -= e.each[s.from]
			e.put(l, c)
			l = s.from
		}
	}
}

// fullest is the link with most to carry, of those that have chunks to give away.
func (e *evener) fullest() (top int32) {
	for l := range e.load {
		if len(e.given[l]) > 0 && (len(e.given[top]) == 0 || e.load[l] > e.load[top]+small) {
			top = int32(l)
		}
	}
	return top
}

// relief is the nearest link that carries less than the fullest even with a chunk
// more, and that chunks of the fullest can get to by making others go elsewhere; via
// is how. It is none if there is no such link.
func (e *evener) relief(top int32, via []chainStep) (end int32) {
	for l := range via {
		via[l] = chainStep{none, 0}
	}
	via[top].from = top
	queue := []int32{top}
	for i := 0; i < len(queue); i++ {
		l := queue[i]
		for at, c := range e.given[l] {
			for _, m := range e.may[c/int32(e.chunks)] {
				if via[m].from != none {
					continue
				}
				via[m] = chainStep{l, int32(at)}
				queue = append(queue, m)
				if e.load[m]+e.each[m] < e.load[top]-small {
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
