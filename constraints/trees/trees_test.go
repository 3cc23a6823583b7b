package trees

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/constraints/internal/contexttest"
	"github.com/colltune/colltune/constraints/internal/publishedtest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

var resolve = topotest.Resolve

func pack(t interface {
	Helper()
	Fatal(...any)
}, top *topologies.Topology, o Options) *Packing {
	t.Helper()
	p, err := Pack(context.Background(), top, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(top); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMeetsTheBound compares with ForestColl's published rates.
func TestMeetsTheBound(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
		rate     string // GB/s
		k        int
	}{
		{"dgx-a100", 1, "2400/7", 1},
		{"dgx-a100", 2, "1040/3", 13},
		{"dgx-a100", 4, "800/3", 1},
		{"dgx-1", 1, "1200/7", 6},
		{"ring:8@50GB/s", 1, "800/7", 2},
		{"mesh:4x4@50GB/s", 1, "320/3", 2},
		{"mesh:8x8@50GB/s", 1, "6400/63", 2},
		{"hypercube:4@50GB/s", 1, "640/3", 4},
		{"mi300x", 1, "372", 1},
		{"dgx-1", 2, "", 0}, // NICs of two GPUs each
	} {
		top := resolve(t, c.topology, c.nodes)
		p := pack(t, top, Options{})
		rate := new(big.Rat).Quo(p.Rate, big.NewRat(1e9, 1)).RatString()
		if c.rate == "" {
			if !p.Optimal() {
				t.Errorf("%d x %s: %s GB/s, below the bound", c.nodes, c.topology, rate)
			}
			continue
		}
		if rate != c.rate || p.K != c.k || !p.Optimal() {
			t.Errorf("%d x %s: %s GB/s with %d trees a root, want %s with %d", c.nodes, c.topology, rate, p.K, c.rate, c.k)
		}
	}
}

// TestFewTrees stays near the bound of two MI300X, which takes 751 trees a root,
// with fewer, and gets nearer with more.
func TestFewTrees(t *testing.T) {
	top := resolve(t, "mi300x", 2)
	last := new(big.Rat)
	for _, c := range []struct {
		trees int
		least float64
	}{{1, 0.89}, {16, 0.99}, {DefaultMaxTrees, 0.998}, {751, 1}} {
		p := pack(t, top, Options{MaxTrees: c.trees})
		share, _ := new(big.Rat).Quo(p.Rate, p.Bound).Float64()
		if p.K > c.trees || share < c.least || p.Rate.Cmp(last) <= 0 {
			t.Errorf("%d trees a root: %.4f of the bound, want %.4f and more than with fewer", p.K, share, c.least)
		}
		last = p.Rate
	}
}

// TestPublishedSystems compares with what ForestColl finds on graphs that the
// catalogue has otherwise.
func TestPublishedSystems(t *testing.T) {
	for _, c := range []struct {
		top  *topologies.Topology
		rate string // GB/s
		most int    // trees a root that ForestColl needs
	}{
		{publishedtest.MI250(1), "2400/7", 3},    // 342.857
		{publishedtest.MI250(2), "10624/30", 83}, // 354.133
		{publishedtest.NDv2(2), "25", 1},
		{publishedtest.NDv2(4), "50/3", 1},    // 16.667
		{publishedtest.DGX2(), "4000/31", 10}, // 129.032
		{publishedtest.SharedNICs(2, 4), "40", 1},
	} {
		p := pack(t, c.top, Options{})
		want, _ := new(big.Rat).SetString(c.rate)
		if rate := new(big.Rat).Quo(p.Rate, big.NewRat(1e9, 1)); rate.Cmp(want) != 0 || p.K > c.most || !p.Optimal() {
			t.Errorf("%s: %s GB/s with %d trees a root, want %s with at most %d", c.top.Name, rate.RatString(), p.K, want.RatString(), c.most)
		}
	}
}

// random draws a connected system: up to 6 ranks and 2 switches in a node, or
// the same behind NICs. Links may be one-way where oneWay is set.
func random(t *rapid.T, oneWay bool) *topologies.Topology {
	n := rapid.IntRange(2, 6).Draw(t, "ranks")
	top := &topologies.Topology{Name: "random", Nodes: 1, Runtime: "nccl"}
	for r := range n {
		top.Ranks = append(top.Ranks, topologies.Rank{Local: r, SMs: 1})
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU})
	}
	for range rapid.IntRange(0, 3).Draw(t, "switches") {
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.Switch, Name: "switch"})
	}
	for a := range top.Vertices {
		for b := range a {
			// A chain of the ranks keeps it connected.
			chain := a < n && b == a-1
			if !chain && !rapid.Bool().Draw(t, "link") {
				continue
			}
			gbps := rapid.Int64Range(1, 9).Draw(t, "capacity")
			e := topologies.Edge{From: a, To: b, Count: 1, Bandwidth: units.Bandwidth(gbps * 1e9)}
			top.Edges = append(top.Edges, e)
			e.From, e.To = b, a
			if oneWay && rapid.Bool().Draw(t, "uneven") {
				if gbps = rapid.Int64Range(0, 9).Draw(t, "back"); gbps == 0 && !chain {
					continue
				}
				e.Bandwidth = units.Bandwidth(max(1, gbps) * 1e9)
			}
			top.Edges = append(top.Edges, e)
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

// TestRandomSystems meets the bound of every collective on random systems whose
// links are as wide both ways.
func TestRandomSystems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t, false)
		for _, name := range Collectives() {
			p := pack(t, top, Options{Collective: name, Root: rapid.IntRange(0, len(top.Ranks)-1).Draw(t, "root") * btoi(kinds[name].rooted), MaxTrees: 4096})
			if !p.Optimal() {
				t.Fatalf("%s: %v B/s, the bound is %v", name, p.Rate.RatString(), p.Bound.RatString())
			}
		}
	})
}

