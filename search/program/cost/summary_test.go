package cost

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// What is summed up of textbook routings on a DGX A100, where every link has 300 GB/s
// and all messages take one path.
func TestCostSummaries(t *testing.T) {
	for _, c := range []struct {
		family string
		params script.Params
		nodes  int
		want   Summary // critical paths by messages, those that are stored or queued, sums, local operations, chunks
		edge   float64 // chunks over the busiest edge
	}{
		// 7 steps of reducing, 7 of copying, each sending on what came; 14 chunks over
		// every link, by one connection. Large ones take turns there: 13 have gone whole
		// before the last.
		{"ring", script.Params{"rings": 1, "channels": 1}, 1,
			Summary{Whole: true, Loop: 8, calls: 14, connected: 14, Connections: 1, Channels: 1, criticalPaths: [2]criticalPath{{messages: 14, chunks: 1, forwarded: 13}, {messages: 8, queued: 6, chunks: 13, forwarded: 1}}}, 14},
		// The same chunks by turns on two Channels: a phase leaves one of its 8 out at
		// every link, the two phases one of either channel.
		{"ring", script.Params{"rings": 1, "channels": 2}, 1,
			Summary{Whole: true, Loop: 8, calls: 7, connected: 7, Connections: 2, Channels: 2, criticalPaths: [2]criticalPath{{messages: 14, chunks: 1, forwarded: 13}, {messages: 6, queued: 4, chunks: 9, forwarded: 1}}}, 14},
		// Halves, quarters and eighths, and back: but for the eighth, which is sent back
		// as it came, each message is a part of what the steps before it brought
		// together. Each peer has a connection of its own.
		{"recursive-halving-doubling", script.Params{"first": "near"}, 1,
			Summary{Whole: true, Loop: 8, calls: 2, connected: 8, Connections: 3, Channels: 1, criticalPaths: [2]criticalPath{{messages: 6, stored: 4, chunks: 13, forwarded: 1}, {messages: 6, stored: 4, chunks: 13, forwarded: 1}}}, 14},
		// Three sums, each forwarded as it arrives. The compiler eliminates the copies that
		// they are reduced into. Of large ones, the sums weigh more than the messages.
		{"recursive-doubling", nil, 1,
			Summary{Whole: true, Loop: 1, calls: 1, connected: 1, Connections: 3, Channels: 1, criticalPaths: [2]criticalPath{{messages: 3, chunks: 1, forwarded: 2}, {messages: 1, sums: 2, chunks: 1}}}, 3},
	} {
		top := topotest.Resolve(t, "dgx-a100", c.nodes)
		got := Summarize(traced(t, top, "allreduce", c.family, c.params), top)
		rate := top.Edges[0].Bandwidth.PerMicro()
		if got.Loop != c.want.Loop || got.calls != c.want.calls || got.connected != c.want.connected || got.Connections != c.want.Connections || got.Channels != c.want.Channels {
			t.Errorf("%s %v: %+v, want %+v", c.family, c.params, got, c.want)
		}
		if math.Abs(got.edge*rate-c.edge) > 1e-9 {
			t.Errorf("%s %v: %g chunks over the busiest edge, want %g", c.family, c.params, got.edge*rate, c.edge)
		}
		for i, want := range c.want.criticalPaths {
			if g := got.criticalPaths[i]; g.messages != want.messages || g.stored != want.stored || g.queued != want.queued || g.sums != want.sums ||
				g.local != want.local || g.net != want.net || g.chunks != want.chunks || g.forwarded != want.forwarded {
				t.Errorf("%s %v: chain %+v, want %+v", c.family, c.params, g, want)
			}
		}
	}
}

// What crosses between two DGX A100: of a ring one GPU's one connection, of an all-to-all
// each GPU's to the 8 of the other node.
func TestCrossings(t *testing.T) {
	for _, c := range []struct {
		collective, family string
		params             script.Params
		want               crossing
		crossings          int32 // on the critical path with small messages
	}{
		{"allreduce", "ring", script.Params{"rings": 1, "channels": 1}, crossing{starts: 1, calls: 30, chunks: 30}, 4},
		{"alltoall", "direct", nil, crossing{starts: 8, calls: 1, chunks: 1}, 1},
	} {
		top := topotest.Resolve(t, "dgx-a100", 2)
		m := Summarize(traced(t, top, c.collective, c.family, c.params), top)
		path, _ := top.Path(7, 8)
		c.want.wire = 1 / top.Edges[path.Edges[len(path.Edges)-1]].Bandwidth.PerMicro()
		if c.want.latency = float64(path.Latency); m.network != c.want || m.criticalPaths[0].crossings != c.crossings {
			t.Errorf("%s: %+v, %d on the critical path; want %+v, %d", c.family, m.network, m.criticalPaths[0].crossings, c.want, c.crossings)
		}
	}
}

