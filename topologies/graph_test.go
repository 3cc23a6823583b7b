package topologies

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/internal/units"
)

// random draws a system of a few nodes with links, switches and NICs of all
// shapes, connected or not.
func random(t *rapid.T) *Topology {
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	gpus := rapid.IntRange(1, 4).Draw(t, "gpus")
	protocols, err := defaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	top := &Topology{Name: "random", Nodes: nodes, Runtime: "nccl", Arch: "ampere", Protocols: protocols}
	for n := range nodes {
		for g := range gpus {
			top.Ranks = append(top.Ranks, Rank{Node: n, Local: g, SMs: 10 + g})
			top.Vertices = append(top.Vertices, Vertex{Kind: GPU, Node: n, Name: gpuName(g)})
		}
	}
	for n := range nodes {
		for range rapid.IntRange(0, 2).Draw(t, "switches") {
			top.Vertices = append(top.Vertices, Vertex{Kind: Switch, Node: n, Name: "switch"})
		}
		for range rapid.IntRange(0, 2).Draw(t, "nics") {
			top.Vertices = append(top.Vertices, Vertex{Kind: NIC, Node: n, Name: "nic"})
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "fabrics") {
		top.Vertices = append(top.Vertices, Vertex{Kind: Fabric, Node: -1, Name: "fabric"})
	}
	for a, x := range top.Vertices {
		for b, y := range top.Vertices {
			kind := NVLink
			switch {
			case a == b:
				continue
			case x.Kind == Fabric || y.Kind == Fabric:
				if kind = Net; x.Kind != NIC && y.Kind != NIC && x.Kind != y.Kind && rapid.IntRange(0, 5).Draw(t, "bare") > 0 {
					continue
				}
			case x.Node != y.Node:
				if kind = Net; x.Kind != y.Kind || x.Kind == Switch || rapid.IntRange(0, 5).Draw(t, "far") > 0 {
					continue
				}
			case x.Kind == NIC || y.Kind == NIC:
				kind = Net
			}
			if rapid.Bool().Draw(t, "edge") {
				top.Edges = append(top.Edges, Edge{From: a, To: b, Kind: kind, Count: 1,
					Bandwidth: units.Bandwidth(rapid.IntRange(1, 9).Draw(t, "bandwidth")) * 1e9,
					Latency:   units.Duration(rapid.IntRange(0, 3).Draw(t, "latency"))})
			}
		}
	}
	slices.SortFunc(top.Edges, compareEdges)
	return top
}

// slowest is the specification of Path: Bellman and Ford's least latency and
// hops from a to b over vertices that messages may pass. A way is in one of
// three stages: before the fabric, in it, and after it, which it never leaves
// backwards.
func slowest(top *Topology, a, b int) (units.Duration, int, bool) {
	type cost struct {
		latency float64
		hops    int
	}
	same := top.Ranks[a].Node == top.Ranks[b].Node
	passes := func(v int) bool {
		kind := top.Vertices[v].Kind
		return kind == Switch || !same && kind != GPU
	}
	n := len(top.Vertices)
	best := make([]cost, 3*n) // by stage, and vertex
	for v := range best {
		best[v].latency = math.Inf(1)
	}
	best[a] = cost{}
	for range best {
		for _, e := range top.Edges {
			if e.From != a && !passes(e.From) || e.To != b && !passes(e.To) {
				continue
			}
			from, to := top.Vertices[e.From].Kind == Fabric, top.Vertices[e.To].Kind == Fabric
			for stage := range 3 {
				next := stage
				switch {
				case from != (stage == 1), to && stage == 2:
					continue
				case to:
					next = 1
				case from:
					next = 2
				}
				c := cost{best[stage*n+e.From].latency + float64(e.Latency), best[stage*n+e.From].hops + 1}
				if o := best[next*n+e.To]; c.latency < o.latency || c.latency == o.latency && c.hops < o.hops {
					best[next*n+e.To] = c
				}
			}
		}
	}
	least := best[b]
	for _, c := range []cost{best[n+b], best[2*n+b]} {
		if c.latency < least.latency || c.latency == least.latency && c.hops < least.hops {
			least = c
		}
	}
	return units.Duration(least.latency), least.hops, !math.IsInf(least.latency, 1)
}

func TestPathIsTheShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		for a := range top.Ranks {
			for b := range top.Ranks {
				p, ok := top.Path(a, b)
				if a == b {
					if ok {
						t.Fatalf("a path from rank %d to itself", a)
					}
					continue
				}
				latency, hops, want := slowest(top, a, b)
				if ok != want || top.Linked(a, b) != want {
					t.Fatalf("path %d to %d: %v, linked %v; want %v", a, b, ok, top.Linked(a, b), want)
				}
				if !ok {
					continue
				}
				if p.Latency != latency || len(p.Edges) != hops {
					t.Fatalf("path %d to %d: %v in %d hops, want %v in %d", a, b, p.Latency, len(p.Edges), latency, hops)
				}
				at := a
				for i, e := range p.Edges {
					if top.Edges[e].From != at {
						t.Fatalf("path %d to %d breaks at hop %d", a, b, i)
					}
					if at = top.Edges[e].To; i < len(p.Edges)-1 && at < len(top.Ranks) {
						t.Fatalf("path %d to %d goes through rank %d", a, b, at)
					}
				}
				if at != b || p.Net != (top.Ranks[a].Node != top.Ranks[b].Node) {
					t.Fatalf("path %d to %d is %+v", a, b, p)
				}
			}
		}
	})
}

