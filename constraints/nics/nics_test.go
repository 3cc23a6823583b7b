package nics

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// A GPU keeps its own NIC where that is as good as any; elsewhere the busiest link
// carries the least possible load.
func TestNICs(t *testing.T) {
	const text = `
name    = "box"
nodes   = 1
runtime = "nccl"
arch    = "ampere"
[node]
gpus   = %d
sms    = 100
cpu    = "intel"
source = "a test"
[[node.link]]
among     = "all"
kind      = "nvlink"
bandwidth = "100 GB/s"
latency   = "1 us"
source    = "a test"
[[node.nic]]
%s
bandwidth = "25 GB/s"
latency   = "1 us"
message   = "1 us"
source    = "a test"
[fabric]
latency = "1 us"
source  = "a test"
[protocol]
like   = "dgx-a100"
source = "a test"
`
	for _, c := range []struct {
		gpus    int
		nics    string
		out, in []int
		width   string
	}{
		{4, `serves = [[0], [1], [2], [3]]`, []int{0, 1, 2, 3}, nil, "25 GB/s"},
		{4, `serves = [[0, 1], [2, 3]]`, []int{0, 1, 2, 3}, nil, "12.5 GB/s"},
		// The third of one NIC's goes to the other.
		{4, `serves = [[0, 1, 2], [3]]`, []int{0, 1, 3, 3}, nil, "12.5 GB/s"},
		// Of eight over three NICs, whose own would be four on one.
		{8, `serves = [[0, 1], [2, 3], [4, 5, 6, 7]]`, []int{0, 1, 2, 3, 4, 5, 6, 0}, nil, "25/3 GB/s"},
		{4, `serves = [[1]]`, []int{1, 1, 1, 1}, nil, "6.25 GB/s"},
		{4, "sends = [[1], [3]]\nreceives = [[0], [2]]", []int{1, 1, 3, 3}, []int{0, 0, 2, 2}, "12.5 GB/s"},
	} {
		top, err := topologies.Read("box.toml", []byte(fmt.Sprintf(text, c.gpus, c.nics)), topologies.Options{Nodes: 3})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Choose(top)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.in == nil {
			c.in = c.out
		}
		if !slices.Equal(a.Out, c.out) || !slices.Equal(a.In, c.in) {
			t.Errorf("%s: out %v, in %v, %v; want %v, %v", c.nics, a.Out, a.In, a.Width, c.out, c.in)
		}
		want, err := units.ParseBandwidth(c.width)
		if err != nil && c.width == "25/3 GB/s" {
			want, err = 25_000_000_000/3, nil
		}
		if err != nil || a.Width != want {
			t.Errorf("%s: width %v, want %s (%v)", c.nics, a.Width, c.width, err)
		}
		if a.Own() != (a.OwnWidth == a.Width) {
			t.Errorf("%s: %v, own width %v of %v", c.nics, a.Out, a.OwnWidth, a.Width)
		}
	}
}

// TestNICsOfTheCatalogue: every entry's GPUs use their own, but those of TE-CCL's
// systems, where one of each pair sends and the other receives.
func TestNICsOfTheCatalogue(t *testing.T) {
	for _, name := range topologies.Names() {
		if name == "generator-protocols" {
			continue
		}
		for _, nodes := range []int{1, 2, 4} {
			top := topotest.Resolve(t, name, nodes)
			a, err := Choose(top)
			switch {
			case nodes == 1:
				if err != nil || !a.Own() {
					t.Errorf("%s: %v %v on one node", name, a, err)
				}
			case name == "ndv2-teccl":
				const want = "topology ndv2-teccl: no NIC for gpu 5 of a node to send by: it reaches none but through gpu 1 or gpu 4"
				if err == nil || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case name == "dgx-2-teccl":
				if want := []int{1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15}; !slices.Equal(a.Out, want) || a.OwnWidth != 0 || len(a.Lists()) != 2 {
					t.Errorf("%s: out %v, in %v", name, a.Out, a.In)
				}
			case !a.Own():
				t.Errorf("%s: out %v, in %v of width %v; their own have %v", name, a.Out, a.In, a.Width, a.OwnWidth)
			}
		}
	}
}

