package sim

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

func explained(t rapid.TB, p *Prepared, k Knobs) *Explanation {
	t.Helper()
	x, err := p.explain(context.Background(), k)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// us returns the time of a cause.
func (x *Explanation) us(c Cause) float64 {
	for _, p := range x.Causes {
		if p.Cause == c {
			return p.TimeUS
		}
	}
	return 0
}

// The causes sum to the time, none is negative, nothing is used more than wholly, and the
// time is that of a plain run, bit for bit.
func TestCausesSumToTheTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := randomSystem(rt, t)
		p, err := Prepare(randomProgram(rt, len(top.Ranks)), top)
		if err != nil {
			rt.Fatal(err)
		}
		k := randomKnobs(rt, top)
		plain, err := p.Run(k)
		if err != nil {
			rt.Fatal(err)
		}
		x := explained(rt, p, k)
		if x.Result != plain {
			rt.Fatalf("%+v: explained %+v, run %+v", k, x.Result, plain)
		}
		sum := 0.0
		for _, part := range x.Causes {
			sum += part.TimeUS
			if part.TimeUS < -1e-6*x.TimeUS {
				rt.Errorf("%+v: %v takes %v us", k, part.Cause, part.TimeUS)
			}
		}
		if math.Abs(sum-x.TimeUS) > 1e-12*x.TimeUS {
			rt.Errorf("%+v: causes sum to %v of %v us", k, sum, x.TimeUS)
		}
		for _, u := range x.Resources {
			if u.Mean < 0 || u.Used > u.N || len(u.Most) > 0 && u.Most[0].Of > 1+1e-9 {
				rt.Errorf("%+v: utilisation %+v", k, u)
			}
		}
	})
}

// generic returns the system with links that are never in the way, and a protocol of random
// costs, so that hardly two chains of events take equally long. Times are then sums of
// constants.
func generic(rt *rapid.T, top *topologies.Topology, proto topologies.Proto) *topologies.Topology {
	top = top.Clone()
	for i := range top.Edges {
		top.Edges[i].Bandwidth, top.Edges[i].Latency, top.Edges[i].Message = 1e18, 0, 0
	}
	for i := range top.Ranks {
		top.Ranks[i].Memory = 0
	}
	us := func(what string) units.Duration {
		return units.Duration(rapid.Float64Range(0.1, 3).Draw(rt, what))
	}
	top.Protocols[proto] = topologies.Protocol{
		Launch: us("launch"), Wire: 1, Slots: rapid.IntRange(1, 4).Draw(rt, "slots"), Tile: 1 << 12,
		Latency: us("latency"), Credit: 4 * us("credit"), SendCall: us("send call"), RecvCall: us("recv call"),
		Dep: us("dep"), Nop: us("nop"), Pass: 1 << 9, SendPass: us("send pass"), RecvPass: us("recv pass"), MinPass: 64,
		SendRate:  1e9 * units.Bandwidth(rapid.Float64Range(1, 9).Draw(rt, "send rate")),
		RecvRate:  1e9 * units.Bandwidth(rapid.Float64Range(1, 9).Draw(rt, "recv rate")),
		SendSlice: us("send slice"), RecvSlice: us("recv slice"), MinCopy: 1 << 10,
		ReducePass: us("reduce pass"), CopyPass: us("copy pass"), ReduceCall: us("reduce call"), Threads: 256, Fused: 1.3,
	}
	return top
}

// scale changes the constants of one cause.
func scale(p *topologies.Protocol, c Cause, by float64) {
	of := map[Cause][]*units.Duration{
		CauseLaunch: {&p.Launch}, CauseLatency: {&p.Latency}, CauseSlots: {&p.Credit}, CauseDependency: {&p.Dep, &p.Nop},
		CauseThreadblock: {&p.SendPass, &p.RecvPass, &p.SendCall, &p.RecvCall, &p.SendSlice, &p.RecvSlice, &p.ReducePass, &p.CopyPass, &p.ReduceCall},
	}
	for _, d := range of[c] {
		*d *= units.Duration(by)
	}
	if c == CauseThreadblock {
		p.SendRate = units.Bandwidth(float64(p.SendRate) / by)
		p.RecvRate = units.Bandwidth(float64(p.RecvRate) / by)
	}
}

