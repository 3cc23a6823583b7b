package autotune

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
)

// BenchmarkCover makes the choice for 17 sizes in two placements, of 766 programs
// each.
func BenchmarkCover(b *testing.B) {
	runtime, err := export.RuntimeNamed("msccl")
	if err != nil {
		b.Fatal(err)
	}
	f := field{1}
	var places []export.Place
	for _, placement := range []string{"in", "out"} {
		for i := range 17 {
			p := export.Place{Bytes: 1024 << i, Placement: placement}
			for n := range 766 {
				t := &results.Trial{Bytes: p.Bytes, Placement: placement, Algorithm: "ring", Parameters: map[string]any{"mark": n, "rings": 1},
					Program: fmt.Sprintf("%s%060d", placement, n), Protocol: "LL", Granularity: 32, Threadblocks: n % 7, Steps: n % 5}
				us := f.factor(t.Program, p.Bytes, 0, 0) * float64(1000+n)
				p.Offers = append(p.Offers, export.Offer{Trial: t, TimeUS: us, Bound: n%20 > 0})
			}
			places = append(places, p)
		}
	}
	for b.Loop() {
		runtime.Cover(places)
	}
}
