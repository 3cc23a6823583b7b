package nccl

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var resolve = topotest.Resolve

func choose(t interface{ Fatal(...any) }, top *topologies.Topology, name string, bytes int64) Choice {
	c, err := collective.New(collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	all, err := ForcedChoices(top, c, bytes, Forced{})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// TestGraph compares with what NCCL_DEBUG prints on such machines: channels and
// GB/s a channel, before they are doubled for rings and trees.
func TestGraph(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
		channels int
		speed    float64
	}{
		{"dgx-a100", 1, 12, 20}, // the well-known 24 channels
		{"dgx-a100", 2, 8, 24},  // one a NIC; 16 channels
		{"dgx-a100", 4, 8, 24},
		{"dgx-1", 1, 6, 20},    // the six rings of the hybrid cube mesh; 12 channels
		{"dgx-1", 2, 4, 12},    // one a NIC
		{"dgx-h100", 2, 8, 48}, // each GPU leaves a node in one channel, and needs no link for it
		{"dgx-b300", 2, 16, 48},
		{"mi300x", 1, 14, 20},           // seven ways round a full mesh, doubled
		{"fullmesh:4@50GB/s", 1, 6, 20}, // two rings of 40, as four GPUs have no three that share no link
		{"fullmesh:4@25GB/s", 1, 6, 10},
		{"ring:8@25GB/s", 1, 2, 20},
		{"l40s-4", 1, 1, 15}, // what is measured between its sockets; 20 would fit a GPU's own link
		{"l40s-8", 1, 1, 15},
		{"t4-8", 1, 1, 10},
		{"lassen", 1, 2, 15},       // 32 GB/s between the processors
		{"hub:4@2GB/s", 1, 1, 1.6}, // slower than the slowest speed tried
	} {
		g := NewSystem(resolve(t, c.topology, c.nodes), nil, nil).graph
		if g.channels != c.channels || math.Abs(g.intra-c.speed) > 1e-9 {
			t.Errorf("%d x %s: %d channels of %g GB/s, want %d of %g", c.nodes, c.topology, g.channels, g.intra, c.channels, c.speed)
		}
	}
}

// TestModelByHand works two times out on paper (section numbers of the formulae
// are NCCL's functions).
func TestModelByHand(t *testing.T) {
	a100 := NewSystem(resolve(t, "dgx-a100", 1), nil, nil)
	two := NewSystem(resolve(t, "dgx-a100", 2), nil, nil)
	h100 := NewSystem(resolve(t, "dgx-h100", 1), nil, nil)
	twoH100 := NewSystem(resolve(t, "dgx-h100", 2), nil, nil)
	lone, err := topologies.Resolve("dgx-h100", topologies.Options{Nodes: 16, GPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		s     *System
		a     Algo
		p     topologies.Proto
		bytes int64
		want  float64
	}{
		// 6.6 + 14·0.6; 87.7 GB/s of bus is 8/14 of that
		{"ring LL", a100, Ring, topologies.LL, 1 << 20, 6.6 + 14*0.6 + float64(1<<20)/(87.7e3*8/14)},
		// 14 + 14·1.9; 0.92 of 240
		{"ring LL128", a100, Ring, topologies.LL128, 1 << 20, 14 + 14*1.9 + float64(1<<20)/(220.8e3*8/14)},
		{"ring Simple", a100, Ring, topologies.Simple, 1 << 30, 8.4 + 14*3.4 + float64(1<<30)/(240e3*8/14)},
		// 2·7 steps inside; 220.8/3.8, half, and 0.4 at 2^13 times 64
		{"tree LL", a100, Tree, topologies.LL, 1 << 19, 6.8 + 14*0.6 + float64(1<<19)/(220.8e3/3.8*.5*.4)},
		// 7/9 of 220.8 inside a node, half, and 0.6 at 2^13 times 64
		{"tree LL128", a100, Tree, topologies.LL128, 1 << 19, 14 + 14*1.25 + float64(1<<19)/(220.8e3*7/9*.5*.6)},
		// eight channels of 20
		{"tree LL128, 2 nodes", two, Tree, topologies.LL128, 1 << 30, 14 + 2*(7*1.25+8.5) + float64(1<<30)/(.5*160e3)},
		// two nodes: 28 steps inside of 2 (the net's overhead), 2 across; LL limit 22.5
		{"ring LL, 2 nodes", two, Ring, topologies.LL, 1 << 20, 6.6 + 28*2 + 2*2.7 + float64(1<<20)/(22.5e3*16/30)},
		// Simple: 6 of overhead, 1.4 times
		{"ring Simple, 2 nodes", two, Ring, topologies.Simple, 1 << 30, 1.4*(8.4+28*6+2*14) + float64(1<<30)/(192e3*16/30)},
		// eight channels of 23.6: inside the node they would do 30
		{"tree Simple, 2 nodes", two, Tree, topologies.Simple, 1 << 30, 8.4 + 2*(7*4+14) + float64(1<<30)/(.5*8*23.6e3)},
		// a GPU that is alone at its NIC takes all of a tree: 0.85 of eight channels of 48, of which 0.92
		{"tree Simple, 2 nodes of H100", twoH100, Tree, topologies.Simple, 1 << 30, 8.4 + 2*(7*4+14) + float64(1<<30)/(.85*.5*8*41.4e3)},
		// 4 doublings, 4 hops' time a doubling's 3.5; 2.8 a rank; 0.75 of two channels of 24
		{"PAT", NewSystem(lone, nil, nil), PAT, topologies.Simple, 1 << 20, 8 + 4*14/3.5 + 16*2.8 + float64(1<<20)/(0.75*48e3)},
		// eight heads of 40, and of 60, the fastest speed, where nothing crosses: 0.85 of 2·40·7/8 is less
		{"NVLS", h100, NVLS, topologies.Simple, 1 << 30, 25 + float64(1<<30)/(8*59.5e3*8/14)},
		// eight heads, one a NIC, of 57.7: between nodes 2·48 would go, inside 0.85 of 2·40·7/8 = 59.5
		{"NVLS tree, 2 nodes", twoH100, NVLSTree, topologies.Simple, 1 << 30, 25 + 2*20.9 + float64(1<<30)/(8*57.7e3*16/30)},
	} {
		collective := "allreduce"
		if c.a == PAT {
			collective = "allgather"
		}
		if got := float64(c.s.tuning.US(c.a, c.p, Call{Collective: collective, Bytes: c.bytes})); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: %v us, want %v", c.name, got, c.want)
		}
	}
}

func TestKnownChoices(t *testing.T) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		bytes      int64
		family     string
		protocol   topologies.Proto
		channels   int
		parameters map[string]int
	}{
		{"dgx-a100", 1, "allreduce", 1 << 10, "ring", topologies.LL, 1, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "allreduce", 1 << 18, "ring", topologies.LL, 8, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "allreduce", 1 << 20, "ring", topologies.LL, 24, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "allreduce", 1 << 23, "ring", topologies.LL128, 24, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "allreduce", 1 << 30, "ring", topologies.Simple, 24, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "allgather", 1 << 30, "ring", topologies.Simple, 24, map[string]int{"rings": 1}},
		{"dgx-a100", 1, "broadcast", 1 << 30, "chain", topologies.Simple, 24, map[string]int{"rings": 1}},
		{"dgx-a100", 2, "allreduce", 1 << 10, "double-binary-tree", topologies.LL, 1, map[string]int{"trees": 1}},
		{"dgx-a100", 4, "allreduce", 1 << 22, "double-binary-tree", topologies.LL128, 1, map[string]int{"trees": 8}},
		{"dgx-a100", 4, "allreduce", 1 << 30, "ring", topologies.Simple, 2, map[string]int{"rings": 8}},
		{"dgx-a100", 2, "allgather", 1 << 30, "ring", topologies.Simple, 2, map[string]int{"rings": 8}},
		{"dgx-1", 1, "allreduce", 1 << 30, "ring", topologies.Simple, 2, map[string]int{"rings": 6}},
		{"dgx-a100", 1, "alltoall", 1 << 16, "direct", topologies.LL, 1, nil},
		{"dgx-a100", 1, "alltoall", 1 << 17, "direct", topologies.LL, 1, nil}, // 16 KiB
		{"dgx-a100", 1, "alltoall", 1<<17 + 8, "direct", topologies.Simple, 1, nil},
		{"dgx-a100", 1, "alltoall", 1 << 20, "direct", topologies.Simple, 2, nil}, // 64 KiB each
		{"dgx-a100", 1, "alltoall", 1 << 30, "direct", topologies.Simple, 4, nil},
		{"dgx-1", 1, "alltoall", 8 << 14, "direct", topologies.LL, 1, nil},
		{"dgx-1", 1, "alltoall", 8 << 17, "direct", topologies.Simple, 2, nil}, // two channels a peer, as pairs without a link have
		{"dgx-a100", 4, "alltoall", 1 << 30, "direct", topologies.Simple, 1, nil},
		{"dgx-a100", 3, "alltonext", 16384, "direct", topologies.LL, 1, nil},
		{"dgx-a100", 3, "alltonext", 1 << 30, "direct", topologies.Simple, 2, nil},
		{"dgx-a100", 1, "sendrecv", 1 << 20, "direct", topologies.Simple, 4, nil},
	} {
		got := choose(t, resolve(t, c.topology, c.nodes), c.collective, c.bytes)
		want := Choice{Family: c.family, Parameters: c.parameters, Protocol: c.protocol, Channels: c.channels, TileBytes: got.TileBytes, Algorithm: got.Algorithm, Most: got.Most, Blocks: got.Blocks, ModelUS: got.ModelUS, ExtraUS: got.ExtraUS, TurnsUS: got.TurnsUS}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s of %d bytes on %d x %s (-want +got):\n%s", c.collective, c.bytes, c.nodes, c.topology, diff)
		}
	}
}

