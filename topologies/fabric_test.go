package topologies

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/units"
)

// box returns a node of four GPUs on a switch with a NIC each, and what follows.
func box(nodes, rest string) string {
	return `
name    = "box"
nodes   = ` + nodes + `
runtime = "nccl"
arch    = "ampere"

[node]
gpus   = 4
sms    = 108
source = "test"

[[node.switch]]
gpus      = "all"
kind      = "nvlink"
bandwidth = "300 GB/s"
latency   = "0.2 us"
source    = "test"

[[node.nic]]
serves    = [[0], [1], [2], [3]]
bandwidth = "25 GB/s"
latency   = "0.7 us"
message   = "1 us"
source    = "test"

[protocol]
like   = "dgx-a100"
source = "test"

[fabric]
name    = "ib"
latency = "1.3 us"
source  = "test"
` + rest
}

func build(t testing.TB, text string, o Options) *Topology {
	t.Helper()
	top, err := Read("box.toml", []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// Which ranks can send to each other between nodes, at what latency, and over how many
// fabric vertices.
func TestFabrics(t *testing.T) {
	const spine = "\n[fabric.spine]\nlatency = \"0.6 us\"\noversubscription = 2\nsource = \"test\"\n"
	const global = "\n[fabric.global]\nlatency = \"1 us\"\nbandwidth = \"40 GB/s\"\ncount = 2\nsource = \"test\"\n"
	for _, c := range []struct {
		name, rest string
		fabrics    int
		from, to   int // ranks
		latency    units.Duration
		hops       int // 0: not linked
	}{
		{"one switch", "", 1, 0, 7, 2.7, 4},
		{"rails, along one", "planes = 4\n", 4, 1, 9, 2.7, 4},
		{"rails, across", "planes = 4\n", 4, 1, 10, 0, 0},
		{"planes, odd to odd", "planes = 2\n", 2, 1, 7, 2.7, 4},
		{"planes, odd to even", "planes = 2\n", 2, 1, 4, 0, 0},
		{"rails with a spine across", "planes = 4\n" + spine + "across = true\n", 5, 1, 10, 3.3, 6},
		{"rails with a spine across, along one", "planes = 4\n" + spine + "across = true\n", 5, 1, 9, 2.7, 4},
		{"fat tree, below a leaf", "group = 2\n" + spine, 4, 0, 7, 2.7, 4},
		{"fat tree, over the spine", "group = 2\n" + spine, 4, 0, 8, 3.3, 6},
		{"fat tree of rails, over the spine", "group = 2\nplanes = 4\n" + spine, 16, 0, 16, 3.3, 6},
		{"dragonfly, in a group", "group = 2\n" + global, 3, 8, 12, 2.7, 4},
		{"dragonfly, to another", "group = 2\n" + global, 3, 8, 0, 3.7, 5},
	} {
		top := build(t, box("5", c.rest), Options{})
		fabrics := 0
		for _, v := range top.Vertices {
			if v.Kind == Fabric {
				fabrics++
			}
		}
		if fabrics != c.fabrics {
			t.Errorf("%s: %d fabric vertices, want %d", c.name, fabrics, c.fabrics)
		}
		p, ok := top.Path(c.from, c.to)
		if ok != (c.hops > 0) || ok && (!close(p.Latency, c.latency) || len(p.Edges) != c.hops) {
			t.Errorf("%s: path %d to %d is %+v, %v; want %v in %d", c.name, c.from, c.to, p, ok, c.latency, c.hops)
		}
	}
}

func close(a, b units.Duration) bool { return a-b < 1e-9 && b-a < 1e-9 }

// rate returns the bandwidth of the edges between vertices of two names.
func rate(top *Topology, from, to string) (sum units.Bandwidth, count int) {
	for _, e := range top.Edges {
		if top.name(e.From) == from && top.name(e.To) == to {
			sum += e.Bandwidth
			count += e.Count
		}
	}
	return sum, count
}

func TestOversubscription(t *testing.T) {
	top := build(t, box("5", "group = 2\n[fabric.spine]\nlatency = \"0.6 us\"\noversubscription = \"3/2\"\nsource = \"test\"\n"), Options{})
	for _, c := range []struct {
		from, to string
		want     units.Bandwidth
	}{
		{"ib leaf 0", "ib spine", 133333333333}, // two nodes of four NICs
		{"ib spine", "ib leaf 1", 133333333333},
		{"ib leaf 2", "ib spine", 66666666666}, // the last leaf has one node
	} {
		if got, _ := rate(top, c.from, c.to); got-c.want > 1 || c.want-got > 1 {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	top = build(t, box("4", "group = 2\n[fabric.global]\nlatency = \"1 us\"\nbandwidth = \"40 GB/s\"\ncount = 2\nsource = \"test\"\n"), Options{})
	if got, count := rate(top, "ib leaf 1", "ib leaf 0"); got != 80e9 || count != 2 {
		t.Errorf("between groups: %v in %d links", got, count)
	}
	top = build(t, box("4", "group = 2\n[fabric.spine]\nlatency = \"1 us\"\nbandwidth = \"70 GB/s\"\nsource = \"test\"\n"), Options{})
	if got, _ := rate(top, "ib leaf 1", "ib spine"); got != 70e9 {
		t.Errorf("uplink of %v", got)
	}
}

// A part of a node has its NICs on the same planes.
func TestPlanesKeepTheirNICs(t *testing.T) {
	top := build(t, box("2", "planes = 4\n"), Options{GPUs: []int{1, 3}})
	if top.Linked(0, 3) || !top.Linked(0, 2) || !top.Linked(1, 3) {
		t.Error("GPUs 1 and 3 are not on rails of their own")
	}
	if _, count := rate(top, "node 0 nic 3", "ib plane 3"); count != 1 {
		t.Error("nic 3 is not on plane 3")
	}
}

func TestDirectCables(t *testing.T) {
	cable := func(nodes, more string) string {
		text := box("3", "")
		i, j := strings.Index(text, "[[node.nic]]"), strings.Index(text, "[protocol]")
		text = text[:i] + text[j:]
		return text + "\n[[fabric.direct]]\npairs = [[0, 1]]\nnodes = " + nodes + "\nbandwidth = \"12.5 GB/s\"\nlatency = \"1.3 us\"\nmessage = \"0.5 us\"\nsource = \"test\"\n" + more
	}
	for _, c := range []struct {
		name, nodes, more string
		edges             int
		linked, not       [][2]int
	}{
		{"TE-CCL's NDv2", `"all"`, "one_way = true\n", 6, [][2]int{{0, 5}, {4, 9}, {8, 1}}, [][2]int{{5, 0}, {0, 4}, {1, 5}}},
		{"every two", `"all"`, "", 12, [][2]int{{0, 5}, {5, 0}, {1, 4}, {4, 1}}, [][2]int{{0, 4}, {1, 5}}},
		{"a chain round", `"next"`, "", 6, [][2]int{{0, 5}, {5, 0}, {8, 1}, {1, 8}}, [][2]int{{1, 4}, {0, 9}}},
		{"two", `[[0, 2], [1, 2]]`, "", 4, [][2]int{{0, 9}, {9, 0}, {4, 9}}, [][2]int{{0, 5}}},
	} {
		top := build(t, cable(c.nodes, c.more), Options{})
		edges := 0
		for _, e := range top.Edges {
			if e.Kind == Net {
				edges++
				if e.Message != 0.5 || e.Bandwidth != 12.5e9 {
					t.Errorf("%s: %+v", c.name, e)
				}
			}
		}
		if edges != c.edges {
			t.Errorf("%s: %d cables, want %d", c.name, edges, c.edges)
		}
		for i, pairs := range [][][2]int{c.linked, c.not} {
			for _, p := range pairs {
				if top.Linked(p[0], p[1]) != (i == 0) {
					t.Errorf("%s: %d linked to %d: %v", c.name, p[0], p[1], i != 0)
				}
			}
		}
	}
	if top := build(t, cable(`"next"`, ""), Options{Nodes: 2, GPUs: []int{0, 1}}); !top.Linked(0, 3) || len(top.Ranks) != 4 {
		t.Error("cables of part of a node")
	}
	if _, err := Read("x.toml", []byte(cable(`[[0, 1]]`, "")), Options{}); err == nil || !strings.Contains(err.Error(), "disconnected") {
		t.Errorf("a node without a cable: %v", err)
	}
}

// TestHosts: GPUs on PCIe, processors between, NICs on switches.
func TestHosts(t *testing.T) {
	top := must(t, "l40s-4", Options{Nodes: 2})
	p, ok := top.Path(0, 2)
	if !ok || len(p.Edges) != 3 || !close(p.Latency, 1.5) || top.Edges[p.Edges[1]].Kind != Host {
		t.Errorf("between processors: %+v, %v", p, ok)
	}
	p, ok = top.Path(0, 4)
	if !ok || len(p.Edges) != 6 || !p.Net {
		t.Errorf("between nodes: %+v, %v", p, ok)
	}
	part := must(t, "l40s-4", Options{GPUs: []int{0, 1}})
	for _, v := range part.Vertices {
		if v.Name == "cpu 1" && len(part.Out(2)) == 0 {
			t.Error("a processor that leads nowhere is there")
		}
	}
	far := must(t, "ndv2", Options{Nodes: 2})
	near, _ := far.Path(0, 9)
	long, ok := far.Path(2, 9)
	if !ok || long.Latency <= near.Latency || far.Edges[long.Edges[0]].Bandwidth != 12e9 {
		t.Errorf("from afar: %+v, near %+v", long, near)
	}
	if only := must(t, "ndv2", Options{Nodes: 2, GPUs: []int{2, 3}}); !only.Linked(0, 2) {
		t.Error("GPUs that are far from the NIC, alone, cannot reach it")
	}
}

// TestMixedNodes: kinds of node by name, in the order of the list, and from its
// start again for more.
func TestMixedNodes(t *testing.T) {
	text := strings.Replace(box(`["big", "small"]`, ""), "[node]", "[node.big]", 1)
	text = strings.ReplaceAll(text, "[[node.", "[[node.big.")
	text += "\n[node.small]\ngpus = 2\nsms = 80\nmemory = \"900 GB/s\"\ncpu = \"amd\"\nnic_path = \"phb\"\nsource = \"test\"\n[[node.small.link]]\npairs = [[0, 1]]\nkind = \"pcie\"\nbandwidth = \"12 GB/s\"\nlatency = \"1 us\"\nsource = \"test\"\n" +
		"[[node.small.nic]]\nserves = [[0, 1]]\nbandwidth = \"12.5 GB/s\"\nlatency = \"1 us\"\nmessage = \"1 us\"\nsource = \"test\"\n"
	top := build(t, text, Options{Nodes: 3})
	if len(top.Ranks) != 10 || top.Ranks[4] != (Rank{Node: 1, Local: 0, SMs: 80, Memory: 900e9}) || top.Ranks[9].Node != 2 {
		t.Errorf("ranks %+v", top.Ranks)
	}
	if top.CPU != "amd" || top.NICPath != "phb" || top.MinSMs() != 80 || !top.Linked(0, 5) {
		t.Errorf("%s, NICs at %s, %d SMs", top.CPU, top.NICPath, top.MinSMs())
	}
	if again, err := Decode(top.Encode()); err != nil || again.Hash() != top.Hash() {
		t.Errorf("encoded and decoded: %v", err)
	}
	if _, err := Read("x.toml", []byte(text), Options{GPUs: []int{3}}); err == nil || !strings.Contains(err.Error(), "of kind small has GPUs 0 to 1") {
		t.Errorf("a GPU that one kind lacks: %v", err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`["big", "small"]`, `["big", "smal"]`, "node.smal: missing"},
		{`["big", "small"]`, `["big"]`, "node.small: unknown key"},
		{`["big", "small"]`, `["big", 3]`, "want a number, or kinds of node"},
		{`["big", "small"]`, `[]`, "0 kinds"},
		{`pairs = [[0, 1]]`, `pairs = [[0, 4]]`, "node.small.link[0].pairs: gpu 4 is not there: the node has GPUs 0 to 1"},
	} {
		_, err := Read("x.toml", []byte(strings.Replace(text, c.old, c.new, 1)), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
}

// Each row breaks one rule of the fabric's tables.
func TestFabricErrors(t *testing.T) {
	const direct = "[[fabric.direct]]\npairs = [[0, 1]]\nnodes = \"all\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nmessage = \"0 us\"\nsource = \"test\"\n"
	const spine = "[fabric.spine]\nlatency = \"1 us\"\noversubscription = 2\nsource = \"test\"\n"
	for _, c := range []struct{ rest, want string }{
		{"planes = 5\n", "fabric.planes: 5 planes, but a node has 4 NICs"},
		{"planes = 0\n", "fabric.planes: 0 is out of range"},
		{"group = -1\n", "fabric.group: -1 is out of range"},
		{spine, "fabric.spine: joins nothing: want group"},
		{"group = 1\n" + spine + "bandwidth = \"1 GB/s\"\n", "oversubscription is there too"},
		{"group = 1\n[fabric.spine]\nlatency = \"1 us\"\nsource = \"test\"\n", "fabric.spine.oversubscription: missing"},
		{"group = 1\n" + spine + "acros = true\n", `fabric.spine.acros: unknown key (did you mean across?)`},
		{"[fabric.global]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"test\"\n", "fabric.global: joins groups: want group"},
		{"group = 1\n", "disconnected"},
		{strings.Replace(direct, `"all"`, `"al"`, 1), `unknown value "al" (did you mean all?)`},
		{strings.Replace(direct, `"all"`, `[[0, 0]]`, 1), "node 0 is named twice"},
		{strings.Replace(direct, `"all"`, `[[0]]`, 1), "want two numbers"},
		{strings.Replace(direct, `[[0, 1]]`, `[[0, 4]]`, 1), "4 is out of range: want 0 to 3"},
		{strings.Replace(direct, `pairs = [[0, 1]]`, ``, 1), "fabric.direct[0].pairs: missing"},
	} {
		_, err := Read("box.toml", []byte(box("2", c.rest)), Options{})
		var list ErrorList
		if !errors.As(err, &list) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.rest, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`serves    = [[0], [1], [2], [3]]`, `at = ["hub"]`, `unknown switch "hub": want the name of a [[node.switch]]`},
		{`serves    = [[0], [1], [2], [3]]`, "at = [\"switch\"]\nserves = [[0]]", "want it, or serves"},
		{`serves    = [[0], [1], [2], [3]]`, `at = [3]`, "3 is no switch's name"},
		{"[[node.nic]]", "[[node.link]]\npairs = [[0, \"swich\"]]\nkind = \"pcie\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", `unknown switch "swich" (did you mean switch?)`},
		{"[[node.nic]]", "[[node.link]]\npairs = [[\"switch\", \"switch\"]]\nkind = \"pcie\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", `switch "switch" is named twice`},
		{"[[node.nic]]", "[[node.link]]\npairs = [[0, \"switch\"]]\nkind = \"nvlink\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", `gpu 0 and switch "switch" are joined twice by nvlink`},
		{"[[node.nic]]", "[[node.switch]]\nname = \"idle\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", "of which links?"},
		{"[[node.nic]]", "[[node.switch]]\ngpus = [0]\nkind = \"pcie\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.link]]\npairs = [[1, \"switch\"]]\nkind = \"pcie\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", "is the name of several switches"},
		{"[protocol]", "[[node.nic.far]]\ngpus = [[1], [2]]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[protocol]", "2 groups for 4 NICs"},
		{"[protocol]", "[[node.nic.far]]\ngpus = [[0], [0], [0], [0]]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[protocol]", "gpu 0 is near already"},
		{`like   = "dgx-a100"`, `like = "dgx-a10"`, `unknown topology "dgx-a10" (did you mean dgx-a100?)`},
		{`like   = "dgx-a100"`, `like = "../x"`, "want one of the catalogue's"},
		{`like   = "dgx-a100"`, "like = \"dgx-a100\"\nLL = {launch = \"1 us\", launhc = \"1 us\", source = \"x\"}", `unknown key (did you mean launch?)`},
		{`like   = "dgx-a100"`, "like = \"dgx-a100\"\nLL = {launch = \"1 us\"}", "protocol.LL.source: missing"},
		{`sms    = 108`, "sms = 108\nmemory = \"2000\"", "node.memory: \"2000\" is not a bandwidth"},
	} {
		text := box("2", "")
		if !strings.Contains(text, c.old) {
			t.Fatalf("the box has no %q", c.old)
		}
		_, err := Read("box.toml", []byte(strings.Replace(text, c.old, c.new, 1)), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.new, err, c.want)
		}
	}
}

func TestLike(t *testing.T) {
	base := must(t, "dgx-a100", Options{})
	same := build(t, box("1", ""), Options{})
	for p := range base.Protocols {
		if a, b := base.Protocols[p], same.Protocols[p]; a.Launch != b.Launch || a.Fused != b.Fused || len(a.Tiles) != len(b.Tiles) {
			t.Errorf("%v is not as dgx-a100's", Proto(p))
		}
	}
	other := build(t, box("1", "[protocol.LL]\nlaunch = \"3 us\"\nsource = \"test\"\n"), Options{})
	if got := other.Protocols[LL]; got.Launch != 3 || got.Tile != base.Protocols[LL].Tile {
		t.Errorf("LL is %+v", got)
	}
	if other.Protocols[Simple].Launch != base.Protocols[Simple].Launch {
		t.Error("Simple is not as it was")
	}
}

// TestLint finds what is worth a look, and nothing in a sound system.
func TestLint(t *testing.T) {
	for _, c := range []struct {
		arg  string
		want []string
	}{
		{"ring:8", nil},
		{"mesh:3", []string{"gpu 1 can send 100 GB/s inside its node, and gpu 0 50 GB/s; 1 more"}},
		{"dgx-a100", []string{"a number here is inferred: what NCCL's 2.7 us"}},
		{"frontier", []string{"general knowledge", "gpu 1 can send"}},
		{"l40s-4", []string{"assumed"}},
	} {
		top, found, err := Lint(c.arg, Options{})
		if err != nil || top.Name != c.arg {
			t.Fatal(err)
		}
		if c.want == nil && len(found) > 0 {
			t.Errorf("%s: %+v", c.arg, found)
		}
		for _, w := range c.want {
			ok := false
			for _, f := range found {
				ok = ok || strings.Contains(f.Msg, w) && (f.Key == "" || f.Line > 0)
			}
			if !ok {
				t.Errorf("%s: nothing found of %q in %+v", c.arg, w, found)
			}
		}
	}
	if _, _, err := Lint("dgx-a10", Options{}); err == nil {
		t.Error("an unknown name is sound")
	}
}
