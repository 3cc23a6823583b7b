package sim

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// ideal is a protocol without costs: times depend on edges only.
func ideal(tile int64) [3]topologies.Protocol {
	var all [3]topologies.Protocol
	for i := range all {
		all[i] = topologies.Protocol{Wire: 1, Slots: 8, Tile: 1 << 40, Fused: 1, Threads: 512}
	}
	return all
}

func idealised(t testing.TB, arg string) *topologies.Topology {
	top := system(t, arg, 1)
	top.Protocols = ideal(1 << 40)
	return top
}

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if math.Abs(got-want) > rel*want {
		t.Errorf("%s: %v us, want %v", what, got, want)
	}
}

// With an ideal protocol the simulator agrees with times computed by hand.
func TestClosedForms(t *testing.T) {
	const m = 1 << 20
	serial := m / 50e3 // of a message at 50 GB/s, in us
	for _, c := range []struct {
		name    string
		program *ir.Program
		on      string
		bytes   int64
		want    float64
	}{
		{"ring all-gather of 8", ringAllGather(8, 1, 1, false), "ring:8", 8 * m, 7 * (0.5 + serial)},
		{"ring all-gather of 16", ringAllGather(16, 1, 1, false), "ring:16", 16 * m, 15 * (0.5 + serial)},
		{"the same, forwarding as it comes", ringAllGather(8, 1, 1, true), "ring:8", 8 * m, 7*serial + 0.5},
		{"all pairs on a full mesh", allPairsAllGather(8, 1), "fullmesh:8", 8 * m, 0.5 + serial},
		{"all pairs on a hub", allPairsAllGather(8, 1), "hub:8", 8 * m, 0.5 + 7*serial},
		{"all pairs on a hub, 4 instances", allPairsAllGather(8, 4), "hub:8", 8 * m, 0.5 + 7*serial},
	} {
		top := idealised(t, c.on)
		hops := 0.0
		for i := range top.Edges { // a hub's latency is split over its two edges, or not
			hops = max(hops, float64(top.Edges[i].Latency))
		}
		path, _ := top.Path(0, 1)
		want := c.want + float64(path.Latency) - 0.5
		near(t, c.name, timeOf(t, c.program, top, Knobs{Bytes: c.bytes, Protocol: topologies.LL}), want, 1e-9)
	}
}

// TestPackets: links inside a node carry packet headers beside the data, those between
// nodes do not, and the lower bound includes them.
func TestPackets(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct {
		on   string
		of   topologies.Options
		more float64
	}{
		{"ring:8", topologies.Options{}, 1.25},
		{"hub:8", topologies.Options{}, 1.25},
		{"dgx-a100", topologies.Options{Nodes: 8, GPUs: []int{0}}, 1},
	} {
		top, err := topologies.Resolve(c.on, c.of)
		if err != nil {
			t.Fatal(err)
		}
		top.Protocols = ideal(1 << 40)
		for i := range top.Edges {
			top.Edges[i].Message = 0
		}
		p, err := Prepare(ringAllGather(8, 1, 1, false), top)
		if err != nil {
			t.Fatal(err)
		}
		times := func() (us, bound float64) {
			k := Knobs{Bytes: 8 * m, Protocol: topologies.LL}
			r, err := p.Run(k)
			if err != nil {
				t.Fatal(err)
			}
			return r.TimeUS, p.LowerBound(k)
		}
		before, _ := times()
		top.Protocols[topologies.LL].Packets = 1.25
		after, bound := times()
		path, _ := top.Path(0, 1)
		latency := 7 * float64(path.Latency)
		near(t, c.on, after-latency, c.more*(before-latency), 1e-9)
		if bound > after || bound < 0.9*after {
			t.Errorf("%s: bound of %v us, time %v", c.on, bound, after)
		}
	}
}

