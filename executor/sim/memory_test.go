package sim

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// remembering returns a system with an ideal protocol and memories of the given rate.
func remembering(t testing.TB, arg string, memory units.Bandwidth) *topologies.Topology {
	top := idealised(t, arg)
	for i := range top.Ranks {
		top.Ranks[i].Memory = memory
	}
	return top
}

// If memory is slower than the links and nothing else costs time, the time is the
// bytes read and written divided by the memory's rate.
func TestMemoryInClosedForm(t *testing.T) {
	const m = 1 << 20
	const slow = 10e9
	pass := m / (slow / 1e6) // of a message over a memory, in us
	alone := func(ops ...ir.Op) func() *ir.Program {
		return func() *ir.Program {
			b := build("allgather", 2, 1, true)
			for _, o := range ops {
				b.tb(0, -1, -1, len(b.p.GPUs[0].Threadblocks), o)
			}
			return b.p
		}
	}
	pair := func(last ir.Op, before ...ir.Op) func() *ir.Program {
		return func() *ir.Program {
			b := build("allgather", 2, 1, true)
			b.tb(0, 1, -1, 0, append(before, ir.Send)...)
			b.tb(1, -1, 0, 0, last)
			return b.p
		}
	}
	for _, c := range []struct {
		name    string
		program func() *ir.Program
		passes  float64 // over the busiest memory
	}{
		{"copy: read, write", alone(ir.Copy), 2},
		{"reduce: two reads, write", alone(ir.Reduce), 3},
		{"two copies share", alone(ir.Copy, ir.Copy), 4},
		{"a copy and a reduction", alone(ir.Copy, ir.Reduce), 5},
		{"receive: into the FIFO, out, write", pair(ir.Recv), 3},
		{"receive and reduce: the operand, too", pair(ir.RecvReduceCopy), 4},
		{"after a copy of its own", pair(ir.Recv, ir.Copy), 2 + 3},
		{"run of three reductions: read four, write", func() *ir.Program {
			b := build("allgather", 2, 1, true)
			b.tb(0, -1, -1, 0, ir.Reduce, ir.Reduce, ir.Reduce)
			return b.p
		}, 5},
	} {
		top := remembering(t, "fullmesh:2", slow)
		path, _ := top.Path(0, 1)
		for _, proto := range topologies.AllProtocols {
			top.Protocols[proto].ReducePass, top.Protocols[proto].ReduceCall = 0, 0
			k := Knobs{Bytes: 2 * m, Protocol: proto}
			p, err := Prepare(c.program(), top)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Run(k)
			if err != nil {
				t.Fatal(err)
			}
			want := c.passes * pass
			if len(p.conns) > 0 {
				want += float64(path.Latency)
			}
			near(t, c.name+" "+proto.String(), r.TimeUS, want, 1e-5)
			if bound := p.LowerBound(k); bound > r.TimeUS || bound < 0.3*want {
				t.Errorf("%s %v: bound %v us of %v", c.name, proto, bound, want)
			}
		}
	}
}

// LL's flags go through the FIFO like data.
func TestFlagsPassMemory(t *testing.T) {
	top := remembering(t, "fullmesh:2", 10e9)
	top.Protocols[topologies.LL].Wire = 2
	b := build("allgather", 2, 1, true)
	b.tb(0, 1, -1, 0, ir.Send)
	b.tb(1, -1, 0, 0, ir.Recv)
	path, _ := top.Path(0, 1)
	got := timeOf(t, b.p, top, Knobs{Bytes: 2 << 20, Protocol: topologies.LL})
	near(t, "receive", got, (2+2+1)*float64(1<<20)/10e3+float64(path.Latency), 1e-5)
}

// A message that arrives and the one forwarded with it share a memory at equal rates:
// the first has all of it until the second starts, each pass has a quarter while there
// are 1 + 3, and a third for the rest of the second.
func TestForwardingSharesMemory(t *testing.T) {
	top := remembering(t, "fullmesh:3", 10e9)
	b := build("allgather", 3, 1, true)
	b.tb(0, 1, -1, 0, ir.Send)
	b.tb(1, 2, 0, 0, ir.RecvReduceCopySend)
	b.tb(2, -1, 1, 0, ir.Recv)
	path, _ := top.Path(0, 1)
	latency := float64(path.Latency)
	got := timeOf(t, b.p, top, Knobs{Bytes: 3 << 20, Protocol: topologies.LL})
	near(t, "forwarding", got, 4*float64(1<<20)/10e3+latency, 1e-5)
}

// Many messages that wait for a NIC do not keep memory from one that does not.
func TestNetworkTakesNoMemoryItCannotUse(t *testing.T) {
	top := system(t, "dgx-a100", 2)
	top.Protocols = ideal(1 << 40)
	for i := range top.Ranks {
		top.Ranks[i].Memory = 400e9
	}
	b := build("allgather", 16, 1, true)
	b.tb(0, 1, -1, 0, ir.Send)
	b.tb(1, -1, 0, 0, ir.Recv)
	b.counts(2000)
	for ch := range 64 {
		b.tb(0, 8, -1, ch, ir.Send)
		b.tb(8, -1, 0, ch, ir.Recv)
	}
	got := timeOf(t, b.p, top, Knobs{Bytes: 16 << 20, Protocol: topologies.LL})
	near(t, "within the node", got, 2000*float64(1<<20)/(400e3/3), 1e-3)
}

