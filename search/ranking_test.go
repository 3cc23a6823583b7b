package search

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"testing"

	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/search/program"
)

// ranked is a sample of one draft in every some of those that fit on the GPUs.
type ranked struct {
	system     string
	nodes      int
	collective string
	every      int
}

// leastCorrelation is Spearman's at each size. Programs that are within 20 % of one another,
// as are most of those with several numbers of instances, stand in no certain order.
const leastCorrelation = 0.6

var rankings = []ranked{
	{"dgx-a100", 2, "allreduce", 15}, {"dgx-a100", 2, "allgather", 8}, {"dgx-a100", 2, "reducescatter", 8}, {"dgx-a100", 2, "alltoall", 2}, {"dgx-a100", 2, "broadcast", 8},
	{"perlmutter", 4, "allreduce", 9}, {"perlmutter", 4, "allgather", 6}, {"perlmutter", 4, "reducescatter", 6}, {"perlmutter", 4, "alltoall", 2}, {"perlmutter", 4, "broadcast", 8},
	{"frontier", 4, "allreduce", 9}, {"frontier", 4, "allgather", 5}, {"frontier", 4, "reducescatter", 6}, {"frontier", 2, "alltoall", 1}, {"frontier", 2, "broadcast", 6},
	{"dgx-h100", 2, "allreduce", 15}, {"dgx-h100", 2, "allgather", 8}, {"dgx-h100", 2, "reducescatter", 8}, {"dgx-h100", 2, "alltoall", 2}, {"dgx-h100", 2, "broadcast", 8},
}

// Estimates order drafts nearly as their simulated times do, with the best protocol and tile.
// The log says how many of the best estimates it takes to be within 2 % of the best time.
func TestEstimatesOrderDrafts(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG to simulate hundreds of drafts")
	}
	for _, row := range rankings {
		t.Run(fmt.Sprintf("%s on %d × %s", row.collective, row.nodes, row.system), func(t *testing.T) {
			eachOn(t, problem{row.system, row.nodes, row.collective, []int64{16 << 10}}, Options{Executor: "sim", Jobs: 2}, func(p *placement) {
				drafts := p.sampled(t, row.every)
				for _, bytes := range []int64{16 << 10, 1 << 20, 16 << 20, 256 << 20} {
					var estimates, times []float64
					for _, d := range drafts {
						estimates, times = append(estimates, p.Estimate(d.Draft, bytes)), append(times, p.fastest(t, d, bytes))
					}
					rho := spearman(estimates, times)
					t.Logf("%9d bytes: %d drafts, correlation %.2f, the best %d hold one within 2 %%", bytes, len(times), rho, neededFor(estimates, times, 1.02))
					if rho < leastCorrelation {
						t.Errorf("%d bytes: rank correlation %.2f: want %.2f", bytes, rho, leastCorrelation)
					}
				}
			})
		})
	}
}

// simulable is a draft with its compiled program.
type simulable struct {
	*program.Draft
	*sim.Prepared
	slots int // that a protocol must not have fewer of
}

// sampled compiles one in every some of the drafts that fit.
func (p *placement) sampled(t *testing.T, every int) (some []simulable) {
	t.Helper()
	n := 0
	for _, f := range p.asked {
		for _, d := range p.draftsOf(t, true, f.Name) {
			if p.Unfitting(d) != nil {
				continue
			}
			if n++; n%every != 0 {
				continue
			}
			b, err := p.Build(t.Context(), d)
			if err != nil || b.Refusal != nil {
				continue
			}
			prepared, err := sim.Prepare(b.Program, p.problem.Topology)
			if err != nil {
				t.Fatal(err)
			}
			some = append(some, simulable{d, prepared, b.Slots})
		}
	}
	return some
}

// fastest is a draft's time in µs with its best protocol and tile.
func (p *placement) fastest(t *testing.T, d simulable, bytes int64) float64 {
	t.Helper()
	best := math.Inf(1)
	for _, proto := range p.Protocols("") {
		c := &p.problem.Topology.Protocols[proto]
		if d.slots > c.Slots {
			continue
		}
		tiles := []int64{int64(c.Tile)}
		for _, tile := range c.Tiles {
			tiles = append(tiles, int64(tile))
		}
		for _, tile := range tiles {
			k := sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: tile}
			if d.LowerBound(k) >= best {
				continue
			}
			if r, err := d.Run(k); err == nil {
				best = min(best, r.TimeUS)
			}
		}
	}
	if math.IsInf(best, 1) {
		t.Fatalf("%s: runs with no protocol", d.Draft)
	}
	return best
}

// spearman is the correlation of the ranks of two samples; equals share a rank.
func spearman(a, b []float64) float64 {
	x, y := ranksOf(a), ranksOf(b)
	mean := float64(len(x)-1) / 2
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mean) * (y[i] - mean)
		xx += (x[i] - mean) * (x[i] - mean)
		yy += (y[i] - mean) * (y[i] - mean)
	}
	return xy / math.Sqrt(xx*yy)
}

func ranksOf(v []float64) []float64 {
	order := rising(v)
	ranks := make([]float64, len(v))
	for i := 0; i < len(order); {
		end := i
		for end < len(order) && v[order[end]] == v[order[i]] {
			end++
		}
		for _, at := range order[i:end] {
			ranks[at] = float64(i+end-1) / 2
		}
		i = end
	}
	return ranks
}

func rising(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return v[order[i]] < v[order[j]] })
	return order
}

// neededFor is how many drafts, by rising estimate, hold one within a factor of the best time.
func neededFor(estimates, times []float64, factor float64) int {
	best := slices.Min(times)
	for n, i := range rising(estimates) {
		if times[i] <= factor*best {
			return n + 1
		}
	}
	return len(times)
}
