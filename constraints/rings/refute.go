package rings

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/internal/words"
	"github.com/colltune/colltune/internal/units"
)

// argument is a reason why there can be no such rings that a user can verify by hand.
// say returns the reason, or "" if it does not apply.
type argument struct {
	name string
	say  func(*problem) string
}

// arguments are tried before any search, because solvers are worst at counting.
var arguments = []argument{
	{"ends", (*problem).deadEnds},
	{"connected", (*problem).disconnected},
	{"through one GPU", (*problem).cutVertex},
	{"two colours", (*problem).unbalanced},
	{"counting links", (*problem).tooFewLinks},
	{"counting links of several", (*problem).tooNarrowCut},
	{"counting steps", (*problem).tooFewSteps},
}

// refute returns the first argument that applies, or "".
func (p *problem) refute(ctx context.Context) (why string, err error) {
	for _, a := range arguments {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if why := a.say(p); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// provedBy returns the reason to give if only a solver proved that there are no rings.
func (p *problem) provedBy(by string) string {
	what := "no order of its GPUs has a link at every step"
	if p.count > 1 {
		what = "its links hold no such set of orders"
	}
	return fmt.Sprintf("%s (proved by %s)", what, by)
}

// singleNode reports whether a node's order is itself the ring.
func (p *problem) singleNode() bool { return len(p.nodes) == 1 }

// neighbours lists the ranks of the node that a rank can step to or be reached
// from.
func (p *problem) neighbours(i int) []int {
	if p.adjacent == nil {
		p.adjacent = make([][]int, p.n)
		for a := range p.n {
			for b := range p.n {
				if p.within[a][b] != nil || p.within[b][a] != nil {
					p.adjacent[a] = append(p.adjacent[a], b)
				}
			}
		}
	}
	return p.adjacent[i]
}

func (p *problem) gpu(i int) string { return p.t.Vertices[p.nodes[0][i]].Name }

// gpus names the GPUs in a list.
func (p *problem) gpus(list []int) string {
	return words.List(len(list), func(i int) string { return p.gpu(list[i]) })
}

// deadEnds finds GPUs with too few neighbours to be passed through.
func (p *problem) deadEnds() string {
	if p.n == 1 {
		if !p.singleNode() && p.closing[0][0] == nil {
			return p.gpu(0) + " of one node has no link to the next node's"
		}
		return ""
	}
	var ends []int
	for i := range p.n {
		out, in := 0, 0
		for j := range p.n {
			if p.within[i][j] != nil {
				out++
			}
			if p.within[j][i] != nil {
				in++
			}
		}
		switch near := p.neighbours(i); {
		case len(near) == 0:
			return p.gpu(i) + " has no link within its node"
		case p.singleNode() && out == 0:
			return p.gpu(i) + " has no link to send over"
		case p.singleNode() && in == 0:
			return p.gpu(i) + " has no link to receive over"
		case len(near) == 1 && p.n > 2:
			if p.singleNode() {
				kind := "link"
				if h := p.within[i][near[0]]; len(h.edges) == 1 && p.t.Edges[h.edges[0]].Count == 1 {
					kind = linkWords[p.t.Edges[h.edges[0]].Kind.String()]
				}
				return fmt.Sprintf("%s has one %s, to %s", p.gpu(i), kind, p.gpu(near[0]))
			}
			ends = append(ends, i)
		}
	}
	if len(ends) > 2 {
		return fmt.Sprintf("%s have one link each: an order through a node has only two ends", p.gpus(ends))
	}
	return ""
}

// linkWords are the usual names of kinds of links.
var linkWords = map[string]string{"nvlink": "NVLink", "xgmi": "xGMI link", "pcie": "PCIe link", "net": "network link"}

// component lists the ranks connected to one by paths that avoid another (-1: none),
// in rising order.
func (p *problem) component(from, without int) []int {
	seen := make([]bool, p.n)
	seen[from] = true
	for todo := []int{from}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range p.neighbours(i) {
			if j != without && !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	var list []int
	for i, s := range seen {
		if s {
			list = append(list, i)
		}
	}
	return list
}

// disconnected finds GPUs that links do not connect.
func (p *problem) disconnected() string {
	near := p.component(0, -1)
	if len(near) == p.n {
		return ""
	}
	return fmt.Sprintf("no links join %s to %s", p.gpus(near), p.gpus(complement(p.n, near, -1)))
}

// complement lists the ranks that are neither in the list nor the one given.
func complement(n int, list []int, without int) []int {
	in := make([]bool, n)
	for _, i := range list {
		in[i] = true
	}
	var rest []int
	for i := range n {
		if !in[i] && i != without {
			rest = append(rest, i)
		}
	}
	return rest
}

// unbalanced finds that the links form a bipartite graph whose sides differ in size.
// An order alternates between the sides.
func (p *problem) unbalanced() string {
	colour := make([]int, p.n) // 0 means none yet
	colour[0] = 1
	for todo := []int{0}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range p.neighbours(i) {
			if colour[j] == colour[i] {
				return ""
			}
			if colour[j] == 0 {
				colour[j] = -colour[i]
				todo = append(todo, j)
			}
		}
	}
	var sides [2][]int
	for i, c := range colour {
		side := 0
		if c < 0 {
			side = 1
		}
		sides[side] = append(sides[side], i)
	}
	more := max(len(sides[0]), len(sides[1])) - min(len(sides[0]), len(sides[1]))
	if more == 0 || p.n == 1 || more == 1 && !p.singleNode() {
		return ""
	}
	return fmt.Sprintf("every link joins one of %s to one of %s: a ring takes them in turns, and they are %d and %d",
		p.gpus(sides[0]), p.gpus(sides[1]), len(sides[0]), len(sides[1]))
}

// tooFewLinks finds a GPU with fewer links than there are rings.
func (p *problem) tooFewLinks() string {
	narrowest := units.Bandwidth(1)
	for i := range p.n {
		if out, in := p.roomAt(i, narrowest); p.n > 1 && min(out, in) < p.count {
			links := "links"
			if min(out, in) == 1 {
				links = "link"
			}
			return fmt.Sprintf("%s has %d %s one way, and each ring takes one", p.gpu(i), min(out, in), links)
		}
	}
	if out := p.roomToClose(narrowest); out < p.count {
		return fmt.Sprintf("%d links lead from node to node, and each ring takes one", out)
	}
	return ""
}

// roomAt returns how many rings can leave a rank, and how many can enter it, if each
// step has a width.
func (p *problem) roomAt(i int, width units.Bandwidth) (out, in int) {
	var leave, enter edgeSet
	for j := range p.n {
		for _, table := range [][][]*hop{p.within, p.closing} {
			if h := table[i][j]; h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				leave.add(h.edges[0])
			}
			if h := table[j][i]; h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				enter.add(h.edges[len(h.edges)-1])
			}
		}
	}
	return p.totalCapacity(leave, width), p.totalCapacity(enter, width)
}

// roomToClose returns how many rings can take a closing step, if each step has a
// width.
func (p *problem) roomToClose(width units.Bandwidth) int {
	var leave edgeSet
	for i, row := range p.closing {
		for j, h := range row {
			if h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				leave.add(h.edges[0])
			}
		}
	}
	if p.n == 1 && p.singleNode() {
		return p.count // there is nothing to close
	}
	return p.totalCapacity(leave, width)
}

type edgeSet map[int]bool

func (s *edgeSet) add(e int) {
	if *s == nil {
		*s = edgeSet{}
	}
	(*s)[e] = true
}

func (p *problem) totalCapacity(edges edgeSet, width units.Bandwidth) int {
	sum := 0
	for e := range edges {
		sum += p.capacity(e, width)
	}
	return sum
}
