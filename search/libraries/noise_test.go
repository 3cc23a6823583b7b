package libraries_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/search/libraries"
)

// A single time is no interval of width zero: calls count as the same within what the file's
// own repeats differ by, or 3 % where it has none.
func TestNoiseIsTheFiles(t *testing.T) {
	for name, c := range map[string]struct {
		repeats int
		spread  float64 // slowest over fastest of the repeated calls
		second  float64 // over the best
		same    bool
	}{
		"no repeats, 2.9 %":   {0, 0, 1.029, true},
		"no repeats, 3.1 %":   {0, 0, 1.031, false},
		"few repeats, 8 %":    {3, 1.10, 1.08, false},
		"noisy file, 8 %":     {9, 1.10, 1.08, true},
		"quiet file, 2 %":     {9, 1.01, 1.02, false},
		"quiet file, 0.9 %":   {9, 1.01, 1.009, true},
		"identical rows, 2 %": {9, 1, 1.02, true},
	} {
		var b strings.Builder
		b.WriteString("collective,ranks,bytes,library,time_us\nallgather,8,1024,a,100\n")
		fmt.Fprintf(&b, "allgather,8,1024,b,%v\n", 100*c.second)
		for i := range c.repeats {
			fmt.Fprintf(&b, "allgather,8,%d,c,10\nallgather,8,%d,c,%v\n", 2048<<i, 2048<<i, 10*c.spread)
		}
		table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", b.String()), libraries.DefaultEqual)
		choice := table.Choices(0)[0]
		low, high := choice.Best.Interval()
		if choice.Near != c.same || low >= 100 || high <= 100 {
			t.Errorf("%s: within noise %v, want %v; the interval is %v to %v", name, choice.Near, c.same, low, high)
		}
	}
}

// Of the measured systems, a second within 3 % is never apart, but for files that repeat
// themselves better than that; and no framework wins where it runs NCCL.
func TestFrameworksEndAtTheirLimits(t *testing.T) {
	for _, system := range []string{"h200_sxm", "b200_sxm", "a100_sxm"} {
		text, err := os.ReadFile(fileOf(system))
		if err != nil {
			t.Fatal(err)
		}
		table, _ := libraries.Build(measuredtest.MustRead(t, system+",system="+system, string(text)), libraries.DefaultEqual)
		beyond := 0
		for _, c := range table.Choices(0) {
			ratio := 2.0
			if c.Second != nil {
				ratio = c.Second.TimeUS / c.Best.TimeUS
			}
			if ratio < 1.02 && !c.Near {
				t.Errorf("%s: %s of %d: %s and %s differ by %.3f, and that is no noise", system, c.Best.Collective, c.Best.Bytes, c.Best.Entry(), c.Second.Entry(), ratio)
			}
			if framework := c.Best.Library; c.Best.Bytes > 128<<20 && c.Best.Bytes < 1<<30 && c.Best.Collective == "allreduce" {
				beyond++
				if framework == "vllm" || framework == "sglang" && !strings.Contains(c.Best.Conditions[measured.Kernel], "TRTLLM") {
					t.Errorf("%s over %d: %s wins at %d, where it runs NCCL", system, c.Best.Ranks, framework, c.Best.Bytes)
				}
			}
		}
		if beyond == 0 {
			t.Errorf("%s has no rows beyond the limits", system)
		}
	}
}
