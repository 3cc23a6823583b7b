package trees

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// ways are the collectives' ways along a tree.
var ways = []struct {
	name     string
	down, up bool
}{{"broadcast", true, false}, {"reduce", false, true}, {"allreduce", true, true}}

// widthOf is what trees can carry at once, counted on the topology alone.
func widthOf(t *topologies.Topology, trees [][]int, down, up bool) *big.Rat {
	var least *big.Rat
	count := func(turned bool) {
		load := map[int]int64{}
		for _, parents := range trees {
			for r, parent := range parents {
				from, to := parent, r
				if turned {
					from, to = r, parent
				}
				path, _ := t.Path(from, to)
				for _, e := range path.Edges {
					load[e]++
				}
			}
		}
		for e, n := range load {
			if w := big.NewRat(int64(t.Edges[e].Bandwidth), n); least == nil || w.Cmp(least) < 0 {
				least = w
			}
		}
	}
	if down {
		count(false)
	}
	if up {
		count(true)
	}
	return least
}

func disjoint(t interface{ Fatal(...any) }, top *topologies.Topology, o DisjointOptions) (DisjointAnswer, error) {
	a, err := Disjoint(context.Background(), top, o)
	var none *NoTreesError
	if errors.As(err, &none) {
		return a, err
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := constraints.CheckTrees(top, a.Parents, o.Down, o.Up); err != nil {
		t.Fatal(fmt.Sprintf("%s, %+v: %v", top.Name, o, err))
	}
	if len(a.Parents) != max(1, o.Count) || a.Width.Cmp(widthOf(top, a.Parents, o.Down, o.Up)) != 0 {
		t.Fatal(fmt.Sprintf("%s, %+v: %d trees of width %s, counted %s", top.Name, o, len(a.Parents), a.Width.RatString(), widthOf(top, a.Parents, o.Down, o.Up).RatString()))
	}
	for _, parents := range a.Parents {
		if parents[a.Root] != -1 || o.Root != Anywhere && a.Root != o.Root {
			t.Fatal(fmt.Sprintf("%s, %+v: a tree %v of root %d", top.Name, o, parents, a.Root))
		}
	}
	return a, nil
}

// Widths and depths of systems that can be counted by hand, and the reasons why there
// are no more trees.
func TestDisjointTrees(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
		count    int
		gbps     string // of each tree
		depth    int
		why      string
	}{
		{"dgx-1", 1, 1, "50", 4, ""}, // round the ring of double NVLinks, both ways
		{"dgx-1", 1, 2, "50", 7, ""}, // each one way round
		{"dgx-1", 1, 4, "25", 4, ""}, // over all links
		{"dgx-1", 1, 6, "25", 5, ""},
		{"dgx-1", 1, 7, "", 0, "no 7 trees from gpu 0 that share no link: 6 links lead into gpu 1 (from gpu 0, gpu 2, gpu 3 and gpu 5)"},
		{"ring:8@50GB/s", 1, 1, "50", 4, ""},
		{"ring:8@50GB/s", 1, 2, "50", 7, ""},
		{"ring:8@50GB/s", 1, 3, "", 0, "no 3 trees from gpu 0 that share no link: 2 links lead into gpu 1 (from gpu 0 and gpu 2)"},
		{"mesh:3x3@50GB/s", 1, 2, "50", 4, ""}, // a corner has two links
		{"mesh:3x3@50GB/s", 1, 3, "", 0, "no 3 trees from gpu 0 that share no link: 2 links lead into gpu 2 (from gpu 1 and gpu 5)"},
		{"hypercube:3@50GB/s", 1, 3, "50", 4, ""},
		{"dgx-a100", 1, 1, "300", 7, ""}, // a chain: a GPU that sends to two sends to each at half the rate
		{"dgx-a100", 1, 2, "150", 4, ""},
		{"dgx-a100", 1, 7, "300/7", 2, ""}, // by way of each GPU to all others
		{"dgx-a100", 1, 8, "75/2", 3, ""},  // to two by way of which there is no room for a seventh
		{"mi300x", 1, 7, "93/2", 2, ""},
		{"ndv2-teccl", 2, 2, "25/4", 0, ""}, // one link between the nodes, which both take
	} {
		top := resolve(t, c.topology, c.nodes)
		a, err := disjoint(t, top, DisjointOptions{Count: c.count, Down: true})
		if c.why != "" {
			if err == nil || err.Error() != fmt.Sprintf("topology %s: %s", top.Name, c.why) {
				t.Errorf("%d trees on %s: %v, want %s", c.count, c.topology, err, c.why)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		deep := 0
		for _, parents := range a.Parents {
			deep = max(deep, slices.Max(depths(parents)))
		}
		if got := new(big.Rat).Quo(a.Width, big.NewRat(1e9, 1)).RatString(); got != c.gbps || c.depth > 0 && deep != c.depth {
			t.Errorf("%d trees on %s: %s GB/s each, %d deep; want %s, %d\n%v", c.count, c.topology, got, deep, c.gbps, c.depth, a.Parents)
		}
	}
}

// TestDisjointOnTheCatalogue finds trees on every entry, of 1, 2 and 4 nodes, for
// every direction of data: as many as each GPU's links allow, and always one.
func TestDisjointOnTheCatalogue(t *testing.T) {
	most := 24
	if os.Getenv("COLLTUNE_LONG") != "" {
		most = MaxDisjointRanks
	}
	for _, name := range topologies.Names() {
		if name == "generator-protocols" {
			continue
		}
		for _, nodes := range []int{1, 2, 4} {
			top := resolve(t, name, nodes)
			if len(top.Ranks) > most {
				continue
			}
			for _, way := range ways {
				for _, count := range []int{1, 2, 3, 6} {
					a, err := disjoint(t, top, DisjointOptions{Count: count, Root: len(top.Ranks) - 1, Down: way.down, Up: way.up})
					// Of TE-CCL's NDv2 one GPU of a node sends, and another receives.
					if count == 1 && err != nil && !(way.name == "allreduce" && strings.HasSuffix(err.Error(), ": no link leads to node 0 and back")) {
						t.Errorf("%d x %s, %s: %v", nodes, name, way.name, err)
					}
					if testing.Verbose() && err == nil {
						t.Logf("%d x %s, %s, %d trees: %s GB/s", nodes, name, way.name, count, new(big.Rat).Quo(a.Width, big.NewRat(1e9, 1)).RatString())
					}
				}
			}
		}
	}
}

// few draws a system of few ranks: links of one to three each way, and in some a
// switch that some ranks are on.
func few(t *rapid.T, ranks int) *topologies.Topology {
	top := &topologies.Topology{Name: "few", Nodes: 1, Runtime: "nccl"}
	for r := range ranks {
		top.Ranks = append(top.Ranks, topologies.Rank{Local: r, SMs: 1})
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU, Name: fmt.Sprintf("gpu %d", r)})
	}
	link := func(a, b int, kinds []int) {
		n := rapid.SampledFrom(kinds).Draw(t, fmt.Sprintf("links from %d to %d", a, b))
		if n == 0 {
			return
		}
		gbps := rapid.SampledFrom([]int64{6, 12}).Draw(t, "GB/s")
		top.Edges = append(top.Edges, topologies.Edge{From: a, To: b, Count: n, Bandwidth: units.Bandwidth(int64(n) * gbps * 1e9)})
	}
	mixed := rapid.Bool().Draw(t, "switch")
	oneWay := rapid.Bool().Draw(t, "one-way")
	if mixed {
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.Switch, Name: "switch"})
	}
	for a := range top.Vertices {
		for b := range a {
			kinds := []int{0, 1, 2}
			if a == ranks {
				kinds = []int{0, 1}
			}
			before := len(top.Edges)
			link(a, b, kinds)
			switch {
			case oneWay:
				link(b, a, kinds)
			case len(top.Edges) > before:
				e := top.Edges[before]
				e.From, e.To = e.To, e.From
				top.Edges = append(top.Edges, e)
			}
		}
	}
	slices.SortFunc(top.Edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return top
}

