package model

import (
	"math"
	"strconv"
	"testing"
)

// A few trials at one size tell the unit of work, and so the jumps at all sizes.
func TestUnitsOfWork(t *testing.T) {
	const chunks = 230 // at 4 MiB
	s := &Space{Sizes: []int64{2 << 20, 4 << 20, 8 << 20}, Traits: []string{"kernel", "ctas"}}
	us := func(chunks, n int) float64 {
		return 12 + 0.3*float64(chunks/n) + 14*float64(chunks%n)/float64(n)
	}
	for n := 1; n <= 64; n++ {
		s.Configs = append(s.Configs, Config{Name: strconv.Itoa(n), Traits: []string{"LD", strconv.Itoa(n)}})
	}
	s.Configs = append(s.Configs, Config{Name: "chosen", Traits: []string{"LD", "default"}})
	var history []Observation
	for _, n := range []int{38, 1, 64, 21, 44, 34, 37, 57, 62, 6, 12, 28, 47, 53} {
		history = append(history, Observation{Point: Point{n - 1, 1}, TimeUS: us(chunks, n)})
	}
	m := New(s, Options{})
	units := m.kinship.unitsOf(m.first, m.all, m.evidence(history))
	near, sum := 0.0, 0.0
	for _, u := range units {
		sum += u.weight
		if u.rests != nil && math.Abs(u.rests[1][63]*64-chunks%64) <= 3 { // 64 CTAs at 4 MiB
			near += u.weight
			if got := u.rests[2][63] * 64; math.Mod(got+64-2*u.rests[1][63]*64, 64) > 1 {
				t.Errorf("rest %g at 4 MiB and %g at 8", u.rests[1][63]*64, got)
			}
		}
	}
	if math.Abs(sum-1) > 1e-9 || near < 0.9 {
		t.Errorf("weight %g of units near the true one, and %g of all", near, sum)
	}
	if x := units[0].rests; x != nil && x[0][64] != 0 {
		t.Errorf("rest %g of no number", x[0][64])
	}
}

// Only a trait with enough numbers is one of workers.
func TestWhatIsANumberOfWorkers(t *testing.T) {
	var some, many []string
	for n := range 20 {
		many = append(many, strconv.Itoa(n+1))
	}
	some = append(some, many[:15]...)
	some = append(some, "default", "2.5", "-1", "0")
	if counts(some) != nil {
		t.Error("15 numbers are workers")
	}
	if got := counts(append(many, "default")); len(got) != 21 || got[19] != 20 || got[20] != 0 {
		t.Errorf("counts %v", got)
	}
}