// network is nodes of one GPU each, with an ideal protocol and NICs without message costs.
func network(t *testing.T, nodes int) *topologies.Topology {
	t.Helper()
	top, err := topologies.Resolve("dgx-a100", topologies.Options{Nodes: nodes, GPUs: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	top.Protocols = ideal(1 << 40)
	for i := range top.Edges {
		top.Edges[i].Message = 0
	}
	return top
}

// timeAndBound returns the time and the lower bound of a program, and fails the test
// if the bound is above the time.
func timeAndBound(t *testing.T, program *ir.Program, top *topologies.Topology, k Knobs, tight float64) float64 {
	t.Helper()
	p, err := Prepare(program, top)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(k)
	if err != nil {
		t.Fatal(err)
	}
	if bound := p.LowerBound(k); bound > r.TimeUS || bound < tight*r.TimeUS {
		t.Errorf("bound of %v us, time %v", bound, r.TimeUS)
	}
	return r.TimeUS
}

// TestNetStart: a call takes net_start for each connection out of a node but the first,
// and nothing where all ranks are in one node.
func TestNetStart(t *testing.T) {
	const start = 3
	for _, c := range []struct {
		name    string
		program *ir.Program
		top     *topologies.Topology
		starts  float64
	}{
		{"a ring over nodes", ringAllGather(8, 1, 1, false), network(t, 8), 0},
		{"all pairs over nodes", allPairsAllGather(8, 1), network(t, 8), 6},
		{"2 instances", allPairsAllGather(8, 2), network(t, 8), 13},
		{"all pairs in a node", allPairsAllGather(8, 1), idealised(t, "hub:8"), 0},
	} {
		k := Knobs{Bytes: 8 << 20, Protocol: topologies.LL}
		before := timeAndBound(t, c.program, c.top, k, 0)
		c.top.Protocols[topologies.LL].NetStart = start
		near(t, c.name, timeAndBound(t, c.program, c.top, k, 0)-before, start*c.starts, 1e-6)
	}
}

// TestNetRate: a connection out of a node is no faster than net_rate, and several
// together are as fast as their NIC.
func TestNetRate(t *testing.T) {
	const m = 1 << 20
	top := network(t, 2)
	nic := 25e3 // bytes a microsecond
	top.Protocols[topologies.LL].NetRate = 10e9
	path, _ := top.Path(0, 1)
	for _, c := range []struct {
		connections int
		rate        float64
	}{{1, soft(10e3, nic)}, {2, soft(10e3, nic/2)}, {8, soft(10e3, nic/8)}} {
		got := timeAndBound(t, allPairsAllGather(2, c.connections), top, Knobs{Bytes: 2 * m, Protocol: topologies.LL}, 0.5)
		near(t, "transfer", got-float64(path.Latency), m/float64(c.connections)/c.rate, 1e-6)
	}
}

// TestNetRendezvous: a message of more than net_eager bytes on the wire takes at least
// net_rendezvous of its connection, and no smaller message does. Connections wait side by
// side, and messages inside a node not at all.
func TestNetRendezvous(t *testing.T) {
	const eager, agreed = 1 << 13, 50
	nic := 25e3 // bytes a microsecond
	for _, c := range []struct {
		name        string
		top         *topologies.Topology
		bytes       int64 // of a connection's message
		connections int
		want        float64
	}{
		{"eager", network(t, 2), eager, 1, soft(math.Inf(1), nic)},
		{"a byte more", network(t, 2), eager + 4, 1, soft((eager+4.0)/agreed, nic)},
		{"two connections", network(t, 2), eager + 4, 2, soft((eager+4.0)/agreed, nic/2)},
		{"large", network(t, 2), 1 << 24, 1, soft((1<<24)/50.0, nic)},
		{"in a node", idealised(t, "hub:2@25GB/s"), eager + 4, 1, nic},
	} {
		p := &c.top.Protocols[topologies.LL]
		p.NetEager, p.NetRendezvous = eager, agreed
		path, _ := c.top.Path(0, 1)
		got := timeAndBound(t, allPairsAllGather(2, c.connections), c.top, Knobs{Bytes: 2 * c.bytes * int64(c.connections), Protocol: topologies.LL}, 0.5)
		near(t, c.name, got-float64(path.Latency), float64(c.bytes)/c.want, 1e-6)
	}
}

// TestNetSendsWhole: a message of LL leaves its node once its threadblock has written it: on a
// chain over nodes one rank after another writes it, while it arrives; within a node all write at once, a pass behind each other.
func TestNetSendsWhole(t *testing.T) {
	const m, pass = 1 << 20, 3.0 // µs for each 64 KiB
	for _, c := range []struct {
		top *topologies.Topology
		net bool
	}{{network(t, 4), true}, {idealised(t, "ring:4@25GB/s"), false}} {
		p := &c.top.Protocols[topologies.LL]
		p.Pass, p.MinPass, p.SendPass, p.RecvPass, p.Fused = 1<<16, 1, pass, pass, 1
		path, _ := c.top.Path(0, 1)
		write, wire := m/(1<<16)*pass, m/c.top.Edges[path.Edges[0]].Bandwidth.PerMicro()
		b := build("broadcast", 4, 1, true)
		b.tb(0, 1, -1, 0, ir.Send)
		b.tb(1, 2, 0, 0, ir.RecvCopySend)
		b.tb(2, 3, 1, 0, ir.RecvCopySend)
		b.tb(3, -1, 2, 0, ir.Recv)
		got := timeAndBound(t, b.p, c.top, Knobs{Bytes: m, Protocol: topologies.LL, TileBytes: m}, 0)
		want := soft(m/write, m/wire)
		if c.net {
			if least := 3*write + wire; got < least || got > 1.12*least {
				t.Errorf("over nodes: %v us, want some %v", got, least)
			}
		} else if most := m/want + 3*pass + 3*float64(path.Latency); got > 1.01*most {
			t.Errorf("in a node: %v us, want at most %v", got, most)
		}
	}
}

// TestNetSlots: a connection out of a node holds twice as many messages as its protocol
// has slots. With one slot a tile's message waits for its credit; over the network two
// are in flight.
func TestNetSlots(t *testing.T) {
	const tiles, tile = 7, 1 << 20
	for _, c := range []struct {
		top  *topologies.Topology
		each float64 // messages a round trip
	}{{network(t, 2), 2}, {idealised(t, "ring:2"), 1}} {
		p := &c.top.Protocols[topologies.LL]
		p.Slots, p.Tile, p.Latency, p.Credit = 1, tile, 1000, 1000
		path, _ := c.top.Path(0, 1)
		way := 1000 + float64(path.Latency)
		serial := tile / c.top.Edges[path.Edges[0]].Bandwidth.PerMicro()
		b := build("allgather", 2, 1, true)
		b.tb(0, 1, -1, 0, ir.Send)
		b.tb(1, -1, 0, 0, ir.Recv)
		got := timeAndBound(t, b.p, c.top, Knobs{Bytes: 2 * tiles * tile, Protocol: topologies.LL}, 0)
		// The last message of 7 waits for the credit of one that many before it.
		trips := math.Ceil(tiles/c.each) - 1
		want := trips*(2*way+serial) + way + serial
		near(t, c.top.Name, got, want, 1e-9)
	}
}

// TestCopyPass: a pass of a copy and one of a reduction take different times, or the
// same if the system gives no time for copies.
func TestCopyPass(t *testing.T) {
	top := idealised(t, "ring:2")
	c := &top.Protocols[topologies.LL]
	c.ReducePass, c.ReduceCall = 2, 1
	for _, step := range []struct {
		op   ir.Op
		pass units.Duration
		want float64
	}{{ir.Copy, 0, 2}, {ir.Copy, 0.5, 0.5}, {ir.Reduce, 0.5, 2}} {
		c.CopyPass = step.pass
		b := build("allreduce", 2, 2, false)
		b.tb(0, -1, -1, 0, step.op)
		const bytes = 512 * 16 * 10 * 2 // ten passes a chunk
		got := timeOf(t, b.p, top, Knobs{Bytes: bytes, Protocol: topologies.LL})
		near(t, step.op.String(), got, 10*step.want+1, 1e-9)
	}
}

func TestSoftShareStaysBelowBoth(t *testing.T) {
	for _, c := range []struct{ r, share, want float64 }{
		{1, 1, math.Pow(2, -0.2)}, {10, 1e9, 10}, {math.Inf(1), 3, 3}, {1e9, 3, 3}, {2, 1, math.Pow(1.0/32+1, -0.2)},
	} {
		if got := soft(c.r, c.share); math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("soft(%v, %v) = %v, want %v", c.r, c.share, got, c.want)
		}
	}
}

// TestRatesAreRemembered: cached rates equal those of soft, bit for bit, even with more
// rates than the cache holds.
func TestRatesAreRemembered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var kept rates
		some := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e12), 1, 40).Draw(t, "rates")
		some = append(some, math.Inf(1))
		for range 400 {
			alone, share := rapid.SampledFrom(some).Draw(t, "alone"), rapid.SampledFrom(some[:len(some)-1]).Draw(t, "share")
			if got, want := kept.soft(alone, share), soft(alone, share); got != want {
				t.Fatalf("soft(%v, %v) = %v, want %v", alone, share, got, want)
			}
		}
	})
}

