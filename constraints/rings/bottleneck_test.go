package rings

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

// The components of a graph without each of its ranks are those found by a search that
// leaves out the rank.
func TestPartsWithout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &problem{n: rapid.IntRange(1, 9).Draw(t, "ranks")}
		p.adjacent = make([][]int, p.n)
		for a := range p.n {
			for b := range a {
				if rapid.IntRange(0, 2).Draw(t, "link") == 0 {
					p.adjacent[a], p.adjacent[b] = append(p.adjacent[a], b), append(p.adjacent[b], a)
				}
			}
		}
		for v, got := range p.componentsWithout() {
			want := 0
			for rest := p.component(v, -1); len(rest) > 0; {
				rest = slices.DeleteFunc(rest, func(i int) bool { return i == v })
				if len(rest) == 0 {
					break
				}
				part := p.component(rest[0], v)
				rest = slices.DeleteFunc(rest, func(i int) bool { return slices.Contains(part, i) })
				want++
			}
			if got != want {
				t.Errorf("%v: %d parts without %d, want %d", p.adjacent, got, v, want)
			}
		}
	})
}

// A long line is searched once, and splits in two at its first cut.
func TestPartsOfALine(t *testing.T) {
	p := &problem{n: 1 << 17}
	p.adjacent = make([][]int, p.n)
	for i := range p.n - 1 {
		p.adjacent[i], p.adjacent[i+1] = append(p.adjacent[i], i+1), append(p.adjacent[i+1], i)
	}
	parts := p.componentsWithout()
	if parts[0] != 1 || parts[p.n-1] != 1 || slices.Contains(parts[1:p.n-1], 1) || slices.Max(parts) != 2 {
		t.Errorf("parts %v … %v", parts[:3], parts[p.n-3:])
	}
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