// TestPathsAreTheSameForEveryone asks for all paths from several goroutines at
// once, and again in another order of a decoded copy.
func TestPathsAreTheSameForEveryone(t *testing.T) {
	top := must(t, "dgx-1", Options{Nodes: 3})
	again, err := Decode(top.Encode())
	if err != nil {
		t.Fatal(err)
	}
	n := len(top.Ranks)
	want := make([]Path, n*n)
	for i := len(want) - 1; i >= 0; i-- {
		want[i], _ = again.Path(i/n, i%n)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range want {
				if got, _ := top.Path(i/n, i%n); !slices.Equal(got.Edges, want[i].Edges) {
					t.Errorf("path %d to %d: %v, want %v", i/n, i%n, got.Edges, want[i].Edges)
				}
			}
		})
	}
	wg.Wait()
}

func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := random(t)
		text := top.Encode()
		again, err := Decode(text)
		if connected := top.check() == nil; connected != (err == nil) {
			t.Fatalf("checked %v, decoded %v", top.check(), err)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(again.Encode(), text) || again.Hash() != top.Hash() {
			t.Fatal("what was decoded is not what was encoded")
		}
	})
}

func TestHashIsOfWhatMessagesMeet(t *testing.T) {
	hash := func(old, new string) string {
		text := example(t)
		if !strings.Contains(text, old) {
			t.Fatalf("the example has no %q", old)
		}
		top, err := Read("x.toml", []byte(strings.Replace(text, old, new, 1)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return top.Hash()
	}
	same := hash("square", "square")
	for _, c := range []struct {
		old, new string
		same     bool
	}{
		{`name    = "square"`, `name = "box"`, true},
		{`name    = "infiniband"`, `name = "roce"`, true},
		{`source  = "measured"`, `source = "guessed"`, true},
		{`"100 Gb/s"`, `"12.5 GB/s"`, true},
		{`pairs     = [[0, 1], [2, 3]]`, `pairs = [[3, 2], [1, 0]]`, true},
		{`"100 Gb/s"`, `"200 Gb/s"`, false},
		{`message   = "1 us"`, `message = "2 us"`, false},
		{`latency = "1.3 us"`, `latency = "1.4 us"`, false},
		{`sms    = 80`, `sms = 79`, false},
		{`arch    = "volta"`, `arch = "ampere"`, false},
		{`cpu    = "intel"`, `cpu = "amd"`, false},
		{`fused       = 1.0`, `fused = 1.1`, false},
		{`nodes   = 2`, `nodes = 3`, false},
	} {
		if got := hash(c.old, c.new); (got == same) != c.same {
			t.Errorf("%s for %s: the same hash: %v, want %v", c.new, c.old, got == same, c.same)
		}
	}
}

// Each row changes one thing of a valid encoding.
func TestDecodeRefuses(t *testing.T) {
	sound := string(must(t, "dgx-a100", Options{Nodes: 2}).Encode())
	for _, c := range []struct{ old, new, want string }{
		{`topology/v1`, `topology/v2`, "schema"},
		{`"nodes":2`, `"nodes":3`, "ranks on 2 nodes of 3"},
		{`"nodes":2`, `"nodes":0`, "want at least 1 node"},
		{`[0,0,108,1555000000000]`, `[1,0,108,1555000000000]`, "want ranks node by node"},
		{`[0,0,108,1555000000000]`, `[0,0,0,1555000000000]`, "0 SMs"},
		{`[0,0,108,1555000000000]`, `[0,0,108,0]`, "canonical"},
		{`[0,0,108,1555000000000]`, `[0,0,108,-1]`, "memory of"},
		{`[0,0,108,1555000000000]`, `[0,0]`, "rank 0 of 2 parts"},
		{`"kind":3`, `"kind":7`, "wrong kind"},
		{`"kind":3,"node":-1`, `"kind":3,"node":0`, "vertex 34 is on node 0"},
		{`[0,16,0,`, `[0,99,0,`, "link from vertex 0 to 99"},
		{`[0,16,0,12,`, `[0,16,0,0,`, "0 links"},
		{`[0,16,0,`, `[0,16,9,`, "unknown kind"},
		{`300000000000`, `-3`, "link from"},
		{`"runtime":"nccl"`, `"runtime":"mpi"`, "runtime"},
		{`"Slots":8`, `"Slots":-8`, "protocol LL: slots is out of range"},
		{`"name":`, `"title":`, "unknown field"},
		{`{"schema"`, ` {"schema"`, "canonical"},
		{`}]`, `}]}`, ""},
	} {
		bad := strings.Replace(sound, c.old, c.new, 1)
		if bad == sound {
			t.Fatalf("the encoding has no %s", c.old)
		}
		if _, err := Decode([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, arg := range []string{"ring:2", "dgx-a100", "mesh:2x3"} {
		f.Add(must(f, arg, Options{}).Encode())
	}
	f.Add(must(f, "dgx-1", Options{Nodes: 2}).Encode())
	f.Add([]byte(`{"schema":"colltune.topology/v1","nodes":1,"ranks":[[0,0,1]]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		top, err := Decode(text)
		if err != nil {
			return
		}
		if !bytes.Equal(top.Encode(), text) {
			t.Error("decoded, but not what Encode writes")
		}
		top.Path(0, len(top.Ranks)-1)
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example(f)))
	for _, name := range Names() {
		f.Add(sourceOf(f, name))
	}
	f.Add([]byte("name = 'x'\n[[node.link]]\npairs = [[0, 1]]\n"))
	f.Add([]byte("a.b.c = [{x = \"\"\"\n]\"\"\"}]\n[a.b]\n[[a]]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		top, err := Read("fuzz.toml", text, Options{Nodes: 2})
		if err != nil {
			return
		}
		if err := top.check(); err != nil {
			t.Error(err)
		}
	})
}

func FuzzGenerate(f *testing.F) {
	for _, s := range []string{"ring:8@50GB/s", "mesh:8x8", "torus:4x4x4", "hypercube:6", "fullmesh:16", "hub:8@1GB/s,2us"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		kind, rest, _ := strings.Cut(arg, ":")
		b, err := generate(kind, rest)
		if err != nil || b.kinds[0].gpus > 4096 {
			return
		}
		if top, err := lay(b, nil, Options{}); err == nil && top.Name != b.name {
			t.Errorf("%s is named %s", b.name, top.Name)
		}
	})
}

func BenchmarkAllPaths2048(b *testing.B) {
	for b.Loop() {
		top := must(b, "dgx-a100", Options{Nodes: 256})
		for x := range top.Ranks {
			for y := range top.Ranks {
				top.Path(x, y)
			}
		}
	}
}

func BenchmarkHash2048(b *testing.B) {
	top := must(b, "dgx-a100", Options{Nodes: 256})
	for b.Loop() {
		top.Hash()
	}
}