// Whatever a family does with whatever parameters, there is an estimate for it at
// every size and with every protocol, and more bytes over the same links never take
// less than what their busiest edge does. What the messages alone let one expect is at
// most that.
func TestEstimates(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		top, estimated := topotest.Resolve(t, "dgx-a100", nodes), 0
		machine, request := machineOf(top), script.Request{Collective: "allreduce", InPlace: true, MaxPeers: top.MinSMs()}
		for _, f := range templates.ForCollective(templates.Builtin(), "allreduce") {
			grid, err := f.GridFor(machine, request, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, params := range grid {
				p, err := f.Trace(machine, request, params)
				if err != nil {
					continue // a family may say so only as it runs
				}
				m, alone := Summarize(p, top), Messages(p, top)
				for proto := range top.Protocols {
					c := &top.Protocols[proto]
					for _, bytes := range []int64{1 << 10, 1 << 20, 1 << 30} {
						for _, n := range []int{1, 4} {
							us := m.Estimate(c, bytes, n)
							least := m.edge * float64(bytes) / float64(m.Loop) * c.Wire
							if !(us >= least) || us < float64(c.Launch) || math.IsInf(us, 0) {
								t.Errorf("%s %v ×%d, %s, %d bytes: %g us, the busiest edge alone %g", f.Name, params, n, topologies.AllProtocols[proto], bytes, us, least)
							}
							if part := alone.Estimate(c, bytes, n); part > us {
								t.Errorf("%s %v ×%d, %s, %d bytes: %g us, the messages alone %g", f.Name, params, n, topologies.AllProtocols[proto], bytes, us, part)
							}
							estimated++
						}
					}
				}
			}
		}
		if estimated < 500 {
			t.Errorf("%d nodes: %d estimates, want those of all families", nodes, estimated)
		}
	}
}

// machineOf is the view of a topology that templates get.
func machineOf(t *topologies.Topology) script.Machine {
	gpus := make([]int, t.Nodes)
	for n := range gpus {
		gpus[n] = len(t.NodeRanks(n))
	}
	return script.NewMachine(gpus, t.Linked)
}

// traced is a family's program.
func traced(t testing.TB, top *topologies.Topology, coll, family string, params script.Params) *lang.Program {
	t.Helper()
	f, err := templates.Find(templates.Builtin(), family, coll)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Trace(machineOf(top), script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}, params)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is kept of a summary comes back as it was.
func TestSummariesAreKept(t *testing.T) {
	top := topotest.Resolve(t, "dgx-a100", 2)
	want := Summarize(traced(t, top, "allreduce", "multi-level", script.Params{"cross": "recursive", "local": "all-pairs", "groups": 1, "top": "recursive", "shuffle": true}), top)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Summary
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got != *want {
		t.Errorf("%s: %+v, want %+v", text, got, want)
	}
	fields := reflect.TypeFor[Summary]().NumField() - 2 + reflect.TypeFor[crossing]().NumField() + len(chainChunks)*reflect.TypeFor[criticalPath]().NumField()
	if n := len(want.numbers()); n != fields {
		t.Errorf("%d numbers are kept of %d", n, fields)
	}
	if err := json.Unmarshal([]byte(`[1,2]`), &got); err == nil {
		t.Error("a cost of two numbers is taken for one")
	}
}

// BenchmarkSummarize sums up programs without copies within a rank, and with many.
func BenchmarkSummarize(b *testing.B) {
	for _, c := range []struct {
		family     string
		collective string
		params     script.Params
	}{
		{"ring", "allreduce", script.Params{"rings": 1, "channels": 1}},
		{"multi-level", "reducescatter", script.Params{"cross": "recursive", "local": "all-pairs", "groups": 1, "top": "recursive", "shuffle": true}},
		{"bruck", "alltoall", script.Params{"radix": 2}},
	} {
		b.Run(c.family, func(b *testing.B) {
			top := topotest.Resolve(b, "dgx-a100", 32)
			p := traced(b, top, c.collective, c.family, c.params)
			defer func() { b.ReportMetric(float64(len(p.Ops)), "operations") }()
			for b.Loop() {
				Summarize(p, top)
			}
		})
	}
}
