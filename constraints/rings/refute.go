package rings

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/constraints/internal/words"
)

// refute returns a reason why there can be no such rings that a user can verify by
// hand, or "". What it leaves open is settled by search.
func (p *problem) refute() string {
	near := p.neighbours()
	for _, argument := range []func([][]int) string{p.deadEnd, p.separated, p.unbalanced} {
		if why := argument(near); why != "" {
			return why
		}
	}
	return p.refuteByCounts(1)
}

// deadEnd finds a GPU that has links to one other only, so that no ring can pass
// through it.
func (p *problem) deadEnd(near [][]int) string {
	if i := slices.IndexFunc(near, func(to []int) bool { return len(to) == 1 }); i >= 0 && p.n > 2 && p.singleNode() {
		return fmt.Sprintf("%s has links to %s only", p.gpu(i), p.gpu(near[i][0]))
	}
	return ""
}

// separated finds that the node's links form a graph that is disconnected, or that
// the removal of one GPU leaves too many components: a closed order can visit only
// one of them before it returns to that GPU, an order that ends in the next node two.
// One depth-first search finds the components (Hopcroft and Tarjan 1973).
func (p *problem) separated(near [][]int) (why string) {
	most := 2
	if p.singleNode() {
		most = 1
	}
	number, visited := make([]int, p.n), 0 // by rank: its number in the order of the search
	var visit func(i int) (least int)      // number that a link leads to from i and what is found from it
	visit = func(i int) (least int) {
		visited++
		number[i], least = visited, visited
		parts := 0
		if visited > 1 {
			parts++ // the one that the search came from
		}
		for _, j := range near[i] {
			if number[j] > 0 {
				least = min(least, number[j])
				continue
			}
			reached := visit(j)
			if least = min(least, reached); reached >= number[i] {
				parts++
			}
		}
		if parts > most {
			why = fmt.Sprintf("without %s the other GPUs of its node are in %d parts that no link joins", p.gpu(i), parts)
		}
		return least
	}
	visit(0)
	if missed := slices.Index(number, 0); missed >= 0 {
		return fmt.Sprintf("no path of links within a node joins %s to %s", p.gpu(0), p.gpu(missed))
	}
	return why
}

// unbalanced finds that the links form a bipartite graph whose sides differ in size.
// An order alternates between the sides.
func (p *problem) unbalanced(near [][]int) string {
	var one, other []int
	for i, c := range twoColours(near) {
		if c > 0 {
			one = append(one, i)
		} else {
			other = append(other, i)
		}
	}
	more := max(len(one), len(other)) - min(len(one), len(other))
	if more == 0 || p.n == 1 || more == 1 && !p.singleNode() {
		return ""
	}
	return fmt.Sprintf("every link joins one of %s to one of %s: a ring takes them in turns, and they are %d and %d",
		p.gpus(one), p.gpus(other), len(one), len(other))
}

// twoColours colours ranks 1 and -1 so that neighbours differ. It returns nil if
// there is no such colouring.
func twoColours[rank int | int32](near [][]rank) []int8 {
	colour := make([]int8, len(near))
	for first := range near {
		if colour[first] != 0 {
			continue
		}
		colour[first] = 1
		for todo := []rank{rank(first)}; len(todo) > 0; {
			i := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for _, j := range near[i] {
				if colour[j] == colour[i] {
					return nil
				}
				if colour[j] == 0 {
					colour[j] = -colour[i]
					todo = append(todo, j)
				}
			}
		}
	}
	return colour
}

// neighbours lists, for each rank of a node, the ranks of the node that it can step to
// or be reached from.
func (p *problem) neighbours() [][]int {
	near := make([][]int, p.n)
	for a := range near {
		for b := range p.n {
			if p.within[a][b] != nil || p.within[b][a] != nil {
				near[a] = append(near[a], b)
			}
		}
	}
	return near
}

func (p *problem) gpu(i int) string { return p.t.Vertices[p.nodes[0][i]].Name }

// gpus names the GPUs in a list.
func (p *problem) gpus(list []int) string {
	return words.List(len(list), func(i int) string { return p.gpu(list[i]) })
}
