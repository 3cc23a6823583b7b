package search

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/program"
)

// A whole search of a few nodes tells which program is best at each size; of
// an eighth of the operations, chosen by what they promise, the best must be nearly
// as good.
func TestPromisingProgramsAreGood(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for whole searches")
	}
	for _, row := range choices {
		t.Run(fmt.Sprintf("%s on %d × %s", row.collective, row.nodes, row.system), func(t *testing.T) {
			sizes, err := Sizes(1<<10, 256<<20, 8)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Executor: "sim", Jobs: 2}
			pr := problem{row.system, row.nodes, row.collective, sizes}
			p, source := pr.resolve(t)
			c, err := results.Create(t.TempDir(), PlanOf(p, o, source, Settings{Version: "test", ExecutorName: "sim", Iters: 1, Seed: 1}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Run(context.Background(), p, o, c, Effort{Jobs: 2, Executors: executor.NewPool(func() (executor.Executor, error) { return sim.New(), nil })}); err != nil {
				t.Fatal(err)
			}
			best := map[int64]map[string]float64{} // by size and draft, over protocols and tiles
			for _, trial := range c.Trials() {
				if best[trial.Bytes] == nil {
					best[trial.Bytes] = map[string]float64{}
				}
				at, name := best[trial.Bytes], keyOf(t, trial.Algorithm, trial.Parameters, trial.Instances)
				if known, ok := at[name]; trial.Outcome == results.OK && (!ok || trial.TimesUS[0] < known) {
					at[name] = trial.TimesUS[0]
				}
			}
			c.Close()

			eachOn(t, pr, o, func(p *placement) {
				var drafts []*program.Draft
				for _, f := range p.asked {
					for _, d := range p.draftsOf(t, true, f.Name) {
						if p.Unfitting(d) == nil {
							drafts = append(drafts, d)
						}
					}
				}
				times := make([][]float64, len(sizes))
				for s, bytes := range sizes {
					for _, d := range drafts {
						times[s] = append(times[s], p.Estimate(d, bytes))
					}
				}
				taken := choose(drafts, times, program.OperationsOf(drafts)/8)
				for _, bytes := range sizes {
					winner, chosen := math.Inf(1), math.Inf(1)
					for i, d := range drafts {
						us, ok := best[bytes][keyOf(t, d.Name, program.Set(d.Params), d.Instances)]
						if !ok {
							continue
						}
						winner = min(winner, us)
						if slices.Contains(taken, i) {
							chosen = min(chosen, us)
						}
					}
					t.Logf("%s, %d bytes: %.2f us of all programs, %.2f of those chosen", pr, bytes, winner, chosen)
					if math.IsInf(winner, 1) || chosen > winner*row.worse {
						t.Errorf("%s, %d bytes: the best chosen takes %.2f us, of all %.2f", pr, bytes, chosen, winner)
					}
				}
			})
		})
	}
}

// keyOf tells the candidates of a search apart, in its drafts and in its journal.
func keyOf(t *testing.T, algorithm string, params map[string]any, instances int) string {
	t.Helper()
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s ×%d", algorithm, text, instances)
}

// choice is a collective on a system of n nodes, and the largest ratio allowed of the best
// chosen program's time to that of the best of all.
type choice struct {
	system     string
	collective string
	nodes      int
	worse      float64
}

var choices = []choice{
	// Five collectives on four systems are to be within 2 %; docs/measurements/search.md
	// says why the others are not.
	{"dgx-a100", "allreduce", 2, 1.02},
	{"dgx-a100", "allgather", 2, 1.02},
	{"dgx-a100", "reducescatter", 2, 1.02},
	{"dgx-a100", "alltoall", 2, 1.02},
	{"dgx-a100", "broadcast", 2, 1.04},
	{"perlmutter", "allreduce", 4, 1.14},
	{"perlmutter", "allgather", 4, 1.02},
	{"perlmutter", "reducescatter", 4, 1.02},
	{"perlmutter", "alltoall", 4, 1.02},
	{"perlmutter", "broadcast", 4, 1.02},
	{"frontier", "allreduce", 4, 1.02},
	{"frontier", "allgather", 4, 1.02},
	{"frontier", "reducescatter", 4, 1.02},
	{"frontier", "alltoall", 2, 1.15},
	{"frontier", "broadcast", 2, 1.02},
	{"dgx-h100", "allreduce", 2, 1.02},
	{"dgx-h100", "allgather", 2, 1.02},
	{"dgx-h100", "reducescatter", 2, 1.02},
	{"dgx-h100", "alltoall", 2, 1.02},
	{"dgx-h100", "broadcast", 2, 1.06},

	{"dgx-a100", "allreduce", 4, 1.1},
	{"dgx-a100", "allgather", 4, 1.1},
	{"dgx-a100", "reducescatter", 4, 1.1},
	{"dgx-a100", "alltoall", 4, 1.1},
	{"dgx-a100", "broadcast", 4, 1.1},
	{"dgx-a100", "reduce", 2, 1.1},
	{"polaris", "allreduce", 4, 1.1},
	{"polaris", "allgather", 4, 1.1},
	{"polaris", "alltoall", 4, 1.1},
	{"mi300x", "allreduce", 1, 1.1},
	// Of many programs that are put at much the same, those of more instances are up to
	// twice as slow.
	{"mi300x", "reducescatter", 1, 1.2},
}