// every lists all trees of a root, by trying every parent of every rank.
func every(top *topologies.Topology, root int, down, up bool) (all [][]int) {
	n := len(top.Ranks)
	parents := make([]int, n)
	var choose func(r int)
	choose = func(r int) {
		switch {
		case r == n:
			if constraints.CheckTree(top, parents, down, up) == nil {
				all = append(all, slices.Clone(parents))
			}
			return
		case r == root:
			parents[r] = -1
			choose(r + 1)
			return
		}
		for parent := range n {
			if parent != r {
				parents[r] = parent
				choose(r + 1)
			}
		}
	}
	choose(0)
	return all
}

// TestDisjointAgainstAll compares with all sets of trees: whether the given number
// exists, and the greatest width. Where ranks have both a link and a switch between
// them, the width may be less, and never more.
func TestDisjointAgainstAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 4).Draw(t, "ranks")
		top := few(t, ranks)
		way := rapid.SampledFrom(ways).Draw(t, "way")
		count := rapid.IntRange(1, 3).Draw(t, "trees")
		root := rapid.IntRange(0, ranks-1).Draw(t, "root")
		all := every(top, root, way.down, way.up)
		var widest *big.Rat
		var set [][]int
		var pick func(from, left int)
		pick = func(from, left int) {
			if constraints.CheckTrees(top, set, way.down, way.up) != nil {
				return
			}
			if left == 0 {
				if w := widthOf(top, set, way.down, way.up); widest == nil || w.Cmp(widest) > 0 {
					widest = w
				}
				return
			}
			for i := from; i < len(all); i++ {
				set = append(set, all[i])
				pick(i, left-1)
				set = set[:len(set)-1]
			}
		}
		pick(0, count)
		a, err := disjoint(t, top, DisjointOptions{Count: count, Root: root, Down: way.down, Up: way.up})
		if (err == nil) != (widest != nil) {
			t.Fatalf("%d trees for %s: %v, of all trees there are some: %v", count, way.name, err, widest != nil)
		}
		if err != nil {
			return
		}
		switch mixed := len(top.Vertices) > ranks; {
		case a.Width.Cmp(widest) > 0, !mixed && a.Width.Cmp(widest) < 0:
			t.Fatalf("%d trees for %s: width %s, the widest there is is %s: %v", count, way.name, a.Width.RatString(), widest.RatString(), a.Parents)
		}
	})
}

