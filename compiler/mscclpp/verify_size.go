package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/verify"
)

// scratchBytes is the scratch that plans with ReuseResources share.
const scratchBytes = 64 << 20

// sizes lists the sizes at which to execute a plan: one where a pipeline covers a
// chunk in a single pass, and one with enough passes to exhaust its semaphores and
// to wrap around in scratch that is used in turns.
func (p *Plan) sizes(r *verify.Report) []size {
	parts, granule, longest := p.division(r)
	if granule == 0 {
		return p.within(r, size{cells: parts, unit: parts, bytes: 1, passes: 1})
	}
	span := longest / granule // granules of the longest pipeline's unit
	at := func(passes, wrap int) size {
		return size{cells: passes * span * parts, unit: parts, bytes: granule, passes: passes, wrap: wrap * parts}
	}
	all := p.within(r, at(1, 0))
	if all == nil {
		return nil
	}
	passes, wrap := p.passes(r, granule, longest)
	for passes > 1 && !p.affordable(at(passes, wrap)) {
		passes, wrap = passes/2, 0
		if passes == 1 {
			notFollowed(r, "more than one pass of a pipeline: it takes too much")
		}
	}
	if passes > 1 {
		all = append(all, at(passes, wrap))
	}
	return all
}

// notFollowed warns of what a plan may do and is not executed.
func notFollowed(r *verify.Report, format string, args ...any) {
	r.Add(verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1, Message: "not followed: " + fmt.Sprintf(format, args...)})
}

// division returns the number of parts into which threadblock groups divide a
// place, and the units of pipelines in bytes: their greatest common divisor and
// the largest. Both are 0 if there are no pipelines.
func (p *Plan) division(r *verify.Report) (parts, granule, longest int) {
	parts = 1
	uneven := false
	p.each(func(op *Op) {
		if parts < maxCut {
			uneven = uneven || op.Slices > 1 && parts > 1 && op.Slices != parts
			parts = lcm(parts, op.Slices)
		}
		if op.Unit > 0 {
			granule, longest = gcd(op.Unit, granule), max(longest, op.Unit)
		}
	})
	if uneven {
		notFollowed(r, "parts of different threadblock groups at sizes that they do not divide alike")
	}
	return parts, granule, longest
}

// passes returns the number of passes of the longest pipeline that exhaust its
// semaphores, which let threadblocks run ahead, and wrap around in reused
// scratch. wrap is the number of granules of scratch that a chunk has, or 0 if
// it is not reused.
func (p *Plan) passes(r *verify.Report, granule, longest int) (passes, wrap int) {
	span := longest / granule
	ahead := 1
	for g := range p.GPUs {
		for _, v := range p.GPUs[g].Semaphores {
			ahead = max(ahead, v)
		}
	}
	passes = ahead + 2
	if p.ReuseResources {
		switch room := p.room(); {
		case room == 0:
		case room%granule != 0 || room/granule > maxPasses*span:
			notFollowed(r, "sizes where a chunk of scratch, %d bytes of the runtime's 64 MiB, is used over and over by units of %d", room, longest)
		case room > 0:
			wrap = room / granule
			passes = max(passes, wrap/span+2)
		}
	}
	if most := p.mostPasses(longest); passes > most {
		passes, wrap = most, 0
	}
	if passes > maxPasses {
		notFollowed(r, "more than %d passes of a pipeline: %d may run ahead", maxPasses, ahead)
		passes, wrap = maxPasses, 0
	}
	return passes, wrap
}

// within returns the size, or nothing if it takes too many cells to verify,
// which it reports.
func (p *Plan) within(r *verify.Report, s size) []size {
	if p.affordable(s) {
		return []size{s}
	}
	r.Add(verify.Finding{Kind: verify.Limit, Severity: verify.Error, GPU: -1, Threadblock: -1, Step: -1,
		Message: fmt.Sprintf("threadblock groups and pipelines cut a chunk into %d cells: at most %d, and %d in all, are verified", s.cells, maxCut, maxCells)})
	return nil
}

// room returns the number of bytes that each chunk has in scratch shared by
// plans: 0 if the plan does not use it, -1 if GPUs differ.
func (p *Plan) room() int {
	room := 0
	for g := range p.GPUs {
		n := p.GPUs[g].Scratch
		if n == 0 {
			continue
		}
		bytes := scratchBytes
		if p.DoubleScratch {
			bytes /= 2
		}
		bytes = (bytes + n - 1) / n
		bytes = (bytes + p.Alignment - 1) / p.Alignment * p.Alignment
		if room != 0 && room != bytes {
			return -1
		}
		room = bytes
	}
	return room
}

// mostPasses returns the number of passes a pipeline with the given unit takes
// for a chunk of the largest message.
func (p *Plan) mostPasses(unit int) int {
	chunks := max(p.GPUs[0].In, 1)
	if p.Collective == "allgather" {
		chunks = max(p.GPUs[0].Out, 1)
	}
	per := p.MaxBytes / uint64(chunks)
	return int(min(max((per+uint64(unit)-1)/uint64(unit), 1), 1<<20))
}

// affordable reports whether a plan's buffers are small enough at a size.
func (p *Plan) affordable(s size) bool {
	if s.cells > maxCut {
		return false
	}
	cells := 0
	for g := range p.GPUs {
		cells += (p.GPUs[g].In + p.GPUs[g].Out + 2*p.GPUs[g].Scratch) * s.cells
	}
	return cells <= maxCells
}

func (p *Plan) each(f func(*Op)) {
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			p.GPUs[g].Threadblocks[t].each(func(_ int, op *Op) { f(op) })
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
