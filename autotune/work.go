package autotune

import "github.com/colltune/colltune/compiler/ir"

// Where the topology's links do not join the ranks (executor cpu), they share processors and
// memory, and what counts is the work of all of them together: each pass of a step over a
// tile takes a fixed time, and each byte its own. Only the constants' ratio matters, for a
// strategy learns how much slower the machine is. Over all 2,560 programs and knobs of an
// allreduce by 4 ranks on 2 cores at 1 KiB, 32 KiB and 1 MiB, the logarithm of the time
// scatters around that of the work by 0.46; around that of the bytes alone by
// 1.17, 0.87 and 0.51.
const (
	passUS     = 0.2
	bytesPerUS = 10e3
)

// workUS is the time that steps take one after another, in µs, with chunks of chunk bytes that are
// moved in tiles of tile bytes.
func workUS(all []stepCount, chunk, tile int64) (us float64) {
	for _, s := range all {
		bytes := chunk * int64(s.count)
		passes := max(1, (bytes+tile-1)/tile)
		us += float64(s.steps) * (passUS*float64(passes) + float64(bytes)/bytesPerUS)
	}
	return us
}

// stepCount is the number of steps that move count chunks each.
type stepCount struct {
	count int32
	steps int
}

// stepCounts lists the step counts of a program, in the order of their first steps.
func stepCounts(p *ir.Program) (all []stepCount) {
	index := map[int32]int{}
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			for i := range tb.Steps {
				at, known := index[tb.Steps[i].Count]
				if !known {
					at = len(all)
					index[tb.Steps[i].Count] = at
					all = append(all, stepCount{count: tb.Steps[i].Count})
				}
				all[at].steps++
			}
		}
	}
	return all
}
