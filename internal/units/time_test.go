package units

import (
	"math"
	"testing"
)

func TestCheckTimeUS(t *testing.T) {
	for us, ok := range map[float64]bool{
		1e-6: true, 12.5: true, 1e12: true,
		0: false, -1: false, 5e-324: false, 9e-7: false, 1.1e12: false, 1e308: false,
		math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
	} {
		if err := CheckTimeUS(us); (err == nil) != ok {
			t.Errorf("%g us: %v", us, err)
		}
	}
}
