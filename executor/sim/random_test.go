package sim

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// randomProgram returns a program that cannot deadlock: chains of forwarded messages are
// added in one global order, each at most once to a threadblock, and steps depend only
// on earlier ones. (A step may be more calls than there are slots: all steps of a chain
// run at the same time.)
func randomProgram(t *rapid.T, n int) *ir.Program {
	chunks := rapid.IntRange(1, 4).Draw(t, "chunks")
	b := build("allreduce", n, chunks*n, true)
	type end struct{ rank, send, recv, channel int }
	at := map[end]int{}
	type used struct{ rank, peer, channel, way int }
	owner := map[used]int{} // connection ends → threadblock
	tb := func(rank, send, recv, channel int) (int, bool) {
		key := end{rank, send, recv, channel}
		if i, ok := at[key]; ok {
			return i, true
		}
		for _, u := range []used{{rank, send, channel, 0}, {rank, recv, channel, 1}} {
			if _, taken := owner[u]; taken && u.peer >= 0 {
				return 0, false
			}
		}
		i := b.tb(rank, send, recv, channel)
		for _, u := range []used{{rank, send, channel, 0}, {rank, recv, channel, 1}} {
			if u.peer >= 0 {
				owner[u] = i
			}
		}
		at[key] = i
		return i, true
	}
	var before map[[2]int]int // steps by rank and threadblock when the chain began
	add := func(rank, i int, s ir.Step) {
		g := &b.p.GPUs[rank]
		// Sometimes wait for what another threadblock has done last.
		if others := len(g.Threadblocks); others > 1 && rapid.IntRange(0, 3).Draw(t, "dep") == 0 {
			j := rapid.IntRange(0, others-1).Draw(t, "on")
			if n := before[[2]int{rank, j}]; j != i && n > 0 {
				g.Threadblocks[j].Steps[n-1].HasDep = true
				d := ir.Dep{TB: int32(j), Step: int32(n - 1)}
				if rapid.Bool().Draw(t, "nop") {
					g.Threadblocks[i].Steps = append(g.Threadblocks[i].Steps, ir.Step{Op: ir.Nop, Deps: []ir.Dep{d}})
				} else {
					s.Deps = append(s.Deps, d)
				}
			}
		}
		g.Threadblocks[i].Steps = append(g.Threadblocks[i].Steps, s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "copies") { // at a pace of their own
		r := rapid.IntRange(0, n-1).Draw(t, "copies at")
		i := b.tb(r, -1, -1, 0, ir.Copy)
		b.p.GPUs[r].Threadblocks[i].Steps[0].Count = int32(rapid.IntRange(1, 2*chunks).Draw(t, "copied"))
	}
	for range rapid.IntRange(1, 12).Draw(t, "chains") {
		length := rapid.IntRange(1, 4).Draw(t, "length")
		channel := rapid.IntRange(0, 2).Draw(t, "channel")
		count := int32(rapid.IntRange(1, 2*chunks).Draw(t, "count"))
		walk := []int{rapid.IntRange(0, n-1).Draw(t, "from")}
		for range length {
			step := rapid.IntRange(1, n-1).Draw(t, "step")
			walk = append(walk, (walk[len(walk)-1]+step)%n)
		}
		// All threadblocks of the chain first, so that it is there or not.
		ids := make([]int, len(walk))
		once := map[[2]int]bool{}
		ok := true
		for i, r := range walk {
			send, recv := -1, -1
			if i > 0 {
				recv = walk[i-1]
			}
			if i < length {
				send = walk[i+1]
			}
			var fits bool
			if ids[i], fits = tb(r, send, recv, channel); !fits || once[[2]int{r, ids[i]}] {
				ok = false
				break
			}
			once[[2]int{r, ids[i]}] = true
		}
		if !ok {
			continue
		}
		before = map[[2]int]int{}
		for r := range b.p.GPUs {
			for j := range b.p.GPUs[r].Threadblocks {
				before[[2]int{r, j}] = len(b.p.GPUs[r].Threadblocks[j].Steps)
			}
		}
		for i, r := range walk {
			o := ir.RecvCopySend
			switch {
			case i == 0:
				o = ir.Send
			case i == length:
				o = ir.Recv
			case rapid.Bool().Draw(t, "reduce"):
				o = ir.RecvReduceCopySend
			}
			add(r, ids[i], ir.Step{Op: o, Count: count})
			if rapid.IntRange(0, 4).Draw(t, "local") == 0 {
				add(r, ids[i], ir.Step{Op: ir.Reduce, Count: count})
			}
		}
	}
	return b.p
}

func randomKnobs(t *rapid.T, on *topologies.Topology) Knobs {
	proto := rapid.SampledFrom(on.HasProtocols()).Draw(t, "protocol")
	return Knobs{
		Bytes:     int64(math.Exp2(rapid.Float64Range(0, 26).Draw(t, "log size"))),
		Protocol:  proto,
		TileBytes: rapid.SampledFrom([]int64{0, 4096, 16384, 100000}).Draw(t, "tile"),
	}
}

func randomSystem(t *rapid.T, top testing.TB) *topologies.Topology {
	args := []struct {
		name  string
		nodes int
	}{{"dgx-a100", 1}, {"mi300x", 1}, {"dgx-a100", 2}, {"fullmesh:5", 1}, {"hub:6", 1}}
	a := args[rapid.IntRange(0, len(args)-1).Draw(t, "system")]
	system := system(top, a.name, a.nodes)
	if memory := rapid.SampledFrom([]units.Bandwidth{-1, 0, 20e9, 200e9, 2000e9}).Draw(t, "memory"); memory >= 0 {
		for i := range system.Ranks {
			system.Ranks[i].Memory = memory
		}
		if rapid.Bool().Draw(t, "one without limit") {
			system.Ranks[0].Memory = 0
		}
	}
	return system
}

func TestBoundIsNeverAbove(t *testing.T) {
	tight := 0.0
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		top := randomSystem(rt, t)
		p := randomProgram(rt, len(top.Ranks))
		prepared, err := Prepare(p, top)
		if err != nil {
			rt.Fatal(err)
		}
		for range 3 {
			k := randomKnobs(rt, top)
			r, err := prepared.Run(k)
			if err != nil {
				rt.Fatal(err)
			}
			bound := prepared.LowerBound(k)
			if bound > r.TimeUS || bound <= 0 {
				rt.Fatalf("%+v: bound %v us, run %v us (%v)", k, bound, r.TimeUS, r.Method)
			}
			tight += bound / r.TimeUS
			runs++
		}
	})
	t.Logf("bound / run: mean %.3f over %d runs", tight/float64(runs), runs)
}

