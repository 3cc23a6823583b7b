package symmetry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints/internal/contexttest"
)

// permutations calls yield with every order of 0…n-1.
func permutations(n int, yield func([]int)) {
	image := make([]int, n)
	for i := range image {
		image[i] = i
	}
	var from func(int)
	from = func(i int) {
		if i == n {
			yield(image)
			return
		}
		for j := i; j < n; j++ {
			image[i], image[j] = image[j], image[i]
			from(i + 1)
			image[i], image[j] = image[j], image[i]
		}
	}
	from(0)
}

// same tells, by counting arcs, whether renaming vertices changes nothing.
func same(g *Graph, image []int) bool {
	for v, w := range image {
		if g.colours[v] != g.colours[w] {
			return false
		}
	}
	count := map[arc]int{}
	for _, a := range g.arcs {
		count[a]++
		count[arc{int32(image[a.from]), int32(image[a.to]), a.colour}]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// drawn draws a small graph: of few colours, so that there are automorphisms.
func drawn(t *rapid.T) *Graph {
	n := rapid.IntRange(1, 7).Draw(t, "vertices")
	colours := make([]int, n)
	for v := range colours {
		colours[v] = 3 * rapid.IntRange(0, rapid.IntRange(0, 1).Draw(t, "kinds")).Draw(t, "colour")
	}
	g := NewGraph(colours)
	both := rapid.Bool().Draw(t, "both ways")
	turn := rapid.IntRange(0, n-1).Draw(t, "turn") // another copy of every arc, so far on
	for a := range n {
		for b := range n {
			if a == b || both && b < a || rapid.IntRange(0, 2).Draw(t, "arc") > 0 {
				continue
			}
			colour := rapid.IntRange(-1, 1).Draw(t, "width")
			for range rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "times") {
				for range n {
					g.Arc(a, b, colour)
					if both {
						g.Arc(b, a, colour)
					}
					if a, b = (a+turn)%n, (b+turn)%n; turn == 0 {
						break
					}
				}
			}
		}
	}
	return g
}

// TestEveryPermutation compares with all orders of small graphs' vertices.
func TestEveryPermutation(t *testing.T) {
	large := 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawn(t)
		n := len(g.colours)
		var all [][]int
		permutations(n, func(image []int) {
			if same(g, image) {
				all = append(all, slices.Clone(image))
			}
		})
		group := Find(t.Context(), g, Limit)
		if !group.Complete || group.Order().Int64() != int64(len(all)) {
			t.Fatalf("%v automorphisms, whole %v; of all orders %d are", group.Order(), group.Complete, len(all))
		}
		for _, image := range group.Generators {
			if !same(g, image) {
				t.Fatalf("generator %v is no automorphism", image)
			}
		}
		if want := Orbits(n, all); !slices.Equal(group.Orbits(), want) {
			t.Fatalf("orbits %v, want %v", group.Orbits(), want)
		}
		if len(all) > 1 {
			large++
		}
	})
	if large < 10 {
		t.Errorf("%d graphs with automorphisms: too few to mean much", large)
	}
}

// Renumbering the vertices does not change the number of automorphisms.
func TestRenamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawn(t)
		n := len(g.colours)
		vertices := make([]int, n)
		for v := range vertices {
			vertices[v] = v
		}
		to := rapid.Permutation(vertices).Draw(t, "names")
		colours := make([]int, n)
		for v, w := range to {
			colours[w] = g.colours[v]
		}
		h := NewGraph(colours)
		for _, a := range g.arcs {
			h.Arc(to[a.from], to[a.to], a.colour)
		}
		a, b := Find(t.Context(), g, Limit), Find(t.Context(), h, Limit)
		if a.Order().Cmp(b.Order()) != 0 {
			t.Fatalf("%v automorphisms, with other names %v", a.Order(), b.Order())
		}
	})
}

