package rings

import "github.com/colltune/colltune/constraints/maxflow"

// startPairs finds links for count rings that use theirs in both directions, which
// takes 2·count links at every rank. It returns false if there are none, or if neither
// method applies: a flow on bipartite systems; and on systems with the same even number
// of links at every rank, all links, which may be more than count rings need.
func (x *exchange) startPairs(count int) bool {
	n, least, most := x.n, 1<<30, 0
	for i := range n {
		degree := 0
		for _, j := range x.out[i] {
			there, back := x.room[i*n+int(j)], x.room[int(j)*n+i]
			if there != back {
				return false
			}
			degree += int(there)
		}
		least, most = min(least, degree), max(most, degree)
	}
	taken := make([]int16, n*n) // by both steps of a link
	switch {
	case least < 2*count:
		return false
	case x.takeBipartite(taken, count):
	case least == most && least%2 == 0:
		copy(taken, x.room)
		count = least / 2
	default:
		return false
	}
	for at := range taken {
		x.room[at] -= taken[at]
	}
	return x.divide(x.orient(taken), count)
}

// takeBipartite takes 2·count links at each rank by a flow. It returns false if the
// links are not a bipartite graph, or too few.
func (x *exchange) takeBipartite(taken []int16, count int) bool {
	n := x.n
	colour := twoColours(x.out)
	if colour == nil {
		return false
	}
	g := maxflow.New(n + 2)
	type arc struct{ from, to, number int }
	var arcs []arc
	for i := range n {
		if colour[i] < 0 {
			g.Arc(i, n+1, int64(2*count))
			continue
		}
		g.Arc(n, i, int64(2*count))
		for _, j := range x.out[i] {
			arcs = append(arcs, arc{i, int(j), g.Arc(i, int(j), int64(x.room[i*n+int(j)]))})
		}
	}
	if g.MaxFlow(n, n+1, int64(n*count)) < int64(n*count) {
		return false
	}
	for _, a := range arcs {
		taken[a.from*n+a.to] = int16(g.Flow(a.number))
		taken[a.to*n+a.from] = taken[a.from*n+a.to]
	}
	return true
}

// orient directs the links so that as many leave every rank as enter it, along closed
// walks until all links are used (Euler).
func (x *exchange) orient(links []int16) (steps []int16) {
	n := x.n
	left := append([]int16(nil), links...)
	steps = make([]int16, n*n)
	at := make([]int, n) // by rank: the first of its links that may be unused
	for first := range n {
		for i := first; ; {
			for at[i] < len(x.out[i]) && left[i*n+int(x.out[i][at[i]])] == 0 {
				at[i]++
			}
			if at[i] == len(x.out[i]) {
				break // a walk can only get stuck where it began
			}
			j := int(x.out[i][at[i]])
			left[i*n+j]--
			left[j*n+i]--
			steps[i*n+j]++
			i = j
		}
	}
	return steps
}
