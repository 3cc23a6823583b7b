package collective

import (
	"math"
	"testing"
)

// The factors of nccl-tests (PERFORMANCE.md there), and 1 where it has none.
func TestBusFactor(t *testing.T) {
	const n = 4
	want := map[string]float64{
		"allreduce": 2 * 3.0 / 4, "allgather": 3.0 / 4, "reducescatter": 3.0 / 4, "alltoall": 3.0 / 4,
		"gather": 3.0 / 4, "scatter": 3.0 / 4,
		"broadcast": 1, "reduce": 1, "sendrecv": 1, "alltonext": 1,
		"allgatherv": 1, "alltoallv": 1, "gatherv": 1, "scatterv": 1,
	}
	for _, name := range Names() {
		counts := make([]int, CountsOf(name, n))
		for i := range counts {
			counts[i] = i + 1
		}
		for _, counts := range [][]int{nil, counts} {
			if len(counts) == 0 {
				counts = nil
			}
			c, err := New(Spec{Name: name, Ranks: n, Chunks: 1, Counts: counts})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.BusFactor(); want[name] == 0 || math.Abs(got-want[name]) > 1e-12 {
				t.Errorf("%s with counts %v: factor %v, want %v", name, counts, got, want[name])
			}
		}
	}
}