// boxes draws two nodes alike of few GPUs: some linked to each other, straight or
// over a bridge, some to NICs, both ways or one.
func boxes(t *rapid.T) *topologies.Topology {
	gpus := rapid.IntRange(1, 4).Draw(t, "gpus")
	nics := rapid.IntRange(1, 2).Draw(t, "nics")
	top := &topologies.Topology{Name: "boxes", Nodes: 2, Runtime: "nccl"}
	for node := range 2 {
		for g := range gpus {
			top.Ranks = append(top.Ranks, topologies.Rank{Node: node, Local: g, SMs: 1})
			top.Vertices = append(top.Vertices, topologies.Vertex{Kind: topologies.GPU, Node: node, Name: fmt.Sprintf("gpu %d", g)})
		}
	}
	vertex := func(kind topologies.VertexKind, node int, name string) int {
		top.Vertices = append(top.Vertices, topologies.Vertex{Kind: kind, Node: node, Name: name})
		return len(top.Vertices) - 1
	}
	var bridge, nic [2][]int
	for node := range 2 {
		bridge[node] = []int{vertex(topologies.Switch, node, "bridge")}
		for i := range nics {
			nic[node] = append(nic[node], vertex(topologies.NIC, node, fmt.Sprintf("nic %d", i)))
		}
	}
	fabric := vertex(topologies.Fabric, -1, "fabric")
	link := func(name string, of func(node int) (from, to int)) {
		gbps := rapid.SampledFrom([]int64{0, 3, 6, 12}).Draw(t, name)
		if gbps == 0 {
			return
		}
		for node := range 2 {
			from, to := of(node)
			top.Edges = append(top.Edges, topologies.Edge{From: from, To: to, Count: 1, Bandwidth: units.Bandwidth(gbps * 1e9), Latency: units.Duration(1)})
		}
	}
	for g := range gpus {
		at := func(node, g int) int { return node*gpus + g }
		for h := range gpus {
			if h != g {
				link(fmt.Sprintf("gpu %d to gpu %d", g, h), func(n int) (int, int) { return at(n, g), at(n, h) })
			}
		}
		link(fmt.Sprintf("gpu %d to bridge", g), func(n int) (int, int) { return at(n, g), bridge[n][0] })
		link(fmt.Sprintf("bridge to gpu %d", g), func(n int) (int, int) { return bridge[n][0], at(n, g) })
		for i := range nics {
			link(fmt.Sprintf("gpu %d to nic %d", g, i), func(n int) (int, int) { return at(n, g), nic[n][i] })
			link(fmt.Sprintf("nic %d to gpu %d", i, g), func(n int) (int, int) { return nic[n][i], at(n, g) })
		}
	}
	for i := range nics {
		link(fmt.Sprintf("bridge to nic %d", i), func(n int) (int, int) { return bridge[n][0], nic[n][i] })
		link(fmt.Sprintf("nic %d to bridge", i), func(n int) (int, int) { return nic[n][i], bridge[n][0] })
		link(fmt.Sprintf("nic %d to fabric", i), func(n int) (int, int) { return nic[n][i], fabric })
		link(fmt.Sprintf("fabric to nic %d", i), func(n int) (int, int) { return fabric, nic[n][i] })
	}
	slices.SortFunc(top.Edges, func(a, b topologies.Edge) int {
		if a.From != b.From {
			return a.From - b.From
		}
		return a.To - b.To
	})
	return top
}