func TestExecutor(t *testing.T) {
	e := New()
	d, err := e.Describe(context.Background())
	if err != nil || d.Name != "sim" || !d.Deterministic || len(d.Protocols) != 3 || d.Fingerprint["model"] == "" {
		t.Fatalf("described as %+v, %v", d, err)
	}
	top := system(t, "dgx-a100", 1)
	trial := executor.Trial{Program: ringAllReduce(order(8), 2), Topology: top, Bytes: 1 << 20, Protocol: topologies.Simple, DType: "f32", Op: "sum"}
	m, err := e.Run(context.Background(), trial)
	if err != nil || len(m.TimesUS) != 1 || m.TimesUS[0] <= 0 {
		t.Fatalf("measured %+v, %v", m, err)
	}
	again, err := e.Run(context.Background(), trial)
	if err != nil || again.TimesUS[0] != m.TimesUS[0] {
		t.Errorf("the same trial again took %v, %v: want %v", again.TimesUS, err, m.TimesUS)
	}
	for _, c := range []struct {
		change func(*executor.Trial)
		want   string
	}{
		{func(t *executor.Trial) { t.DType = "f31" }, "unknown dtype"},
		{func(t *executor.Trial) { t.Op = "xor" }, "unknown operation"},
		{func(t *executor.Trial) { t.Bytes = -1 }, "size of -1 bytes"},
		{func(t *executor.Trial) { t.Program = nil }, "lacks"},
		{func(t *executor.Trial) { t.Program = ringAllReduce(order(4), 1) }, "4 ranks"},
	} {
		bad := trial
		c.change(&bad)
		if _, err := e.Run(context.Background(), bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	long := trial
	long.Program = ringAllReduce(order(8), 24)
	long.Bytes = 1 << 30
	if _, err := e.Run(ctx, long); err == nil {
		t.Error("a cancelled trial gave a time")
	}
}

func TestDeadlockIsAnError(t *testing.T) {
	top := system(t, "dgx-a100", 1)
	b := build("allgather", 8, 1, true)
	for r := range 8 { // everyone receives first
		b.tb(r, (r+1)%8, (r+7)%8, 0, ir.Recv, ir.Send)
	}
	_, err := Run(b.p, top, Knobs{Bytes: 1024, Protocol: topologies.LL})
	if err == nil || !strings.Contains(err.Error(), "deadlocks with LL") || !strings.Contains(err.Error(), "rank 0 threadblock 0 step 0 waits for a message") {
		t.Errorf("error is %v", err)
	}
	// Three sends ahead of their receiver need three of Simple's two slots.
	b = build("sendrecv", 2, 3, false)
	for r := range 2 {
		b.tb(r, 1-r, 1-r, 0, ir.Send, ir.Send, ir.Send, ir.Recv, ir.Recv, ir.Recv)
	}
	two := system(t, "fullmesh:2", 1)
	if _, err := Run(b.p, two, Knobs{Bytes: 1024, Protocol: topologies.Simple}); err == nil || !strings.Contains(err.Error(), "waits for a free slot") {
		t.Errorf("error is %v", err)
	}
	if _, err := Run(b.p, two, Knobs{Bytes: 1024, Protocol: topologies.LL}); err != nil {
		t.Errorf("LL has slots enough: %v", err)
	}
}

func TestPrepareRefuses(t *testing.T) {
	top := system(t, "ring:4", 1)
	for _, c := range []struct {
		name  string
		build func() *ir.Program
		want  string
	}{
		{"no path", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 2, -1, 0, ir.Send)
			b.tb(2, -1, 0, 0, ir.Recv)
			return b.p
		}, "no path"},
		{"one connection, two threadblocks", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 1, -1, 0, ir.Send)
			b.tb(0, 1, -1, 0, ir.Send)
			return b.p
		}, "threadblocks 0 and 1 both send to rank 1 on channel 0"},
		{"nobody receives", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 1, -1, 0, ir.Send)
			return b.p
		}, "no threadblock receives"},
		{"nobody sends", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, -1, 1, 0, ir.Recv)
			return b.p
		}, "no threadblock sends"},
		{"counts differ", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 1, -1, 0, ir.Send)
			b.tb(1, -1, 0, 0, ir.Recv)
			b.p.GPUs[1].Threadblocks[0].Steps[0].Count = 2
			return b.p
		}, "receives 2 chunks where rank 0 threadblock 0 sends 1"},
		{"more receives", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 1, -1, 0, ir.Send)
			b.tb(1, -1, 0, 0, ir.Recv, ir.Recv)
			return b.p
		}, "sends 1 times, rank 1 threadblock 0 receives 2 times"},
		{"unflagged dependency", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, -1, -1, 0, ir.Copy)
			b.tb(0, -1, -1, 1, ir.Copy)
			b.p.GPUs[0].Threadblocks[1].Steps[0].Deps = []ir.Dep{{TB: 0, Step: 0}}
			return b.p
		}, "does not publish"},
		{"no such rank", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, 7, -1, 0, ir.Send)
			return b.p
		}, "rank 7"},
		{"no peer", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, -1, -1, 0, ir.Send)
			return b.p
		}, "no peer to send to"},
		{"empty step", func() *ir.Program {
			b := build("allgather", 4, 1, true)
			b.tb(0, -1, -1, 0, ir.Copy)
			return b.counts(0).p
		}, "moves 0 chunks"},
		{"unknown collective", func() *ir.Program { return build("allgathering", 4, 1, true).p }, "unknown collective"},
	} {
		if _, err := Prepare(c.build(), top); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.want)
		}
	}
}