// grid is a torus of the given sides.
func grid(sides ...int) *Graph {
	n := 1
	for _, s := range sides {
		n *= s
	}
	g := NewGraph(make([]int, n))
	for v := range n {
		step := 1
		for _, s := range sides {
			on := v + step
			if v/step%s == s-1 {
				on = v - (s-1)*step
			}
			if on != v {
				g.Arc(v, on, 0)
				g.Arc(on, v, 0)
			}
			step *= s
		}
	}
	return g
}

// The orders of known graphs' groups are those in the literature.
func TestKnownGroups(t *testing.T) {
	complete := NewGraph(make([]int, 16))
	for a := range 16 {
		for b := range 16 {
			if a != b {
				complete.Arc(a, b, 0)
			}
		}
	}
	oneWay := NewGraph(make([]int, 9))
	for v := range 9 {
		oneWay.Arc(v, (v+1)%9, 0)
	}
	petersen := NewGraph(make([]int, 10))
	for v := range 5 {
		for _, e := range [][2]int{{v, (v + 1) % 5}, {v, v + 5}, {v + 5, (v+2)%5 + 5}} {
			petersen.Arc(e[0], e[1], 0)
			petersen.Arc(e[1], e[0], 0)
		}
	}
	for _, c := range []struct {
		name  string
		g     *Graph
		order string
	}{
		{"ring of 8", grid(8), "16"},
		{"ring of 9, one way", oneWay, "9"},
		{"torus of 5x5", grid(5, 5), "200"},
		{"torus of 8x8", grid(8, 8), "512"},
		{"torus of 4x4x4", grid(4, 4, 4), "46080"}, // a hypercube of 6
		{"mesh of 16", complete, "20922789888000"},
		{"Petersen's graph", petersen, "120"},
		{"nothing", NewGraph(nil), "1"},
		{"64 alone", NewGraph(make([]int, 64)), "126886932185884164103433389335161480802865516174545192198801894375214704230400000000000000"},
	} {
		if group := Find(t.Context(), c.g, Limit); !group.Complete || group.Order().String() != c.order {
			t.Errorf("%s: %v automorphisms, whole %v; want %s", c.name, group.Order(), group.Complete, c.order)
		}
	}
}

// With any limit of work, every generator is an automorphism, and Complete is true only
// if they generate all.
func TestBounded(t *testing.T) {
	g := grid(4, 4, 4)
	for limit := 1; limit < 1_000_000; limit = 2*limit + 1 {
		group := Find(t.Context(), g, limit)
		for _, image := range group.Generators {
			if !same(g, image) {
				t.Fatalf("with a limit of %d: generator %v is no automorphism", limit, image)
			}
		}
		if group.Complete && group.Order().Int64() != 46080 {
			t.Errorf("with a limit of %d: %v automorphisms are called all", limit, group.Order())
		}
	}
	if Find(t.Context(), g, 1).Complete {
		t.Error("nothing was looked at, and it is called all")
	}
}

// TestEnds ends the context after each number of checks: the generators found by then are
// automorphisms, Complete is true only if they are all, and few checks follow.
func TestEnds(t *testing.T) {
	g := grid(3, 3, 3)
	unended := &contexttest.Countdown{Context: t.Context(), N: 1 << 30}
	all := Find(unended, g, Limit)
	takes := 1<<30 - unended.N
	if !all.Complete || takes < 20 {
		t.Fatalf("%v automorphisms, whole %v, in %d checks: too few to mean much", all.Order(), all.Complete, takes)
	}
	for n := range takes + 1 {
		ctx := &contexttest.Countdown{Context: t.Context(), N: n}
		group := Find(ctx, g, Limit)
		for _, image := range group.Generators {
			if !same(g, image) {
				t.Fatalf("after %d checks: generator %v is no automorphism", n, image)
			}
		}
		if group.Complete != (n == takes) {
			t.Errorf("after %d of %d checks: whole is %v", n, takes, group.Complete)
		}
		if ctx.N < -3 {
			t.Errorf("after %d checks there were %d more", n, -ctx.N)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for name, g := range map[string]*Graph{"torus 4x4x4": grid(4, 4, 4), "ring 64": grid(64)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Find(b.Context(), g, Limit)
			}
		})
	}
}
