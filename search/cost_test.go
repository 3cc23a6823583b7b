package search

import (
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/topologies"
)

// What is summed up of textbook routings on a DGX A100, where every link has 300 GB/s
// and all messages take one path.
func TestCostSummaries(t *testing.T) {
	for _, c := range []struct {
		family string
		params script.Params
		nodes  int
		want   costSummary // critical paths by messages, those that are stored or queued, sums, local operations, chunks
		edge   float64     // chunks over the busiest edge
	}{
		// 7 steps of reducing, 7 of copying, each sending on what came; 14 chunks over
		// every link, by one connection. Large ones take turns there: 13 have gone whole
		// before the last.
		{"ring", script.Params{"rings": 1, "channels": 1}, 1,
			costSummary{whole: true, loop: 8, calls: 14, connected: 14, connections: 1, channels: 1, criticalPaths: [2]criticalPath{{messages: 14, chunks: 1, forwarded: 13}, {messages: 8, queued: 6, chunks: 13, forwarded: 1}}}, 14},
		// The same chunks by turns on two channels: a phase leaves one of its 8 out at
		// every link, the two phases one of either channel.
		{"ring", script.Params{"rings": 1, "channels": 2}, 1,
			costSummary{whole: true, loop: 8, calls: 7, connected: 7, connections: 2, channels: 2, criticalPaths: [2]criticalPath{{messages: 14, chunks: 1, forwarded: 13}, {messages: 6, queued: 4, chunks: 9, forwarded: 1}}}, 14},
		// Halves, quarters and eighths, and back: but for the eighth, which is sent back
		// as it came, each message is a part of what the steps before it brought
		// together. Each peer has a connection of its own.
		{"recursive-halving-doubling", script.Params{"first": "near"}, 1,
			costSummary{whole: true, loop: 8, calls: 2, connected: 8, connections: 3, channels: 1, criticalPaths: [2]criticalPath{{messages: 6, stored: 4, chunks: 13, forwarded: 1}, {messages: 6, stored: 4, chunks: 13, forwarded: 1}}}, 14},
		// Three sums, each forwarded as it arrives. The compiler eliminates the copies that
		// they are reduced into. Of large ones, the sums weigh more than the messages.
		{"recursive-doubling", nil, 1,
			costSummary{whole: true, loop: 1, calls: 1, connected: 1, connections: 3, channels: 1, criticalPaths: [2]criticalPath{{messages: 3, chunks: 1, forwarded: 2}, {messages: 1, sums: 2, chunks: 1}}}, 3},
	} {
		e := onDGX(t, c.nodes, Options{})
		f := family(t, c.family)
		program, err := e.trace(f, c.params)
		if err != nil {
			t.Fatal(err)
		}
		got := summarize(program, e.problem.Topology)
		rate := e.problem.Topology.Edges[0].Bandwidth.PerMicro()
		if got.loop != c.want.loop || got.calls != c.want.calls || got.connected != c.want.connected || got.connections != c.want.connections || got.channels != c.want.channels {
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
		e := onDGX(t, 2, Options{})
		e.problem.Collective, e.problem.InPlace = c.collective, c.collective == "allreduce"
		program, err := e.trace(familyFor(t, c.family, c.collective), c.params)
		if err != nil {
			t.Fatal(err)
		}
		m := summarize(program, e.problem.Topology)
		path, _ := e.problem.Topology.Path(7, 8)
		c.want.wire = 1 / e.problem.Topology.Edges[path.Edges[len(path.Edges)-1]].Bandwidth.PerMicro()
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
		e := onDGX(t, nodes, Options{})
		all, asked, err := e.options.check(e.problem)
		if err != nil || len(asked) > len(all) {
			t.Fatal(err)
		}
		estimated := 0
		for _, f := range asked {
			grid, err := f.GridFor(e.machine, e.request(), nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, params := range grid {
				program, err := e.trace(f, params)
				if err != nil {
					continue // a family may say so only as it runs
				}
				m, alone := summarize(program, e.problem.Topology), summarizeMessages(program, e.problem.Topology)
				for proto := range e.problem.Topology.Protocols {
					c := &e.problem.Topology.Protocols[proto]
					for _, bytes := range []int64{1 << 10, 1 << 20, 1 << 30} {
						for _, n := range []int{1, 4} {
							us := m.estimate(c, bytes, n)
							least := m.edge * float64(bytes) / float64(m.loop) * c.Wire
							if !(us >= least) || us < float64(c.Launch) || math.IsInf(us, 0) {
								t.Errorf("%s %v ×%d, %s, %d bytes: %g us, the busiest edge alone %g", f.Name, params, n, topologies.AllProtocols[proto], bytes, us, least)
							}
							if part := alone.estimate(c, bytes, n); part > us {
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
