package cost_test

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestMain lets the test binary be the solvers' worker.
func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

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
			top := topotest.Resolve(t, c.system, c.nodes)
			b := program.New(program.Target{Call: collective.Call{Collective: c.collective, Op: "sum", DType: "f32"}, Topology: top, InPlace: collective.DefaultInPlace(c.collective)}, program.Options{})
			defer b.Close()
			var drafts []*program.Draft
			var programs []*sim.Prepared
			for _, one := range c.drafts {
				d := draftOf(t, b, one.family, one.params, one.instances)
				made, err := b.Build(t.Context(), d)
				if err != nil || made.Refusal != nil {
					t.Fatalf("%s: %+v, %v", d, made.Refusal, err)
				}
				p, err := sim.Prepare(made.Program, top)
				if err != nil {
					t.Fatal(err)
				}
				drafts, programs = append(drafts, d), append(programs, p)
			}
			pairs, right, rows, worse := 0, 0, 0, 0.0
			for _, bytes := range []int64{4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20} {
				for _, proto := range []topologies.Proto{topologies.LL, topologies.Simple} {
					knobs := sim.Knobs{Bytes: bytes, Protocol: proto}
					protocol := &top.Protocols[proto]
					simulated, estimated := make([]float64, len(drafts)), make([]float64, len(drafts))
					first, best := 0, math.Inf(1)
					for i, d := range drafts {
						r, err := programs[i].Run(knobs)
						if err != nil {
							t.Fatal(err)
						}
						simulated[i] = r.TimeUS
						estimated[i] = d.Routing.Cost().Tiled(protocol, float64(protocol.Tile), bytes, float64(d.Instances))
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

// draftOf is a draft with its summary: of a family with some of its parameters, or the first of its
// grid.
func draftOf(t *testing.T, b *program.Builder, name string, params script.Params, instances int) *program.Draft {
	t.Helper()
	f, err := templates.Find(templates.Builtin(), name, b.Target().Collective)
	if err != nil {
		t.Fatal(err)
	}
	fixed := map[string]string{}
	for name, v := range params {
		fixed[name] = script.FormatValue(v)
	}
	d, why, err := b.Only(t.Context(), f, fixed, instances, func(_ *templates.Family, grid []script.Params) script.Params { return grid[0] })
	if err != nil || d == nil {
		t.Fatalf("%s applies with none of its parameters: %s, %v", name, why, err)
	}
	if err := b.Summarize(t.Context(), []*program.Draft{d}, true); err != nil {
		t.Fatal(err)
	}
	return d
}