// The numbering of ranks changes neither whether there are trees nor their width.
func TestDisjointRelabelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 6).Draw(t, "ranks")
		top := few(t, ranks)
		numbers := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for r := range ranks {
				if !yield(r) {
					return
				}
			}
		})).Draw(t, "numbers")
		other := &topologies.Topology{Name: top.Name, Nodes: 1, Runtime: top.Runtime, Ranks: top.Ranks, Vertices: top.Vertices}
		at := func(v int) int {
			if v < ranks {
				return numbers[v]
			}
			return v
		}
		for _, e := range top.Edges {
			e.From, e.To = at(e.From), at(e.To)
			other.Edges = append(other.Edges, e)
		}
		slices.SortFunc(other.Edges, func(a, b topologies.Edge) int {
			if a.From != b.From {
				return a.From - b.From
			}
			return a.To - b.To
		})
		way := rapid.SampledFrom(ways).Draw(t, "way")
		o := DisjointOptions{Count: rapid.IntRange(1, 4).Draw(t, "trees"), Root: rapid.IntRange(0, ranks-1).Draw(t, "root"), Down: way.down, Up: way.up}
		a, err := disjoint(t, top, o)
		o.Root = numbers[o.Root]
		b, errB := disjoint(t, other, o)
		if (err == nil) != (errB == nil) || err == nil && len(top.Vertices) == ranks && a.Width.Cmp(b.Width) != 0 {
			t.Fatalf("%v %v, with other numbers %v %v", a, err, b, errB)
		}
	})
}

// Equal queries have equal answers.
func TestDisjointTwice(t *testing.T) {
	for _, name := range []string{"dgx-1", "mi250", "dgx-a100", "torus:4x4"} {
		top := resolve(t, name, 1)
		o := DisjointOptions{Count: 2, Root: Anywhere, Down: true, Up: true}
		a, _ := disjoint(t, top, o)
		b, _ := disjoint(t, top, o)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %v and %v", name, a, b)
		}
	}
}

// Where data go both ways, the trees of the chosen root are as wide as those of any
// other.
func TestAnyRootIsAsGood(t *testing.T) {
	for _, name := range []string{"dgx-1", "mesh:3x4", "frontier", "lassen", "hypercube:3"} {
		top := resolve(t, name, 1)
		for count := 1; count <= 3; count++ {
			o := DisjointOptions{Count: count, Root: Anywhere, Down: true, Up: true}
			free, err := disjoint(t, top, o)
			for root := range top.Ranks {
				o.Root = root
				fixed, errFixed := disjoint(t, top, o)
				if (err == nil) != (errFixed == nil) || err == nil && fixed.Width.Cmp(free.Width) > 0 {
					t.Errorf("%d trees on %s: %v %v of rank %d, %v %v of rank %d", count, name, free.Width, err, free.Root, fixed.Width, errFixed, root)
				}
			}
		}
	}
}

func TestDisjointRefuses(t *testing.T) {
	top := resolve(t, "ring:4", 1)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		top  *topologies.Topology
		o    DisjointOptions
		want string
	}{
		{context.Background(), top, DisjointOptions{}, "nothing goes"},
		{context.Background(), top, DisjointOptions{Count: -1, Down: true}, "want 1 to 64"},
		{context.Background(), top, DisjointOptions{Root: 4, Down: true}, "root 4 of trees: want 0 to 3"},
		{context.Background(), top, DisjointOptions{Root: Anywhere, Down: true}, "root -1 of trees: want 0 to 3"},
		{context.Background(), resolve(t, "fullmesh:257", 1), DisjointOptions{Down: true}, "want 2 to 256"},
		{done, top, DisjointOptions{Down: true}, "canceled"},
	} {
		if _, err := Disjoint(c.ctx, c.top, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// The exchange of links ends when its context does.
func TestShallowerEndsWithItsContext(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	p := newStepProblem(resolve(t, "fullmesh:5", 1), DisjointOptions{Count: 1, Down: true})
	chain, width := []int{-1, 0, 1, 2, 3}, big.NewRat(1, 1)
	for _, c := range []struct {
		ctx  context.Context
		want []int
	}{{done, chain}, {context.Background(), []int{-1, 0, 0, 0, 0}}} {
		got := [][]int{slices.Clone(chain)}
		if p.shallower(c.ctx, got, width); !slices.Equal(got[0], c.want) {
			t.Errorf("%v, want %v", got[0], c.want)
		}
	}
}
