package verify

import "github.com/colltune/colltune/compiler/ir"

// lint warns of parts that are correct but redundant.
func (c *checker) lint() {
	awaited := make([]bool, c.r.Steps)
	for s, t := range c.stepTB {
		for _, d := range c.step(int32(s)).Deps {
			awaited[c.met(c.tbGPU[t], d)] = true
		}
	}
	for s := range c.stepTB {
		if step := c.step(int32(s)); step.HasDep && !awaited[s] {
			g, t, i := c.where(int32(s))
			c.r.findingAt(Lint, Warning, g, t, i, "%s posts a flag (hasdep) that nobody waits for", describe(step))
			break
		}
	}
	for g := range c.p.GPUs {
		for t, tb := range c.p.GPUs[g].Threadblocks {
			if len(tb.Steps) == 0 {
				c.r.findingAt(Lint, Warning, g, t, -1, "has no steps")
			}
			if n := len(tb.Steps); n > 0 && tb.Steps[n-1].Op == ir.Nop && !tb.Steps[n-1].HasDep {
				c.r.findingAt(Lint, Warning, g, t, n-1, "waits after the last step that does anything")
			}
		}
	}
}
