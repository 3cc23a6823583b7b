package autotune

import (
	"testing"

	"github.com/colltune/colltune/topologies"
)

// Laying out one size: a thousand programs, three protocols, their tiles.
func BenchmarkNewCell(b *testing.B) {
	p := testProblem()
	candidates, _, _, err := prepare(&p, 4, func(topologies.Proto) bool { return true }, field{}.candidates(1000, true, true))
	if err != nil {
		b.Fatal(err)
	}
	classes := newClasses(4, "sum", "f32")
	for b.Loop() {
		c := newCell(&p, classes, candidates, 1<<26, 4, "in")
		if len(c.trials) < 3000 {
			b.Fatalf("%d trials", len(c.trials))
		}
	}
}
