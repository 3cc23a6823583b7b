package bounds

// flow finds maximum flows on a network, by Dinic's algorithm. It has two
// vertices of its own: source, with an arc to every rank, and sink, with one
// from every rank, closed until a query opens them.
type flow struct {
	net          *network
	source, sink int32
	first        []int32 // arcs of vertex v: list[first[v]:first[v+1]]
	list         []int32 // arc numbers; arc i and i^1 are each other's reverse
	head         []int32
	room         []int64 // residual capacity
	level        []int32
	at           []int32 // next arc to try
	queue        []int32
}

const unlimited = int64(1) << 61

func newFlow(net *network) *flow {
	n := net.vertices
	f := &flow{net: net, source: int32(n), sink: int32(n + 1)}
	arcs := len(net.arcs) + 2*net.ranks
	f.head = make([]int32, 2*arcs)
	f.room = make([]int64, 2*arcs)
	degree := make([]int32, n+3)
	tails := make([]int32, 2*arcs)
	put := func(i int, from, to int32) {
		tails[2*i], f.head[2*i] = from, to
		tails[2*i+1], f.head[2*i+1] = to, from
		degree[from+1]++
		degree[to+1]++
	}
	for i, a := range net.arcs {
		put(i, a.from, a.to)
	}
	for r := range net.ranks {
		put(f.sourceArc(r), f.source, int32(r))
		put(f.sinkArc(r), int32(r), f.sink)
	}
	for v := 1; v < len(degree); v++ {
		degree[v] += degree[v-1]
	}
	f.first = append([]int32(nil), degree...)
	f.list = make([]int32, 2*arcs)
	for e, v := range tails {
		f.list[degree[v]] = int32(e)
		degree[v]++
	}
	f.level = make([]int32, n+2)
	f.at = make([]int32, n+2)
	return f
}

// sourceArc and sinkArc number the arcs of source and sink.
func (f *flow) sourceArc(rank int) int { return len(f.net.arcs) + rank }
func (f *flow) sinkArc(rank int) int   { return len(f.net.arcs) + f.net.ranks + rank }

// reset empties the network, with its capacities times scale, and closes source
// and sink.
func (f *flow) reset(scale int64) {
	clear(f.room)
	for i, a := range f.net.arcs {
		f.room[2*i] = a.capacity * scale
	}
}

// from opens the source to a rank, into the sink from one.
func (f *flow) from(rank int, capacity int64) { f.room[2*f.sourceArc(rank)] = capacity }
func (f *flow) into(rank int, capacity int64) { f.room[2*f.sinkArc(rank)] = capacity }

// run is the maximum flow between two vertices, given what is there already.
func (f *flow) run(from, to int32) int64 {
	total := int64(0)
	for f.layer(from, to) {
		copy(f.at, f.first)
		for {
			pushed := f.push(from, to, unlimited)
			if pushed == 0 {
				break
			}
			total += pushed
		}
	}
	return total
}

// layer numbers vertices by their distance in the residual network.
func (f *flow) layer(from, to int32) bool {
	for v := range f.level {
		f.level[v] = -1
	}
	f.level[from] = 0
	f.queue = append(f.queue[:0], from)
	for i := 0; i < len(f.queue); i++ {
		v := f.queue[i]
		for _, e := range f.list[f.first[v]:f.first[v+1]] {
			if w := f.head[e]; f.room[e] > 0 && f.level[w] < 0 {
				f.level[w] = f.level[v] + 1
				f.queue = append(f.queue, w)
			}
		}
	}
	return f.level[to] >= 0
}

// push sends as much as fits, up to most, from v to the end along rising
// levels. Levels bound its depth.
func (f *flow) push(v, to int32, most int64) int64 {
	if v == to {
		return most
	}
	sent := int64(0)
	for ; f.at[v] < f.first[v+1]; f.at[v]++ {
		e := f.list[f.at[v]]
		w := f.head[e]
		if f.room[e] == 0 || f.level[w] != f.level[v]+1 {
			continue
		}
		got := f.push(w, to, min(most-sent, f.room[e]))
		f.room[e] -= got
		f.room[e^1] += got
		if sent += got; sent == most {
			return sent
		}
	}
	return sent
}

// side lists the ranks still reached from the start of the last run: the side
// of the minimum cut nearest to it.
func (f *flow) side() []int {
	var ranks []int
	for r := range f.net.ranks {
		if f.level[r] >= 0 {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// between is the maximum flow from one rank to another.
func (f *flow) between(a, b int) int64 {
	f.reset(1)
	return f.run(int32(a), int32(b))
}

// leaving is what can leave a set of ranks for the others: its minimum cut,
// whichever side switches are on.
func (f *flow) leaving(inside []bool) int64 {
	f.reset(1)
	for r, in := range inside {
		if in {
			f.from(r, unlimited>>1)
		} else {
			f.into(r, unlimited>>1)
		}
	}
	return f.run(f.source, f.sink)
}