// Without contention a time is a sum of constants along the critical path. So a cause takes
// what the time grows by when its constants grow, in proportion: where several chains are
// equally long, between what the time shrinks by and what it grows by.
func TestCausesAreDerivatives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		proto := rapid.SampledFrom(topologies.AllProtocols[:]).Draw(rt, "protocol")
		top := generic(rt, system(t, rapid.SampledFrom([]string{"fullmesh:4", "fullmesh:5"}).Draw(rt, "system"), 1), proto)
		program := randomProgram(rt, len(top.Ranks))
		k := Knobs{Bytes: rapid.Int64Range(1<<10, 1<<18).Draw(rt, "bytes"), Protocol: proto}
		p, err := Prepare(program, top)
		if err != nil {
			rt.Fatal(err)
		}
		x := explained(rt, p, k)
		if x.Method == Linear {
			return
		}
		const by = 1e-5
		for _, part := range x.Causes {
			grown := func(by float64) float64 {
				other := top.Clone()
				scale(&other.Protocols[proto], part.Cause, 1+by)
				return timeOf(t, program, other, k)
			}
			more, less := (grown(by)-x.TimeUS)/by, (x.TimeUS-grown(-by))/by
			room := 1e-3 * x.TimeUS
			if part.TimeUS < min(more, less)-room || part.TimeUS > max(more, less)+room {
				rt.Errorf("%+v: %v takes %v us of %v (%v); the time grows by %v and shrinks by %v", k, part.Cause, part.TimeUS, x.TimeUS, x.Method, more, less)
			}
		}
	})
}