// Reductions into one chunk that wait for nothing of their own run as one step.
func TestReductionsRunAsOne(t *testing.T) {
	top := system(t, "fullmesh:2", 1)
	top.Protocols[topologies.LL].ReducePass = 0
	cost := func(n int, split bool) float64 {
		b := build("allgather", 2, 1, true)
		for range n {
			b.p.GPUs[0].Threadblocks = []ir.Threadblock{{Send: -1, Recv: -1, Steps: append(func() []ir.Step {
				if len(b.p.GPUs[0].Threadblocks) == 0 {
					return nil
				}
				return b.p.GPUs[0].Threadblocks[0].Steps
			}(), ir.Step{Op: ir.Reduce, Count: 1, Src: ir.Loc{Buf: collective.Scratch}, HasDep: split})}}
		}
		return timeOf(t, b.p, top, Knobs{Bytes: 1024, Protocol: topologies.LL}) - float64(top.Protocols[topologies.LL].Launch)
	}
	one := cost(1, false)
	near(t, "16 as one", cost(16, false), one, 1e-12)
	near(t, "17 as two", cost(17, false), 2*one, 1e-12)
	near(t, "3 that others wait for", cost(3, true), 3*one, 1e-12)
}

// TestKeptPrepared: a prepared program is returned again for the same topology and for
// no other, and a huge one is dropped when the next is prepared.
func TestKeptPrepared(t *testing.T) {
	s := &simulator{}
	here, there := system(t, "dgx-a100", 1), system(t, "dgx-a100", 1)
	small, other := ringAllReduce(order(8), 1), ringAllReduce(order(8), 2)
	get := func(p *ir.Program, on *topologies.Topology) *Prepared {
		t.Helper()
		prepared, err := s.prepared(p, on)
		if err != nil {
			t.Fatal(err)
		}
		return prepared
	}
	first := get(small, here)
	if get(other, here) == first || get(small, there) == first || get(small, here) != first {
		t.Error("a program is not the one prepared for it")
	}
	if len(s.kept) != 3 || s.kept[0] != first {
		t.Errorf("%d kept, want 3, the last one used in front", len(s.kept))
	}
	huge := get(ringAllReduce(order(8), 3), here)
	huge.steps = maxKeptSteps + 1
	if get(other, there); len(s.kept) != 1 {
		t.Errorf("%d kept beside a huge one that came before: want the new one alone", len(s.kept))
	}
}