// A memory faster than everything else adds no time.
func TestAmpleMemoryChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		program *ir.Program
		nodes   int
	}{
		{"ring", ringAllReduce(order(8), 8), 1},
		{"all pairs", allPairsAllReduce(8, 2), 1},
		{"all to all", directAllToAll(16), 2},
	} {
		none, ample := system(t, "dgx-a100", c.nodes), system(t, "dgx-a100", c.nodes)
		for i := range none.Ranks {
			none.Ranks[i].Memory, ample.Ranks[i].Memory = 0, 1e15
		}
		for _, proto := range topologies.AllProtocols {
			for bytes := int64(1024); bytes <= 1<<30; bytes *= 32 {
				k := Knobs{Bytes: bytes, Protocol: proto}
				near(t, c.name, timeOf(t, c.program, ample, k), timeOf(t, c.program, none, k), 1e-6)
			}
		}
	}
}

// spreadAllPairs is an all-pairs allreduce whose threadblocks divide the reductions:
// each reduces one piece of what all have received.
func spreadAllPairs(n, instances int) *ir.Program {
	b := build("allreduce", n, n*(n-1)*instances, true)
	for r := range n {
		for inst := range instances {
			var tbs []int
			var exchange []ir.Op
			for range n - 1 {
				exchange = append(exchange, ir.Send, ir.Recv)
			}
			for peer := range n {
				if peer != r {
					tbs = append(tbs, b.tb(r, peer, peer, inst, exchange...))
				}
			}
			g := &b.p.GPUs[r]
			received := len(exchange) - 1         // the step after which all pieces have come
			reduced := received + len(exchange)/2 // the step that ends a run
			for i, t := range tbs {
				steps := &g.Threadblocks[t].Steps
				for j := range n - 1 {
					*steps = append(*steps, ir.Step{Op: ir.Reduce, Count: 1, Src: ir.Loc{Buf: collective.Scratch, Off: int32(j*(n-1) + i)}})
				}
				for _, o := range exchange {
					*steps = append(*steps, ir.Step{Op: o, Count: 1})
				}
			}
			for _, t := range tbs {
				for _, other := range tbs {
					if other != t {
						b.wait(r, t, received+1, other, received)
						b.wait(r, t, reduced+1, other, reduced)
					}
				}
			}
		}
	}
	return b.p
}

// GC3 section 7.1.2: all pairs is faster than the ring at small sizes only. Because of
// its scratch buffers it reads and writes memory one and a half times as often.
func TestScratchCostsAllPairsLargeSizes(t *testing.T) {
	top, without := system(t, "dgx-a100", 1), system(t, "dgx-a100", 1)
	for i := range without.Ranks {
		without.Ranks[i].Memory = 0
	}
	best := func(top *topologies.Topology, bytes int64, programs ...*ir.Program) float64 {
		least := math.Inf(1)
		for _, p := range programs {
			for _, proto := range topologies.AllProtocols {
				least = min(least, timeOf(t, p, top, Knobs{Bytes: bytes, Protocol: proto}))
			}
		}
		return least
	}
	pairs := []*ir.Program{allPairsAllReduce(8, 1), allPairsAllReduce(8, 4), allPairsAllReduce(8, 8), spreadAllPairs(8, 6)}
	rings := []*ir.Program{ringAllReduce(order(8), 1), ringAllReduce(order(8), 16), ringAllReduce(order(8), 32)}
	for _, c := range []struct {
		bytes int64
		ahead bool
	}{{1 << 10, true}, {1 << 16, true}, {1 << 20, true}, {1 << 28, false}, {1 << 30, false}} {
		p, r := best(top, c.bytes, pairs...), best(top, c.bytes, rings...)
		if (p < r) != c.ahead {
			t.Errorf("%d bytes: all pairs %v us, ring %v us", c.bytes, p, r)
		}
		pFree, rFree := best(without, c.bytes, pairs...), best(without, c.bytes, rings...)
		if !c.ahead && p/pFree < 1.03*(r/rFree) {
			t.Errorf("%d bytes: memory slows all pairs from %v to %v us, the ring from %v to %v", c.bytes, pFree, p, rFree, r)
		}
		t.Logf("%d bytes: all pairs %v us (without memory %v), ring %v us (%v)", c.bytes, p, pFree, r, rFree)
	}
}

// The number of times that a byte of the buffer is read or written in its GPU's memory,
// counted by hand: a ring of 8 moves 2 x 7 eighths in and out of FIFOs, reads 7 operands, writes
// 8 results and reads one to send; all pairs also stages 7 eighths in scratch.
func TestMemoryIsCountedAsByHand(t *testing.T) {
	top := system(t, "dgx-a100", 1)
	for _, c := range []struct {
		name       string
		program    *ir.Program
		wire, data int64 // eighths
	}{
		{"ring", ringAllReduce(order(8), 1), 2 * 14, 7 + 8 + 1},
		{"all pairs", allPairsAllReduce(8, 1), 2 * 14, 7 + 7 + (8 + 1) + 7 + 7},
	} {
		p, err := Prepare(c.program, top)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.bounds.memories) != 1 {
			t.Fatalf("%s: memories %+v, want those of all 8 alike", c.name, p.bounds.memories)
		}
		if m := p.bounds.memories[0]; m.wire != c.wire || m.data != c.data {
			t.Errorf("%s: %d on the wire and %d of data, want %d and %d", c.name, m.wire, m.data, c.wire, c.data)
		}
		bytes := int64(1 << 30)
		k := Knobs{Bytes: bytes, Protocol: topologies.Simple}
		if least := float64(c.wire+c.data) / 8 * float64(bytes) / top.Ranks[0].Memory.PerMicro(); p.LowerBound(k) < least {
			t.Errorf("%s: bound %v us, memory alone takes %v", c.name, p.LowerBound(k), least)
		}
	}
}
