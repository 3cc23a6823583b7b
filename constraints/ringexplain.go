package constraints

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/constraints/internal/words"
	"github.com/colltune/colltune/internal/units"
)

// argument is a kind of reason why there can be no such rings, simple enough for a
// user to verify by eye. It returns the reason, or nothing if it does not apply.
type argument struct {
	name string
	say  func(*ringProblem) string
}

// arguments are tried before any search: counting is what solvers are worst at.
var arguments = []argument{
	{"ends", (*ringProblem).deadEnds},
	{"connected", (*ringProblem).apart},
	{"through one GPU", (*ringProblem).bottleneck},
	{"two colours", (*ringProblem).twoColours},
	{"counting links", (*ringProblem).tooFewLinks},
	{"counting links of several", (*ringProblem).narrowCut},
	{"counting steps", (*ringProblem).tooFewSteps},
}

// refute returns the first argument that applies, or nothing.
func (p *ringProblem) refute(ctx context.Context) (why string, err error) {
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

// proved is the reason to give if only a solver knows one.
func (p *ringProblem) proved(by string) string {
	what := "no order of its GPUs has a link at every step"
	if p.count > 1 {
		what = "its links hold no such set of orders"
	}
	return fmt.Sprintf("%s (proved by %s)", what, by)
}

// closed tells whether a node's order is itself a ring, as on a single node.
func (p *ringProblem) closed() bool { return len(p.nodes) == 1 }

// neighbours lists the ranks of the node that a rank can step to or be reached
// from.
func (p *ringProblem) neighbours(i int) []int {
	if p.near == nil {
		p.near = make([][]int, p.n)
		for a := range p.n {
			for b := range p.n {
				if p.in[a][b] != nil || p.in[b][a] != nil {
					p.near[a] = append(p.near[a], b)
				}
			}
		}
	}
	return p.near[i]
}

func (p *ringProblem) gpu(i int) string { return p.t.Vertices[p.nodes[0][i]].Name }

// gpus names the GPUs in a list.
func (p *ringProblem) gpus(list []int) string {
	return words.List(len(list), func(i int) string { return p.gpu(list[i]) })
}

// deadEnds finds GPUs with too few neighbours to be passed through.
func (p *ringProblem) deadEnds() string {
	if p.n == 1 {
		if !p.closed() && p.close[0][0] == nil {
			return p.gpu(0) + " of one node has no link to the next node's"
		}
		return ""
	}
	var ends []int
	for i := range p.n {
		out, in := 0, 0
		for j := range p.n {
			if p.in[i][j] != nil {
				out++
			}
			if p.in[j][i] != nil {
				in++
			}
		}
		switch near := p.neighbours(i); {
		case len(near) == 0:
			return p.gpu(i) + " has no link within its node"
		case p.closed() && out == 0:
			return p.gpu(i) + " has no link to send over"
		case p.closed() && in == 0:
			return p.gpu(i) + " has no link to receive over"
		case len(near) == 1 && p.n > 2:
			if p.closed() {
				kind := "link"
				if h := p.in[i][near[0]]; len(h.edges) == 1 && p.t.Edges[h.edges[0]].Count == 1 {
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

// linkWords gives kinds of links the names that people use.
var linkWords = map[string]string{"nvlink": "NVLink", "xgmi": "xGMI link", "pcie": "PCIe link", "net": "network link"}

// component lists the ranks connected to one without passing through another (-1:
// none), in rising order.
func (p *ringProblem) component(from, without int) []int {
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

// apart finds GPUs that links do not connect.
func (p *ringProblem) apart() string {
	near := p.component(0, -1)
	if len(near) == p.n {
		return ""
	}
	return fmt.Sprintf("no links join %s to %s", p.gpus(near), p.gpus(others(p.n, near, -1)))
}

// others lists the ranks that are neither in the list nor the one given.
func others(n int, list []int, without int) []int {
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

// twoColours finds that every link leads from one of two groups of GPUs to the
// other. An order then alternates between them, so they must be of equal size.
func (p *ringProblem) twoColours() string {
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
	if more == 0 || p.n == 1 || more == 1 && !p.closed() {
		return ""
	}
	return fmt.Sprintf("every link joins one of %s to one of %s: a ring takes them in turns, and they are %d and %d",
		p.gpus(sides[0]), p.gpus(sides[1]), len(sides[0]), len(sides[1]))
}

// tooFewLinks finds a GPU with fewer links than there are rings.
func (p *ringProblem) tooFewLinks() string {
	narrowest := units.Bandwidth(1)
	for i := range p.n {
		if out, in := p.room(i, narrowest); p.n > 1 && min(out, in) < p.count {
			links := "links"
			if min(out, in) == 1 {
				links = "link"
			}
			return fmt.Sprintf("%s has %d %s one way, and each ring takes one", p.gpu(i), min(out, in), links)
		}
	}
	if out := p.leaving(narrowest); out < p.count {
		return fmt.Sprintf("%d links lead from node to node, and each ring takes one", out)
	}
	return ""
}

// room is how many rings can leave a rank, and how many can enter it, if each step
// gets a width.
func (p *ringProblem) room(i int, width units.Bandwidth) (out, in int) {
	var leave, enter edgeSet
	for j := range p.n {
		for _, table := range [][][]*hop{p.in, p.close} {
			if h := table[i][j]; h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				leave.add(h.edges[0])
			}
			if h := table[j][i]; h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				enter.add(h.edges[len(h.edges)-1])
			}
		}
	}
	return p.total(leave, width), p.total(enter, width)
}

// leaving is how many rings can take the step that closes them, if each gets a
// width.
func (p *ringProblem) leaving(width units.Bandwidth) int {
	var leave edgeSet
	for i, row := range p.close {
		for j, h := range row {
			if h != nil && p.wide(h, width) && (i != j || p.n == 1) {
				leave.add(h.edges[0])
			}
		}
	}
	if p.n == 1 && p.closed() {
		return p.count // there is nothing to close
	}
	return p.total(leave, width)
}

type edgeSet map[int]bool

func (s *edgeSet) add(e int) {
	if *s == nil {
		*s = edgeSet{}
	}
	(*s)[e] = true
}

func (p *ringProblem) total(edges edgeSet, width units.Bandwidth) int {
	sum := 0
	for e := range edges {
		sum += p.capacity(e, width)
	}
	return sum
}