// TestUnevenSystems packs trees where links differ between directions, and where too few
// trees are allowed to meet the bound.
func TestUnevenSystems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t, true)
		name := rapid.SampledFrom(Collectives()).Draw(t, "collective")
		most := rapid.SampledFrom([]int{1, 2, 5, 4096}).Draw(t, "trees")
		p, err := Pack(context.Background(), top, Options{Collective: name, MaxTrees: most})
		if err != nil {
			if strings.Contains(err.Error(), "not enough") {
				t.Skip(err)
			}
			t.Fatal(err)
		}
		if err := p.Check(top); err != nil {
			t.Fatal(err)
		}
		if p.K > most {
			t.Fatalf("%d trees a root: want at most %d", p.K, most)
		}
		if most == 4096 && !p.Optimal() {
			t.Fatalf("%s: %v B/s, the bound is %v", name, p.Rate.RatString(), p.Bound.RatString())
		}
	})
}

// TestCheckFindsEveryChange changes a good packing in one place at a time.
func TestCheckFindsEveryChange(t *testing.T) {
	top := resolve(t, "dgx-a100", 2)
	for _, c := range []struct {
		name string
		lie  func(p *Packing)
		want string
	}{
		{"a rate above the bound", func(p *Packing) { p.Bound = big.NewRat(1, 1) }, "the bound 1"},
		{"another rate", func(p *Packing) { p.Rate = big.NewRat(1, 1) }, "the packing says 1"},
		{"wider trees", func(p *Packing) { p.Each = new(big.Rat).Mul(p.Each, big.NewRat(2, 1)) }, "carries"},
		{"a tree missing", func(p *Packing) { p.Trees = p.Trees[1:] }, "want 13"},
		{"a tree too many", func(p *Packing) { p.Trees[0].Count++ }, "want"},
		{"another root", func(p *Packing) { p.Trees[0].Root = 15 }, "the tree has"},
		{"an edge missing", func(p *Packing) { p.Trees[0].Edges = p.Trees[0].Edges[:14] }, "want 15"},
		{"edges out of order", func(p *Packing) { slices.Reverse(p.Trees[0].Edges) }, "has not come to"},
		{"an edge twice", func(p *Packing) { p.Trees[0].Edges[1] = p.Trees[0].Edges[0] }, "has been at"},
		{"a route cut short", func(p *Packing) { r := &p.Trees[0].Edges[0].Routes[0]; r.Links = r.Links[:1] }, "ends at"},
		{"a route from elsewhere", func(p *Packing) { r := &p.Trees[0].Edges[0].Routes[0]; r.Links = r.Links[1:] }, "does not leave"},
		{"a route to nowhere", func(p *Packing) { p.Trees[0].Edges[0].Routes[0].Links[0] = 1 << 20 }, "does not leave"},
		{"no routes", func(p *Packing) { p.Trees[0].Edges[0].Routes = nil }, "0 trees"},
		{"a rank that is not there", func(p *Packing) { p.Trees[0].Edges[14].Child = 16 }, "has been at"},
		{"another collective", func(p *Packing) { p.Collective = "alltoall" }, "want one of"},
		{"data the other way", func(p *Packing) { p.Collective = "reducescatter" }, "does not leave"},
		{"fewer ranks", func(p *Packing) { p.Ranks = 15 }, "has 16"},
	} {
		p := pack(t, top, Options{})
		c.lie(p)
		if err := p.Check(top); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestSameTwice(t *testing.T) {
	for _, top := range []*topologies.Topology{resolve(t, "dgx-a100", 2), publishedtest.MI250(1), resolve(t, "mesh:3x4", 1)} {
		if !reflect.DeepEqual(pack(t, top, Options{}), pack(t, top, Options{})) {
			t.Errorf("%s: two packings", top.Name)
		}
	}
}

func TestRefuses(t *testing.T) {
	top := resolve(t, "ring:4", 1)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		o    Options
		want string
	}{
		{context.Background(), Options{Collective: "alltoall"}, "want one of [allgather broadcast reduce reducescatter]"},
		{context.Background(), Options{MaxTrees: -1}, "want 1 to"},
		{context.Background(), Options{Root: 1}, "has no root"},
		{context.Background(), Options{Collective: "broadcast", Root: 4}, "want 0 to 3"},
		{done, Options{}, "canceled"},
	} {
		if _, err := Pack(c.ctx, top, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := AllReduce(pack(t, top, Options{}), pack(t, top, Options{}), true); err == nil || !strings.Contains(err.Error(), "want reducescatter and allgather") {
		t.Errorf("allreduce of two allgathers: %v", err)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func BenchmarkPack(b *testing.B) {
	for _, c := range []struct {
		topology string
		nodes    int
	}{{"dgx-1", 1}, {"dgx-a100", 1}, {"dgx-a100", 2}, {"dgx-a100", 4}, {"dgx-a100", 8}, {"dgx-a100", 16}, {"mesh:8x8", 1}, {"hypercube:6", 1}, {"torus:8x8", 1}} {
		top := resolve(b, c.topology, c.nodes)
		b.Run(fmt.Sprintf("%s-x%d", top.Name, c.nodes), func(b *testing.B) {
			for b.Loop() {
				pack(b, top, Options{})
			}
		})
	}
}

// TestPrograms traces, compiles and verifies the programs of packings, in and
// out of place.
func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
	}{{"dgx-1", 1}, {"dgx-a100", 2}, {"ring:5", 1}, {"mesh:3x4", 1}, {"hub:4", 1}} {
		top := resolve(t, c.topology, c.nodes)
		packings := map[string]*Packing{}
		check := func(p *lang.Program, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if refused := constraints.CheckRouting(p, top); len(refused) > 0 {
				t.Fatal(refused[0])
			}
			res, err := compiler.Compile(p, compiler.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r := verify.Check(res.Program, verify.Options{}); !r.OK() {
				t.Fatal(r.Findings[0])
			}
		}
		for _, name := range Collectives() {
			o := Options{Collective: name}
			if kinds[name].rooted {
				o.Root = 2
			}
			p := pack(t, top, o)
			packings[name] = p
			for _, inPlace := range []bool{false, true} {
				check(p.Program(inPlace))
			}
		}
		for _, inPlace := range []bool{false, true} {
			check(AllReduce(packings["reducescatter"], packings["allgather"], inPlace))
		}
	}
}

// TestEnds ends the context after each number of checks: Pack returns its error, after few
// more checks.
func TestEnds(t *testing.T) {
	top := topotest.Resolve(t, "dgx-1", 2)
	unended := &contexttest.Countdown{Context: context.Background(), N: 1 << 30}
	if _, err := Pack(unended, top, Options{}); err != nil {
		t.Fatal(err)
	}
	takes := 1<<30 - unended.N
	if takes < 500 {
		t.Fatalf("%d checks: too few to mean much", takes)
	}
	for n := 0; n < takes; n += 1 + n/20 {
		ctx := &contexttest.Countdown{Context: context.Background(), N: n}
		if p, err := Pack(ctx, top, Options{}); p != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d of %d checks: %v, want that it was cancelled", n, takes, err)
		}
		if -ctx.N > 100 {
			t.Errorf("after %d of %d checks there were %d more", n, takes, -ctx.N)
		}
	}
}
