package search

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// TestEstimatesOrderLikeTheSimulator: over networks that start connections one after
// another, limit each, or ask before large messages, estimates put programs in the
// simulator's order. Pairs within 10 % of each other do not count.
func TestEstimatesOrderLikeTheSimulator(t *testing.T) {
	wide := func(rings int) script.Params { return script.Params{"rings": rings, "channels": 4} }
	trees := func(n int) script.Params { return script.Params{"trees": n, "pieces": 4} }
	type candidate struct {
		family    string
		params    script.Params // nil: the first of the family's grid
		instances int
	}
	for _, c := range []struct {
		system, collective string
		nodes              int
		drafts             []candidate
		right              float64 // share of the pairs
		worse              float64 // of the first by estimates to the best, in the geometric mean
	}{
		{"dgx-a100", "alltoall", 4, []candidate{{"direct", nil, 1}, {"direct", nil, 2}, {"two-step", nil, 1}, {"two-step", nil, 4}, {"bruck", nil, 1}}, 0.95, 1.05},
		{"polaris", "alltoall", 8, []candidate{{"direct", nil, 1}, {"two-step", nil, 1}, {"two-step", nil, 4}, {"bruck", nil, 1}}, 0.95, 1.05},
		{"polaris", "allgather", 8, []candidate{{"ring", nil, 1}, {"ring", wide(2), 4}, {"bruck", nil, 1}, {"all-pairs", nil, 1}}, 0.9, 1.1},
		{"polaris", "allreduce", 8, []candidate{{"ring", nil, 1}, {"ring", wide(2), 4}, {"double-binary-tree", nil, 1}, {"double-binary-tree", trees(2), 2}, {"hierarchical", nil, 1}, {"recursive-doubling", nil, 1}, {"recursive-halving-doubling", nil, 4}}, 0.92, 1.2},
		{"dgx-h100", "allgather", 4, []candidate{{"ring", nil, 1}, {"ring", wide(8), 1}, {"bruck", nil, 1}, {"all-pairs", nil, 1}}, 0.9, 1.05},
		{"dgx-h100", "allreduce", 4, []candidate{{"ring", nil, 1}, {"ring", wide(8), 1}, {"double-binary-tree", nil, 1}, {"double-binary-tree", trees(8), 2}, {"hierarchical", nil, 1}, {"recursive-doubling", nil, 1}}, 0.9, 1.1},
	} {
		t.Run(fmt.Sprintf("%s on %d × %s", c.collective, c.nodes, c.system), func(t *testing.T) {
			t.Parallel()
			e := on(t, c.system, c.nodes, Options{})
			e.problem.Collective, e.problem.InPlace = c.collective, collective.DefaultInPlace(c.collective)
			var drafts []*draft
			var programs []*sim.Prepared
			for _, one := range c.drafts {
				d := e.draftOf(t, one.family, one.params, one.instances)
				made, err := e.compile(context.Background(), d)
				if err != nil || made.refusal != nil {
					t.Fatalf("%s: %+v, %v", d, made.refusal, err)
				}
				p, err := sim.Prepare(made.program, e.problem.Topology)
				if err != nil {
					t.Fatal(err)
				}
				drafts, programs = append(drafts, d), append(programs, p)
			}
			pairs, right, rows, worse := 0, 0, 0, 0.0
			for _, bytes := range []int64{4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20} {
				for _, proto := range []topologies.Proto{topologies.LL, topologies.Simple} {
					knobs := sim.Knobs{Bytes: bytes, Protocol: proto}
					protocol := &e.problem.Topology.Protocols[proto]
					simulated, estimated := make([]float64, len(drafts)), make([]float64, len(drafts))
					first, best := 0, math.Inf(1)
					for i, d := range drafts {
						r, err := programs[i].Run(knobs)
						if err != nil {
							t.Fatal(err)
						}
						simulated[i] = r.TimeUS
						estimated[i] = d.routing.cost.tiled(protocol, float64(protocol.Tile), bytes, float64(d.instances))
						best = min(best, simulated[i])
						if estimated[i] < estimated[first] {
							first = i
						}
						for j := range i {
							if ratio := simulated[i] / simulated[j]; ratio > 1.1 || ratio < 1/1.1 {
								if pairs++; (ratio > 1) == (estimated[i] > estimated[j]) {
									right++
								}
							}
						}
					}
					rows++
					worse += math.Log(simulated[first] / best)
				}
			}
			got, mean := float64(right)/float64(pairs), math.Exp(worse/float64(rows))
			t.Logf("%d of %d pairs in order; the first is %.3f times as slow as the best", right, pairs, mean)
			if got < c.right || mean > c.worse {
				t.Errorf("%.2f of the pairs in order, want %.2f; the first is %.2f times as slow as the best, want %.2f", got, c.right, mean, c.worse)
			}
		})
	}
}

// draftOf is a draft with its summary.
func (e *enumeration) draftOf(t *testing.T, name string, params script.Params, instances int) *draft {
	t.Helper()
	f := familyFor(t, name, e.problem.Collective)
	if params == nil {
		grid, err := f.GridFor(e.machine, e.request(), nil, 1)
		if err != nil || len(grid) == 0 {
			t.Fatalf("%s applies with none of its parameters: %v", name, err)
		}
		params = grid[0]
	}
	params, err := f.Bind(set(params))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.route(f, params)
	if err != nil {
		t.Fatal(err)
	}
	r.cost = summarize(r.program, e.problem.Topology)
	return &draft{name: f.Name, params: set(params), routing: r, instances: instances}
}
