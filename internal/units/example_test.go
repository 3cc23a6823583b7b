package units_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/units"
)

// Sizes are binary and bandwidths decimal, as nccl-tests and vendors have them.
func Example() {
	size, _ := units.ParseBytes("64K")
	rate, _ := units.ParseBandwidth("400 Gb/s")
	latency, _ := units.ParseDuration("1.5us")
	fmt.Println(int64(size), int64(rate), float64(latency), size)
	// Output: 65536 50000000000 1.5 64K
}