// permuted returns a program with other rank numbers, and with the threadblocks and
// channels of each rank in reverse order.
func permuted(p *ir.Program, of []int) *ir.Program {
	out := *p
	out.GPUs = make([]ir.GPU, len(p.GPUs))
	channels := p.Channels()
	to := func(r int) int {
		if r < 0 {
			return r
		}
		return of[r]
	}
	for r, g := range p.GPUs {
		n := len(g.Threadblocks)
		tbs := make([]ir.Threadblock, n)
		for i, tb := range g.Threadblocks {
			tb.Send, tb.Recv, tb.Channel = to(tb.Send), to(tb.Recv), channels-1-tb.Channel
			steps := make([]ir.Step, len(tb.Steps))
			copy(steps, tb.Steps)
			for s := range steps {
				deps := make([]ir.Dep, len(steps[s].Deps))
				for d, dep := range steps[s].Deps {
					deps[d] = ir.Dep{TB: int32(n-1) - dep.TB, Step: dep.Step}
				}
				steps[s].Deps = deps
			}
			tb.Steps = steps
			tbs[n-1-i] = tb
		}
		out.GPUs[of[r]] = ir.GPU{Scratch: g.Scratch, Threadblocks: tbs}
	}
	return &out
}

// If all ranks are equivalent, renaming them does not change the time.
func TestRenamingChangesNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := system(t, "dgx-a100", 1)
		slower := rapid.SampledFrom([]units.Bandwidth{1, 10, 50}).Draw(rt, "slower memory")
		for i := range top.Ranks {
			top.Ranks[i].Memory /= slower
		}
		p := randomProgram(rt, 8)
		of := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "permutation"))).Perm(8)
		k := randomKnobs(rt, top)
		a, err := Run(p, top, k)
		if err != nil {
			rt.Fatal(err)
		}
		b, err := Run(permuted(p, of), top, k)
		if err != nil {
			rt.Fatal(err)
		}
		if math.Abs(a.TimeUS-b.TimeUS) > 1e-6*a.TimeUS {
			rt.Fatalf("%+v: %v us (%v), renamed %v us (%v)", k, a.TimeUS, a.Method, b.TimeUS, b.Method)
		}
	})
}

// faster returns the topology with twice the bandwidth on every edge.
func faster(top *topologies.Topology) *topologies.Topology {
	out := &topologies.Topology{
		Name: top.Name, Nodes: top.Nodes, Ranks: top.Ranks, Vertices: top.Vertices,
		Runtime: top.Runtime, Protocols: top.Protocols,
	}
	out.Edges = append(out.Edges, top.Edges...)
	for i := range out.Edges {
		out.Edges[i].Bandwidth *= 2
	}
	return out
}

// Faster links never make a symmetric program slower. For others they may: a message
// that arrives earlier can delay a more urgent one, as in any schedule without
// lookahead.
func TestMoreIsNotSlower(t *testing.T) {
	for _, c := range []struct {
		name    string
		program *ir.Program
		on      string
		nodes   int
	}{
		{"ring", ringAllReduce(order(8), 4), "dgx-a100", 1},
		{"ring of 24", ringAllReduce(order(8), 24), "dgx-a100", 1},
		{"all pairs", allPairsAllReduce(8, 2), "dgx-a100", 1},
		{"two nodes", ringAllReduce(order(16), 4), "dgx-a100", 2},
		{"all to all", directAllToAll(16), "dgx-a100", 2},
		{"mesh", allPairsAllGather(8, 4), "mi300x", 1},
	} {
		top := system(t, c.on, c.nodes)
		wide := faster(top)
		deep := faster(top)
		copy(deep.Edges, top.Edges)
		roomy := faster(top)
		copy(roomy.Edges, top.Edges)
		roomy.Ranks = slices.Clone(top.Ranks)
		for i := range roomy.Ranks {
			roomy.Ranks[i].Memory *= 2
		}
		for i := range deep.Protocols {
			deep.Protocols[i].Slots *= 2
		}
		for _, proto := range top.HasProtocols() {
			for bytes := int64(1024); bytes <= 256<<20; bytes *= 8 {
				k := Knobs{Bytes: bytes, Protocol: proto}
				now := timeOf(t, c.program, top, k)
				if got := timeOf(t, c.program, wide, k); got > now*(1+1e-6) {
					t.Errorf("%s %v %d: %v us, with twice the bandwidth %v", c.name, proto, bytes, now, got)
				}
				if got := timeOf(t, c.program, roomy, k); got > now*(1+1e-3) {
					t.Errorf("%s %v %d: %v us, with twice the memory's rate %v", c.name, proto, bytes, now, got)
				}
				if got := timeOf(t, c.program, deep, k); got > now*(1+1e-3) {
					t.Errorf("%s %v %d: %v us, with twice the slots %v", c.name, proto, bytes, now, got)
				}
			}
		}
	}
}
