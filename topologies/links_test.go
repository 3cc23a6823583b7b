package topologies

import (
	"slices"
	"sync"
	"testing"
)

// Whoever asks first or again, links are where there is a path, and a route is the path in
// parts.
func TestLinksAndRoutesArePaths(t *testing.T) {
	for _, name := range []string{"dgx-1", "mi250", "perlmutter", "torus:3x4"} {
		for _, top := range []*Topology{must(t, name, Options{}), must(t, name, Options{}).Forwarding()} {
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					for a := -1; a <= len(top.Ranks); a++ {
						for b := -1; b <= len(top.Ranks); b++ {
							path, ok := top.Path(a, b)
							route, routed := top.Route(a, b)
							if top.Linked(a, b) != ok || routed != ok {
								t.Errorf("%s: %d to %d: a path %v, linked %v, a route %v", name, a, b, ok, !ok, routed)
							}
							if parts := slices.Concat(route.Parts[:]...); !slices.Equal(parts, path.Edges) || route.Latency != path.Latency || route.Net != path.Net {
								t.Errorf("%s: %d to %d: route %+v, path %+v", name, a, b, route, path)
							}
						}
					}
				})
			}
			wg.Wait()
		}
	}
}

// Over very many ranks links are found each time.
func TestLinksOfManyRanks(t *testing.T) {
	top := must(t, "ring:16385", Options{})
	for range 2 {
		if !top.Linked(0, 1) || !top.Linked(0, maxRemembered) || top.Linked(0, 2) {
			t.Error("rank 0 of a ring is linked to 1 and the last only")
		}
	}
	if top.adjacent().links.row(0) != nil {
		t.Error("a row is kept")
	}
}

func BenchmarkLinked2048(b *testing.B) {
	top := must(b, "perlmutter", Options{Nodes: 512})
	for b.Loop() {
		for x := range top.Ranks {
			for y := range top.Ranks {
				top.Linked(x, y)
			}
		}
	}
}