// Small programs whose critical paths can be written down.
func TestCausesByHand(t *testing.T) {
	plain := topologies.Protocol{
		Launch: 5, Wire: 1, Slots: 8, Tile: 1 << 40, Latency: 0.25, Credit: 2, SendCall: 0.3, RecvCall: 0.1,
		Dep: 0.75, Nop: 0.0625, Pass: 4096, SendPass: 1, RecvPass: 0.5, MinPass: 4096, SendRate: 4096e6, RecvRate: 8192e6,
		SendSlice: 0.4, RecvSlice: 0.2, ReducePass: 0.35, ReduceCall: 0.45, Threads: 256, Fused: 1,
	}
	oneSlot := plain
	oneSlot.Slots = 1
	free := topologies.Protocol{Wire: 1, Slots: 8, Tile: 1 << 40, Fused: 1, Threads: 512}

	// Rank 0 sends n chunks to rank 1, one a step.
	send := func(n int) *builder {
		b := build("sendrecv", 2, n, false)
		sends, receives := make([]ir.Op, n), make([]ir.Op, n)
		for i := range n {
			sends[i], receives[i] = ir.Send, ir.Recv
		}
		b.tb(0, 1, -1, 0, sends...)
		b.tb(1, -1, 0, 0, receives...)
		return b
	}
	waiting := build("sendrecv", 2, 1, false)
	waiting.tb(0, -1, -1, 0, ir.Copy)
	waiting.tb(0, 1, -1, 0, ir.Send)
	waiting.tb(1, -1, 0, 0, ir.Recv)
	waiting.wait(0, 1, 0, 0, 0)
	gather := build("gather", 3, 1, false)
	for r := 1; r <= 2; r++ {
		gather.tb(r, 0, -1, 0, ir.Send)
		gather.tb(0, -1, r, 0, ir.Recv)
	}

	for _, c := range []struct {
		name     string
		program  *builder
		ranks    int
		cap      units.Bandwidth
		protocol topologies.Protocol
		k        Knobs
		want     map[Cause]float64
		messages int64
	}{
		// The last of two passes leaves at 2, is seen at 2.25 and taken by 2.85.
		{"a message", send(1), 2, 1e18, plain, Knobs{Bytes: 8192, Protocol: topologies.LL},
			map[Cause]float64{CauseLaunch: 5, CauseThreadblock: 2 + 0.5 + 0.1, CauseLatency: 0.25}, 1},
		// A slice is posted at 0.3 + 2 + 0.4, and the receiver copies it after it sees it.
		{"a slice", send(1), 2, 1e18, plain, Knobs{Bytes: 8192, Protocol: topologies.Simple},
			map[Cause]float64{CauseLaunch: 5, CauseThreadblock: 0.3 + 2 + 0.4 + 1 + 0.2, CauseLatency: 0.25}, 1},
		// The copy takes 2 passes and the call; what waits for it sends after 0.75.
		{"a dependency", waiting, 2, 1e18, plain, Knobs{Bytes: 8192, Protocol: topologies.LL},
			map[Cause]float64{CauseLaunch: 5, CauseThreadblock: 2*0.35 + 0.45 + 2 + 0.5 + 0.1, CauseDependency: 0.75, CauseLatency: 0.25}, 1},
		// One slot: the second message waits for the first one's receipt, and its credit.
		{"one slot", send(2), 2, 1e18, oneSlot, Knobs{Bytes: 8192, Protocol: topologies.LL},
			map[Cause]float64{CauseLaunch: 5, CauseThreadblock: 2 * (1 + 0.5 + 0.1), CauseLatency: 2 * 0.25, CauseSlots: 2}, 2},
		// Two messages of 8,192 bytes share the way into rank 0, at 50 bytes a nanosecond.
		{"a shared link", gather, 3, 50e9, free, Knobs{Bytes: 3 * 8192, Protocol: topologies.LL},
			map[Cause]float64{CauseLink: 2 * 8192 / 50e3}, 1},
	} {
		top := system(t, map[int]string{2: "ring:2", 3: "hub:3"}[c.ranks], 1)
		for i := range top.Edges {
			top.Edges[i].Bandwidth, top.Edges[i].Latency = c.cap, 0
		}
		top.Protocols[c.k.Protocol] = c.protocol
		p, err := Prepare(c.program.p, top)
		if err != nil {
			t.Fatal(err)
		}
		x := explained(t, p, c.k)
		for cause := range Cause(causes) {
			if got := x.us(cause); math.Abs(got-c.want[cause]) > 1e-9 {
				t.Errorf("%s: %v takes %v us, want %v", c.name, cause, got, c.want[cause])
			}
		}
		if x.Messages != c.messages {
			t.Errorf("%s: %d messages on the path, want %d", c.name, x.Messages, c.messages)
		}
	}
}

// Tiles that are not simulated take what those before them took, so a loop that is cut short
// has the causes of one that is not.
func TestCausesOfCutLoops(t *testing.T) {
	for _, c := range []struct {
		name    string
		program *ir.Program
		on      string
		nodes   int
	}{
		{"ring", ringAllReduce(order(8), 4), "dgx-a100", 1},
		{"ring over two nodes", ringAllReduce(order(16), 4), "dgx-a100", 2},
		{"all pairs", allPairsAllReduce(8, 1), "dgx-a100", 1},
		{"all pairs of 8", allPairsAllGather(8, 8), "mi300x", 1},
	} {
		p, err := Prepare(c.program, system(t, c.on, c.nodes))
		if err != nil {
			t.Fatal(err)
		}
		for _, proto := range p.topology.HasProtocols() {
			k := Knobs{Bytes: p.loopChunks * int64(p.topology.Protocols[proto].Tile) * 150, Protocol: proto}
			cut := explained(t, p, k)
			cost, err := p.costs(k)
			if err != nil {
				t.Fatal(err)
			}
			e := &engine{p: p}
			e.rec, e.pattern.off = &recorder{e: e}, true
			time, err := e.simulate(context.Background(), cost, cost.tiles)
			if err != nil {
				t.Fatal(err)
			}
			whole := e.rec.whole(cost, Result{TimeUS: cost.launch + time})
			for _, part := range cut.Causes {
				if off := math.Abs(part.TimeUS - whole.by[part.Cause]); off > 0.01*cut.TimeUS {
					t.Errorf("%s %v (%v): %v takes %v us of %v, want %v", c.name, proto, cut.Method, part.Cause, part.TimeUS, cut.TimeUS, whole.by[part.Cause])
				}
			}
			if off := math.Abs(float64(cut.Messages - whole.hops)); off > 0.02*float64(whole.hops) {
				t.Errorf("%s %v (%v): %d messages on the path, want %d", c.name, proto, cut.Method, cut.Messages, whole.hops)
			}
		}
	}
}

