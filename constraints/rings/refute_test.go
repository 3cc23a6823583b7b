package rings

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

// A graph is separated if it has several components, or too many without one of its
// ranks; components are those found by a search that leaves out the rank.
func TestSeparated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, nodes := rapid.IntRange(1, 9).Draw(t, "ranks"), rapid.IntRange(1, 2).Draw(t, "nodes")
		var links [][3]int
		for a := range n {
			for b := range a {
				if rapid.IntRange(0, 2).Draw(t, "link") == 0 {
					links = append(links, [3]int{a, b, 1})
				}
			}
		}
		p, err := newRingProblem(t.Context(), graph(n, false, links...), 1)
		if err != nil {
			t.Fatal(err)
		}
		near := p.neighbours()
		p.nodes = slices.Repeat(p.nodes, nodes)
		// parts counts the components without rank v.
		parts := func(v int) (count int) {
			seen := make([]bool, n)
			var walk func(i int)
			walk = func(i int) {
				seen[i] = true
				for _, j := range near[i] {
					if j != v && !seen[j] {
						walk(j)
					}
				}
			}
			for i := range n {
				if i != v && !seen[i] {
					walk(i)
					count++
				}
			}
			return count
		}
		want := parts(-1) > 1
		for v := range n {
			want = want || parts(v) > nodes // one part on one node, two on several
		}
		if why := p.separated(near); (why != "") != want {
			t.Errorf("%v on %d nodes: separated %v, %q", near, nodes, want, why)
		}
	})
}

// A node with too many GPUs is refused before memory for each pair of them is allocated.
func TestRingsOfVeryManyRanks(t *testing.T) {
	top, err := topologies.Resolve("mesh:65x65", topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Find(t.Context(), nil, top, Options{Count: 1})
	var late *TimeoutError
	if !errors.As(err, &late) || !strings.Contains(err.Error(), "a node has 4225 GPUs: want at most 4096") {
		t.Errorf("%v", err)
	}
}