// TestNICsAgainstAll compares with every possible choice: whether there is one, the
// greatest bandwidth, and the fewest relays.
func TestNICsAgainstAll(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		top := boxes(t)
		n := len(top.Ranks) / 2
		a, err := Choose(top)
		for _, out := range []bool{true, false} {
			s := newDirection(top, out)
			widest, fewest := units.Bandwidth(0), 0
			choice := make([]int, n)
			var choose func(g int)
			choose = func(g int) {
				if g == n {
					handed := 0
					for i, c := range choice {
						handed += toInt(c != i)
					}
					w := widthOfChoice(top, choice, out)
					if w > widest || w == widest && w > 0 && handed < fewest {
						widest, fewest = w, handed
					}
					return
				}
				for c := range n {
					choice[g] = c
					choose(g + 1)
				}
			}
			choose(0)
			if why := s.missing(); (why == "") != (widest > 0) {
				t.Fatalf("%q, of all choices the widest is %v", why, widest)
			}
			if widest == 0 {
				if err == nil {
					t.Fatalf("%+v, and there is no choice", a)
				}
				continue
			}
			got, width := s.best()
			handed := 0
			for i, c := range got {
				handed += toInt(c != i)
			}
			if width != widest || handed != fewest || widthOfChoice(top, got, out) != width {
				t.Fatalf("out %v: %v is of %v with %d handed over; the widest is of %v, with %d", out, got, width, handed, widest, fewest)
			}
		}
		if err == nil {
			found++
			if err := Check(top, a.Out, a.In); err != nil {
				t.Fatal(err)
			}
		}
	})
	if found == 0 {
		t.Error("no system had a choice")
	}
}

// widthOfChoice is what each GPU can send (get) at once, counted on the paths of the
// topology; 0 where some GPU cannot.
func widthOfChoice(top *topologies.Topology, choice []int, out bool) units.Bandwidth {
	n := len(choice)
	load := map[int]int{}
	take := func(from, to int, all bool) bool {
		if !out {
			from, to = to, from
		}
		path, ok := top.Path(from, to)
		for _, e := range path.Edges {
			near := top.Edges[e].From
			if !out {
				near = top.Edges[e].To
			}
			if all || top.Vertices[near].Node == 0 {
				load[e]++
			}
		}
		return ok
	}
	for g, c := range choice {
		ok := g == c || take(g, c, true)
		far := false
		for other := n; other < 2*n && !far; other++ {
			far = take(c, other, false)
		}
		if !ok || !far {
			return 0
		}
	}
	least := units.Bandwidth(0)
	for e, k := range load {
		if w := top.Edges[e].Bandwidth / units.Bandwidth(k); least == 0 || w < least {
			least = w
		}
	}
	return least
}

func TestCheckNICs(t *testing.T) {
	top := topotest.Resolve(t, "dgx-2-teccl", 2)
	a, err := Choose(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lie  func(out, in []int) ([]int, []int)
		want string
	}{
		{func(out, in []int) ([]int, []int) { return out[1:], in }, "NICs of 15 and 16 GPUs: node 0 of dgx-2-teccl has 16"},
		{func(out, in []int) ([]int, []int) { out[3] = 16; return out, in }, "gpu 3 of a node sends by gpu 16 and receives by gpu 2: a node of dgx-2-teccl has 0 to 15"},
		{func(out, in []int) ([]int, []int) { in[3] = -1; return out, in }, "gpu 3 of a node sends by gpu 3 and receives by gpu -1: a node of dgx-2-teccl has 0 to 15"},
		{func(out, in []int) ([]int, []int) { out[0] = 0; return out, in }, "what rank 0 sends to rank 16 goes by rank 0 and rank 16: dgx-2-teccl has no link from rank 0 to rank 16"},
		{func(out, in []int) ([]int, []int) { in[0] = 1; return out, in }, "what rank 0 sends to rank 16 goes by rank 1 and rank 17: dgx-2-teccl has no link from rank 1 to rank 17"},
	} {
		out, in := c.lie(slices.Clone(a.Out), slices.Clone(a.In))
		if err := Check(top, out, in); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if b, _ := Choose(top); !reflect.DeepEqual(a, b) {
		t.Errorf("%v and %v", a, b)
	}
}
