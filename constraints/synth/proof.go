package synth

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/colltune/colltune/constraints/solver"
)

func (p *problem) describeTried(w FrontierOptions) string {
	if p.Collective.Name == "allreduce" && w.Chunks > 2 {
		return fmt.Sprintf("1, 2 or a multiple of %d up to %d chunks", p.net.ranks, w.Chunks)
	}
	return fmt.Sprintf("up to %d chunks", w.Chunks)
}

// describeProof puts the proof of a point into a sentence, with the time taken if timed.
func (pt *Point) describeProof(tried string, low *ratioBound, timed bool) string {
	ratio := big.NewRat(int64(pt.Rounds), int64(pt.Chunks))
	below := ""
	if low != nil {
		below = fmt.Sprintf("%s in %s, whatever the chunks, by %s%s: %s", formatRatio(low.ratio), plural(pt.Steps, "step"), low.by, formatTook(low.seconds, timed), low.why)
	}
	switch {
	case pt.Optimal:
		return "meets the bound of " + formatRatio(ratio)
	case low != nil && low.ratio.Cmp(ratio) == 0:
		return "meets the bound of " + below
	case low != nil:
		return pt.describeRefutations(tried, timed) + "; the bound is " + below
	}
	return pt.describeRefutations(tried, timed)
}

func formatTook(seconds float64, timed bool) string {
	if !timed {
		return ""
	}
	return fmt.Sprintf(" in %.2f s", seconds)
}

// formatRatio prints R/C.
func formatRatio(ratio *big.Rat) string {
	if ratio.Cmp(big.NewRat(1, 1)) == 0 {
		return "1 round a chunk"
	}
	return ratio.RatString() + " rounds a chunk"
}

// describeRefutations says which queries were asked before the point was found.
func (pt *Point) describeRefutations(tried string, timed bool) string {
	if len(pt.Refuted) == 0 {
		return fmt.Sprintf("no smaller R/C is possible in %s with %s", plural(pt.Steps, "step"), tried)
	}
	count, seconds := map[string]int{}, map[string]float64{}
	var by, open []string
	for _, r := range pt.Refuted {
		if r.Status != solver.Unsat {
			open = append(open, fmt.Sprintf("(%d,%d,%d)", r.Chunks, r.Steps, r.Rounds))
			continue
		}
		if count[r.By] == 0 {
			by = append(by, r.By)
		}
		count[r.By]++
		seconds[r.By] += r.Seconds
	}
	slices.Sort(by)
	for i, b := range by {
		by[i] = fmt.Sprintf("%d by %s%s", count[b], b, formatTook(seconds[b], timed))
	}
	var said []string
	if len(open) > 0 {
		said = append(said, fmt.Sprintf("not proved: %s not settled in time, %d not asked", strings.Join(open, " "), pt.Skipped))
	}
	if len(by) > 0 {
		said = append(said, fmt.Sprintf("smaller R/C in %s with %s refuted: %s", plural(pt.Steps, "step"), tried, strings.Join(by, ", ")))
	}
	return strings.Join(said, "; ")
}
