package bounds

import "fmt"

// For thousands of ranks a bound takes seconds of computing flows, far down the call
// chain from Of. Loops check the context, and break if it has ended. What they have then is
// not used: Of returns the context's error.
//
// For tens of thousands of ranks without symmetry that would take too long. So the work
// of each kind of bound is limited: the rest is skipped, and the proof says so.

// skip records that a bound examined only looked of all cases. It must be valid without
// the others.
func (p *problem) skip(looked, all int, what string) {
	p.skipped = append(p.skipped, fmt.Sprintf("%d of %d %s", looked, all, what))
}

// minSpreadOut is the number of ranks above which the work limit may be met before all
// are examined.
const minSpreadOut = 1 << 12

// spreadOut returns ranks in an order in which the first ones are a good sample.
func (p *problem) spreadOut(all []int) []int {
	if len(all) <= minSpreadOut {
		return all
	}
	order := bitReversed(len(all))
	for i, at := range order {
		order[i] = all[at]
	}
	return order
}

func (p *problem) ended() bool { return p.ctx.Err() != nil }