// TestDirectByRelease: before 2.29, LL goes as far as all channels that a peer may have allow.
func TestDirectByRelease(t *testing.T) {
	for _, c := range []struct {
		release  string
		topology string
		bytes    int64
		protocol topologies.Proto
		channels int
	}{
		{"2.28.9", "dgx-a100", 1 << 17, topologies.LL, 2}, // 8 KiB each
		{"2.28.9", "dgx-a100", 4 << 20, topologies.LL, 4}, // 16 KiB for each of 32 channels
		{"2.28.9", "dgx-a100", 4<<20 + 8, topologies.Simple, 4},
		{"2.28.9", "dgx-1", 8 << 15, topologies.LL, 2}, // two channels a peer
		{"2.29.7", "dgx-a100", 1 << 17, topologies.LL, 1},
		{"2.29.7", "dgx-a100", 4 << 20, topologies.Simple, 4},
		{"2.29.7", "dgx-1", 8 << 15, topologies.Simple, 1},
	} {
		release := releases[slices.IndexFunc(releases, func(r *Release) bool { return r.Version == c.release })]
		of, err := collective.New(collective.Spec{Name: "alltoall", Ranks: 8, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := NewSystem(resolve(t, c.topology, 1), release, nil).Choices(of, c.bytes, Forced{})
		if err != nil {
			t.Fatal(err)
		}
		if all[0].Protocol != c.protocol || all[0].Channels != c.channels {
			t.Errorf("%s, %d bytes on %s: %v over %d channels, want %v over %d", c.release, c.bytes, c.topology, all[0].Protocol, all[0].Channels, c.protocol, c.channels)
		}
	}
}

// TestTiles: the library's rings use the protocol's tile; what goes up and down a
// tree, or along a chain, is cut smaller (calcCollChunking).
func TestTiles(t *testing.T) {
	for _, c := range []struct {
		nodes      int
		collective string
		bytes      int64
		family     string
		protocol   topologies.Proto
		tile       int64
	}{
		{1, "allreduce", 1 << 30, "ring", topologies.Simple, 0},
		{2, "allgather", 1 << 24, "ring", topologies.LL128, 0},
		{1, "broadcast", 1 << 30, "chain", topologies.Simple, 512 << 10},
		{1, "alltoall", 1 << 30, "direct", topologies.Simple, 1 << 20},
		{2, "allreduce", 1 << 12, "double-binary-tree", topologies.LL, 0},
		// 16 channels of 64 KiB; 576,000 B is halved until 16 · 2.8 ÷ 8 chunks fit,
		// or it is no more than 32 KiB
		{2, "allreduce", 1 << 20, "double-binary-tree", topologies.LL128, 18000},
		{2, "allreduce", 8 << 20, "double-binary-tree", topologies.LL128, 72000},
	} {
		got := choose(t, resolve(t, "dgx-a100", c.nodes), c.collective, c.bytes)
		if got.Family != c.family || got.Protocol != c.protocol || got.TileBytes != c.tile {
			t.Errorf("%s of %d bytes on %d nodes: %s %v with tiles of %d, want %s %v of %d", c.collective, c.bytes, c.nodes, got.Family, got.Protocol, got.TileBytes, c.family, c.protocol, c.tile)
		}
	}
}

// TestExtra: what a call takes beyond its program, by hand.
func TestExtra(t *testing.T) {
	old := Forced{Before222: true}
	for _, c := range []struct {
		topology   string
		collective string
		inPlace    bool
		bytes      int64
		f          Forced
		want       float64
	}{
		{"dgx-a100", "allreduce", true, 1 << 20, Forced{}, 0},
		{"dgx-a100", "allreduce", true, 1 << 20, old, 23 * 1.15}, // LL over 24 channels
		// Simple: the links, which 24 channels of 20 ÷ 1.2 GB/s fill 5/3 times over, are not full before
		// three fifths of them have started; and 13 of 14 steps are 2 us shorter.
		{"dgx-a100", "allreduce", true, 1 << 30, old, 23*1.15*3/5/2 - 13*2},
		// A copy of 1 GiB ÷ (8 · 24) in 683 passes of 8 KiB and three tiles of 2 MiB.
		{"dgx-a100", "allgather", false, 1 << 30, Forced{}, -(683*0.35 + 3*0.5)},
		{"dgx-a100", "allgather", true, 1 << 30, Forced{}, 0},
		{"dgx-a100", "alltoall", false, 1 << 10, Forced{}, 6 * 0.5},
		// Four channels a peer. One step: a slice less, a hop of 11 and not 14.5 us, and half
		// of a channel's part that is received after the other, at 20 GB/s.
		{"dgx-a100", "alltoall", false, 8 << 20, Forced{}, 6*0.5 + 2*0.5 - 4 - 3.5 + (128<<10)/20e3},
		{"dgx-a100", "alltoall", false, 64 << 20, Forced{}, 6*0.5 + 2*0.5},
		// 86 calls of 512 KiB, each a slice less, and the other hidden behind other channels; 7 ranks
		// wait for half a call more.
		{"dgx-a100", "broadcast", true, 1 << 30, Forced{BackToBack: true}, -86 * 8},
		{"dgx-a100", "broadcast", true, 1 << 30, Forced{}, -86*8 + 7*1.2*(256<<10)/20e3},
		{"dgx-a100", "broadcast", true, 24 << 17, Forced{}, -8 + 7*1.2*(64<<10)/20e3}, // a call of 128 KiB
		// The last channel starts 23 · 1.15 us late, and then has its own part to do.
		{"dgx-a100", "broadcast", true, 24 << 17, old, -8 + 7*1.2*(64<<10)/20e3 + 23*1.15 + 1.2*(128<<10)/20e3 - (24<<17)/240e3},
		// Two channels a link are too few to hide a slice: 12 of them, 86 MiB each.
		{"dgx-1", "broadcast", true, 12 * 86 << 20, Forced{BackToBack: true}, -172 * 1.8},
	} {
		top := resolve(t, c.topology, 1)
		of, err := collective.New(collective.Spec{Name: c.collective, Ranks: 8, Chunks: 1, InPlace: c.inPlace})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ForcedChoices(top, of, c.bytes, c.f)
		if err != nil {
			t.Fatal(err)
		}
		if got := all[0].ExtraUS; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %d bytes on %s: %v us, want %v", c.collective, c.bytes, c.topology, got, c.want)
		}
	}
	// A tree over 4 nodes: three waits of 2.3 us, and two starts of a connection of 5 us.
	for nodes, want := range map[int]float64{2: 0, 3: 3*2.3 + 5, 4: 3*2.3 + 2*5, 16: 9*2.3 + 2*5} {
		of, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 8 * nodes, Chunks: 1, InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ForcedChoices(resolve(t, "dgx-a100", nodes), of, 1024, Forced{})
		if err != nil {
			t.Fatal(err)
		}
		got := all[0]
		if got.Family != "double-binary-tree" || math.Abs(got.ExtraUS+want) > 1e-9 {
			t.Errorf("%s of 1 KiB over %d nodes: %v us; want a tree's %v", got.Family, nodes, got.ExtraUS, -want)
		}
	}
	// Before 2.22 all-to-alls took 5.4 us for each part of 64 KiB to a peer, up to 32.
	for bytes, want := range map[int64]float64{8 << 10: 12 + 5.4, 1 << 20: 12 + 2*5.4, 1 << 30: 12 + 32*5.4} {
		of, err := collective.New(collective.Spec{Name: "alltoall", Ranks: 8, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []Forced{old, {}} {
			all, err := ForcedChoices(resolve(t, "dgx-a100", 1), of, bytes, f)
			if err != nil {
				t.Fatal(err)
			}
			if !f.Before222 {
				want = 0
			}
			if got := all[0].LeastUS; math.Abs(got-want) > 1e-9 {
				t.Errorf("alltoall of %d bytes, %+v: at least %v us, want %v", bytes, f, got, want)
			}
		}
	}
}

// TestPeersTakeTurns: where there are more peers than channels, a call takes its launch, the
// starts of connections, and each of the busiest channel's messages.
func TestPeersTakeTurns(t *testing.T) {
	for _, c := range []struct {
		nodes       int // of 8 A100, with 16 channels of sends and receives
		each        int64
		connections int // of the busiest channel
	}{
		{2, 4 << 10, 0}, // 15 peers
		{4, 4 << 10, 2}, // 31
		{32, 4 << 10, 16},
		{32, 1 << 20, 16},
	} {
		top := resolve(t, "dgx-a100", c.nodes)
		got := choose(t, top, "alltoall", c.each*int64(len(top.Ranks)))
		want, p := 0., top.Protocols[got.Protocol]
		if c.connections > 0 {
			message := float64(p.SendCall) + float64(c.each)/float64(p.Pass)*float64(p.SendPass) // LL
			if got.Protocol == topologies.Simple {
				calls := float64(c.each / got.TileBytes)
				message = calls*float64(p.SendCall+p.SendSlice) + float64(c.each)/p.SendRate.PerMicro()
			}
			want = float64(p.Launch) + float64(p.NetStart)*float64(8*(c.nodes-1)-1) + float64(c.connections)*message
		}
		if math.Abs(got.TurnsUS-want) > 1e-6*want {
			t.Errorf("%d nodes, %d bytes a peer, %v in %d channels a peer: %v us, want %v", c.nodes, c.each, got.Protocol, got.Channels, got.TurnsUS, want)
		}
	}
}

// TestSwitchesReduce: from Hopper on the library has the switches of a node reduce
// large all-reduces, and the next choices say what it would run without.
func TestSwitchesReduce(t *testing.T) {
	for _, c := range []struct {
		topology   string
		nodes      int
		collective string
		bytes      int64
		nvls       bool
	}{
		{"dgx-h100", 1, "allreduce", 1 << 10, false},
		{"dgx-h100", 1, "allreduce", 4 << 20, true},
		{"dgx-h100", 1, "allreduce", 1 << 30, true},
		{"dgx-h100", 2, "allreduce", 1 << 30, true},
		{"dgx-h100", 4, "allreduce", 512 << 20, true},
		{"dgx-h100", 4, "allreduce", 1 << 30, false}, // eight rings of 48 against heads of 45.5
		{"gb200-nvl72", 1, "allreduce", 1 << 30, true},
		{"dgx-h100", 1, "allgather", 1 << 30, false},
		{"dgx-a100", 1, "allreduce", 1 << 30, false},
		{"alps", 1, "allreduce", 1 << 30, false}, // joined without a switch
	} {
		top := resolve(t, c.topology, c.nodes)
		coll, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		all, err := ForcedChoices(top, coll, c.bytes, Forced{})
		if err != nil {
			t.Fatal(err)
		}
		family := "nvls"
		if c.nodes > 1 {
			family = "nvlstree"
		}
		if nvls := all[0].Family == family; nvls != c.nvls || nvls != (all[0].Lacks != "") {
			t.Errorf("%s of %d bytes on %d x %s: %+v", c.collective, c.bytes, c.nodes, c.topology, all[0])
		}
		if last := all[len(all)-1]; c.nvls && (last.Family == family || last.Lacks != "") {
			t.Errorf("%s of %d bytes on %d x %s: nothing stands in: %+v", c.collective, c.bytes, c.nodes, c.topology, last)
		}
	}
}

// TestProtocolsInTurn: as sizes grow the library goes from LL over LL128, where that is,
// to Simple and never back, and has no use for trees in one node.
func TestProtocolsInTurn(t *testing.T) {
	for _, arg := range []string{"dgx-a100", "dgx-1", "hub:16"} {
		top := resolve(t, arg, 1).Clone()
		top.NoMSCCLFiles = true
		last, seen := topologies.LL, map[topologies.Proto]bool{}
		for bytes := int64(8); bytes <= 8<<30; bytes *= 2 {
			c := choose(t, top, "allreduce", bytes)
			if c.Family != "ring" && len(top.Ranks) <= 8 {
				t.Errorf("%s of %d bytes on one %s", c.Family, bytes, arg)
			}
			if c.Protocol < last && c.Family == "ring" {
				t.Errorf("%v after %v at %d bytes on %s", c.Protocol, last, bytes, arg)
			}
			last, seen[c.Protocol] = c.Protocol, true
		}
		if want := top.HasProtocols(); len(seen) != len(want) {
			t.Errorf("%s: protocols %v, want %v", arg, seen, want)
		}
	}
}

func TestTreesWinWithNodes(t *testing.T) {
	for nodes := 2; nodes <= 64; nodes *= 2 {
		top := resolve(t, "dgx-a100", nodes)
		if c := choose(t, top, "allreduce", 1024); c.Family != "double-binary-tree" || c.Protocol != topologies.LL {
			t.Errorf("%d nodes, 1 KiB: %+v", nodes, c)
		}
	}
}

// TestNoLL128ToFarNICs: NCCL runs LL128 over NVLink, and between nodes only where NICs are near.
func TestNoLL128ToFarNICs(t *testing.T) {
	for _, c := range []struct {
		topology, path string
		nodes          int
		want           bool
	}{
		{"dgx-a100", "", 2, true},
		{"dgx-a100", "pxb", 2, true},
		{"dgx-a100", "pxn", 2, false}, // Hopper's GPUs alone
		{"dgx-h200", "pxn", 2, true},
		{"dgx-h200", "phb", 2, false},
		{"dgx-h200", "phb", 1, true}, // no NIC on the way
		{"polaris", "phb", 8, false},
		{"l40s-8", "", 1, false},
		{"alps", "p2c", 2, true},
		{"dgx-a100", "p2c", 2, false},
	} {
		top := *resolve(t, c.topology, c.nodes)
		top.NICPath = c.path
		taken := false
		for bytes := int64(1 << 10); bytes <= 1<<30; bytes *= 2 {
			taken = taken || choose(t, &top, "allgather", bytes).Protocol == topologies.LL128
		}
		if taken != c.want {
			t.Errorf("%d x %s, NICs at %q: LL128 taken: %v", c.nodes, c.topology, c.path, taken)
		}
	}
}

// TestChoiceIsTheCheapest: whatever is asked, the time is positive and finite,
// grows with the size, and no other pair of algorithm and protocol beats it.
func TestChoiceIsTheCheapest(t *testing.T) {
	tops := []*topologies.Topology{
		resolve(t, "dgx-a100", 1), resolve(t, "dgx-a100", 5), resolve(t, "dgx-1", 1), resolve(t, "dgx-1", 3),
		resolve(t, "mi300x", 2), resolve(t, "mesh:3x3", 1), resolve(t, "hub:2@1GB/s", 1),
	}
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom(tops).Draw(t, "topology")
		name := rapid.SampledFrom(collective.Names()).Draw(t, "collective")
		bytes := rapid.Int64Range(1, 1<<36).Draw(t, "bytes")
		c := choose(t, top, name, bytes)
		if !(c.ModelUS > 0) || math.IsInf(c.ModelUS, 0) || c.Channels < 1 || c.Channels > maxChannels {
			t.Fatalf("%s of %d bytes on %s: %+v", name, bytes, top.Name, c)
		}
		s := NewSystem(top, nil, nil)
		if _, direct := directs[name]; direct {
			if c.Family != "direct" {
				t.Fatalf("%s is %s", name, c.Family)
			}
			return
		}
		for _, a := range algorithms {
			for _, p := range topologies.AllProtocols {
				us := float64(s.tuning.US(a.Algo, p, Call{Collective: name, Bytes: bytes}))
				if a.runs(name) && top.Has(p) && s.tuning.Takes(a.Algo, p) && us < c.ModelUS {
					t.Fatalf("%s of %d bytes on %s: %+v, but %v takes %v us", name, bytes, top.Name, c, p, us)
				}
			}
		}
		if again := choose(t, top, name, bytes); !cmp.Equal(c, again) {
			t.Fatalf("%+v, then %+v", c, again)
		}
	})
}

func TestRefuses(t *testing.T) {
	eight := resolve(t, "ring:8", 1)
	for _, c := range []struct {
		ranks int
		bytes int64
		want  string
	}{{4, 8, "over 4 ranks on ring:8 of 8"}, {8, 0, "want at least 1"}} {
		col, err := collective.New(collective.Spec{Name: "allreduce", Ranks: c.ranks, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ForcedChoices(eight, col, c.bytes, Forced{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	top := resolve(b, "dgx-a100", 256)
	for b.Loop() {
		choose(b, top, "allreduce", 1<<20)
	}
}

func TestForced(t *testing.T) {
	top := resolve(t, "l40s-4", 1)
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range []string{"ring", "double-binary-tree"} {
		for _, p := range topologies.AllProtocols { // LL128 too, which the library would not take over PCIe
			choices, err := ForcedChoices(top, c, 1<<20, Forced{Family: family, Protocols: []topologies.Proto{p}})
			if err != nil || choices[0].Family != family || choices[0].Protocol != p {
				t.Errorf("%s %s: %+v %v", family, p, choices, err)
			}
		}
	}
	if _, err := ForcedChoices(top, c, 1<<20, Forced{Family: "collnet"}); err == nil {
		t.Error("no error of an algorithm that is not there")
	}
}

// TestNVLSClock holds the clock to times of NVLS forced or chosen: those that it was
// fitted to, and those that it was not.
func TestNVLSClock(t *testing.T) {
	for _, c := range []struct {
		topology string
		gpus     int
		us       map[int64]float64 // by MiB
		most     float64
	}{
		// NCCL 2.26.2, NVLS forced: github.com/togethercomputer/together-nccl-tests
		{"dgx-h100", 8, map[int64]float64{32: 199.71, 64: 326.87, 128: 587.58, 256: 1113.98, 1024: 4026.9, 8192: 31327.3}, 0.03},
		// NCCL 2.29.2, f16: github.com/ai-dynamo/aiconfigurator
		{"dgx-h200", 8, map[int64]float64{4: 51.4, 16: 121.4, 32: 197.3, 64: 319.6, 128: 564.3, 512: 2040.3}, 0.08},
		{"dgx-b200", 8, map[int64]float64{4: 54.5, 16: 100, 32: 171.7, 64: 278.3, 128: 398.1, 512: 1339.8}, 0.12},
		// Not fitted to: 309 GB/s of S(1+1/n)/t for n = 5 (NVIDIA/nccl#1455), a rack
		// (coreweave/nccl-tests#43).
		{"dgx-h100", 5, map[int64]float64{16384: (16 << 30) * (1 + 1./5) / 309e3}, 0.03},
		{"gb200-nvl72", 72, map[int64]float64{1024: 3010, 2048: 5530, 4096: 10117, 8192: 20150}, 0.15},
	} {
		o := topologies.Options{}
		for g := range c.gpus {
			o.GPUs = append(o.GPUs, g)
		}
		top, err := topologies.Resolve(c.topology, o)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSystem(top, nil, nil)
		for mib, us := range c.us {
			if got := s.nvlsClock(Call{Bytes: mib << 20}); math.Abs(got/us-1) > c.most {
				t.Errorf("%d MiB on %d of %s: %.1f us, measured %.1f", mib, c.gpus, c.topology, got, us)
			}
		}
	}
}

// TestNVLSClockGrows: with the size, but for a few per cent where the chunks become
// larger, and with the nodes; it is never below what the links carry.
func TestNVLSClockGrows(t *testing.T) {
	one, four := NewSystem(resolve(t, "dgx-h100", 1), nil, nil), NewSystem(resolve(t, "dgx-h100", 4), nil, nil)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(1<<20, 16<<30).Draw(t, "bytes")
		b := rapid.Int64Range(a, 16<<30).Draw(t, "more")
		if one.nvlsClock(Call{Bytes: b}) < 0.93*one.nvlsClock(Call{Bytes: a}) {
			t.Errorf("%d bytes take %g us, and %d take %g", a, one.nvlsClock(Call{Bytes: a}), b, one.nvlsClock(Call{Bytes: b}))
		}
		if law := float64(a) * (1 + 1./8) / 360e3; one.nvlsClock(Call{Bytes: a}) < law || four.nvlsClock(Call{Bytes: a}) < one.nvlsClock(Call{Bytes: a}) {
			t.Errorf("%d bytes take %g us on one node and %g on four, %g at least", a, one.nvlsClock(Call{Bytes: a}), four.nvlsClock(Call{Bytes: a}), law)
		}
	})
}

// The switches have no sums of bytes: NCCL runs its rings.
func TestSwitchesReduceTypes(t *testing.T) {
	for _, c := range []struct {
		op, dtype string
		want      bool
	}{{"sum", "f32", true}, {"sum", "bf16", true}, {"sum", "i8", false}, {"max", "f16", true}, {"max", "f32", false}, {"prod", "f32", false}, {"avg", "f32", false}} {
		if got := SwitchesReduce(c.op, c.dtype); got != c.want {
			t.Errorf("%s of %s: %t", c.op, c.dtype, got)
		}
	}
}

// Settings of each algorithm and protocol that the library takes have as many channels as they say, over all the ways that
// there are, and no more than the call fills.
func TestSettings(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, c := range []struct {
		system     string
		nodes      int
		collective string
		bytes      int64
		algorithm  string
		protocol   topologies.Proto
		channels   []int // of settings, the library's own first
		blocks     []int
	}{
		{"dgx-a100", 1, "allreduce", 64 * mib, "ring", topologies.Simple, []int{0, 1, 2, 4, 8, 16, 32}, []int{24, 1, 2, 4, 8, 16, 32}},
		{"dgx-a100", 1, "allreduce", 128 * kib, "ring", topologies.LL, []int{0, 1, 2}, []int{4, 1, 2}},
		{"dgx-a100", 1, "allreduce", kib, "ring", topologies.LL, []int{0}, []int{1}},
		{"dgx-1", 1, "allreduce", 64 * mib, "ring", topologies.Simple, []int{0, 1, 2, 4, 24, 6}, []int{12, 1, 2, 4, 24, 6}},
		{"dgx-h100", 2, "allreduce", 64 * mib, "tree", topologies.Simple, []int{0, 2, 4, 8, 32}, []int{16, 2, 4, 8, 32}},
		{"dgx-h100", 1, "allreduce", 64 * mib, "nvls", topologies.Simple, []int{0}, []int{16}},
		{"l40s-4", 1, "allreduce", 64 * mib, "ring", topologies.LL128, nil, nil}, // over PCIe it may be wrong
		{"dgx-a100", 1, "alltoall", mib, "", topologies.Simple, nil, nil},
	} {
		top := topotest.Resolve(t, c.system, c.nodes)
		over, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1, InPlace: c.collective == "allreduce"})
		if err != nil {
			t.Fatal(err)
		}
		var channels, blocks []int
		for _, s := range SettingsOf(NewSystem(top, nil, nil), over, c.bytes, Forced{}, ChannelCounts) {
			if first := &s.Choices[0]; first.Algorithm == c.algorithm && first.Protocol == c.protocol {
				channels, blocks = append(channels, s.Channels), append(blocks, first.Blocks)
			}
		}
		if !slices.Equal(channels, c.channels) || !slices.Equal(blocks, c.blocks) {
			t.Errorf("%s ×%d, %s of %d, %s %v: channels %v, want %v; threadblocks %v, want %v", c.system, c.nodes, c.collective, c.bytes, c.algorithm, c.protocol, channels, c.channels, blocks, c.blocks)
		}
	}
}

// A call on windows has its kernels with other threadblocks, of which fewer than the library's own are slower as its model
// says, whatever the links bound; and copy engines where the release has a model of them.
func TestWindowSettings(t *testing.T) {
	for _, c := range []struct {
		system, collective string
		bytes              int64
		engines            bool
	}{
		{"dgx-h100", "allreduce", 16 << 20, false},
		{"dgx-b200", "allgather", 4 << 20, true},
		{"dgx-h100", "allgather", 4 << 20, false},
	} {
		top := topotest.Resolve(t, c.system, 1)
		over, err := collective.New(collective.Spec{Name: c.collective, Ranks: len(top.Ranks), Chunks: 1, InPlace: c.collective == "allreduce"})
		if err != nil {
			t.Fatal(err)
		}
		s, f := NewSystem(top, nil, nil), Forced{Registered: Window, DType: "bf16", ElemBytes: 2}
		own, err := s.Choices(over, c.bytes, f)
		if err != nil {
			t.Fatal(err)
		}
		engines, fewer, same := false, 0, 0
		for _, x := range SettingsOf(s, over, c.bytes, f, ChannelCounts) {
			one := &x.Choices[0]
			engines = engines || one.Kernel == CopyEngine
			switch {
			case one.Evidence != Predicted || one.ClockUS <= 0:
				t.Errorf("%s: %s of %d CTAs has no predicted time: %+v", c.system, one.Kernel, one.CTAs, one)
			case one.Kernel == own[0].Kernel && one.CTAs < own[0].CTAs:
				if fewer++; one.ClockUS <= own[0].ClockUS {
					t.Errorf("%s: %s takes %v us with %d CTAs and %v with %d", c.system, one.Kernel, one.ClockUS, one.CTAs, own[0].ClockUS, own[0].CTAs)
				}
			case one.Kernel == own[0].Kernel && one.CTAs == own[0].CTAs:
				if same++; one.ClockUS != own[0].ClockUS {
					t.Errorf("%s: %s ×%d takes %v us as a setting and %v by itself", c.system, one.Kernel, one.CTAs, one.ClockUS, own[0].ClockUS)
				}
			}
		}
		if engines != c.engines || fewer+same == 0 {
			t.Errorf("%s %s: copy engines %v, want %v; %d settings with fewer CTAs than %d", c.system, c.collective, engines, c.engines, fewer, own[0].CTAs)
		}
	}
}