// The bytes over links and memories are those that the lower bound counts.
func TestUtilisationByHand(t *testing.T) {
	top := system(t, "ring:4", 1)
	top.Protocols = ideal(1 << 40)
	p, err := Prepare(ringAllGather(4, 1, 1, false), top)
	if err != nil {
		t.Fatal(err)
	}
	const m = 1 << 20
	x := explained(t, p, Knobs{Bytes: 4 * m, Protocol: topologies.LL})
	for _, u := range x.Resources {
		switch u.Resource {
		case "nvlink": // each of four ways round passes on three chunks; the way back is idle
			want := 3 * m / 50e3 / x.TimeUS
			if u.N != 8 || u.Used != 4 || math.Abs(u.Mean-want/2) > 1e-9 || math.Abs(u.Most[0].Of-want) > 1e-9 || u.Most[0].Name != "rank 0 → rank 1" {
				t.Errorf("links: %+v, want 4 of 8 used, each %v of the time", u, want)
			}
		case "threadblock": // a flow is as fast as its link
			if u.N != 4 || u.Most[0].Of <= 0 || u.Most[0].Of > 1 {
				t.Errorf("threadblocks: %+v", u)
			}
		}
	}
}

// What helps most is what the critical path shows: where latency is all there is, less of it.
func TestChanges(t *testing.T) {
	program := ringAllGather(8, 1, 1, false)
	for _, c := range []struct {
		bytes int64
		most  string
		gain  float64
	}{
		{0, "half the latency", 2},
		{8 << 30, "twice the bandwidth of nvlink", 2},
	} {
		top := system(t, "ring:8", 1)
		top.Protocols = ideal(1 << 40)
		changes, err := Changes(context.Background(), executor.Trial{Program: program, Topology: top, Bytes: c.bytes})
		if err != nil {
			t.Fatal(err)
		}
		if got := changes[0]; got.What != c.most || math.Abs(got.Gain-c.gain) > 1e-3*c.gain {
			t.Errorf("%d bytes: %+v helps most, want %s, %v times", c.bytes, got, c.most, c.gain)
		}
		for _, ch := range changes {
			if ch.What == "half the launch" || ch.What == "twice the memory's rate" {
				t.Errorf("%d bytes: %+v of a system without", c.bytes, ch)
			}
		}
	}
	none := executor.Trial{Program: program}
	if _, err := Explain(context.Background(), none); err == nil {
		t.Error("a trial without a system is explained")
	}
	if _, err := Changes(context.Background(), none); err == nil {
		t.Error("a trial without a system is changed")
	}
}

// A call that costs nothing has an explanation of finite numbers.
func TestExplainNothing(t *testing.T) {
	top := system(t, "ring:4", 1)
	top.Protocols = ideal(1 << 40)
	for i := range top.Edges {
		top.Edges[i].Latency = 0
	}
	x, err := Explain(context.Background(), executor.Trial{Program: ringAllGather(4, 1, 1, false), Topology: top})
	if err != nil || x.TimeUS != 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	changes, err := Changes(context.Background(), executor.Trial{Program: ringAllGather(4, 1, 1, false), Topology: top})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal([]any{x, changes}); err != nil {
		t.Error(err)
	}
}
