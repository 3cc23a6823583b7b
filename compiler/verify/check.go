package verify

import (
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Check executes a program over one tile and reports its faults. It stops at
// the first stage with errors: a program with malformed steps is not run, and
// one that deadlocks has no result. It never panics, whatever the program. The
// program is not modified.
func Check(p *ir.Program, o Options) *Report { return check(p, o, shortSearch) }

// check is Check with a limit on searches, for tests.
func check(p *ir.Program, o Options, search int) *Report {
	r := NewReport(o.MaxFindings)
	r.measure(p)
	c := &checker{p: p, o: o, r: r, search: search}
	for _, row := range stages {
		c.runParallel(row)
		if !r.OK() {
			break
		}
	}
	return r
}

// stages are the checks in order. Each relies on those before; later stages do
// not run once one has found an error.
var stages = [...][]func(*checker){
	{(*checker).structure},
	{(*checker).connections},
	{(*checker).completes},
	{(*checker).fits, (*checker).races, (*checker).data},
	{(*checker).lint},
}

// runParallel makes the checks of one row in parallel. The report is as if they
// had run in order: findings after the first check with an error are dropped.
func (c *checker) runParallel(row []func(*checker)) {
	found := make([]*Report, len(row))
	var others sync.WaitGroup
	for i, check := range row[1:] {
		other := *c
		other.r = c.r.clone()
		found[i+1] = other.r
		others.Go(func() { check(&other) })
	}
	row[0](c)
	others.Wait()
	for _, r := range found[1:] {
		if !c.r.OK() {
			return
		}
		c.r.Findings, c.r.Suppressed, c.r.errors = r.Findings, r.Suppressed, r.errors
	}
}

// checker is a program laid out flat. A step's number is its position in the
// concatenation of all threadblocks of all GPUs.
type checker struct {
	p   *ir.Program
	o   Options
	r   *Report
	col collective.Collective

	search int // steps that a search for a path looks at before it gives up

	// By threadblock of the whole program; set by structure.
	firstTB []int32 // by GPU, with one more entry at the end
	tbGPU   []int32
	first   []int32 // number of its first step, with one more entry at the end
	stepTB  []int32 // by step

	moved int64 // chunks moved by all steps; set by structure

	// flagged is, by step, the first step from it on in its threadblock that has
	// HasDep, or -1. Set by structure.
	flagged []int32

	// By threadblock, or -1; set by connections.
	receiver []int32 // the threadblock at the other end of its send connection
	sender   []int32 // … of its receive connection
	// from is, by step, the send that a receive takes its message from, or -1.
	from []int32

	// Set by completes.
	whole *run    // with one call for each step
	order []int32 // every step, in an order it can run in
	pos   []int32 // where a step is in order
}

func (c *checker) tb(t int32) *ir.Threadblock {
	g := c.tbGPU[t]
	return &c.p.GPUs[g].Threadblocks[t-c.firstTB[g]]
}

func (c *checker) step(s int32) *ir.Step {
	t := c.stepTB[s]
	return &c.tb(t).Steps[s-c.first[t]]
}

// met returns the number of the step that meets a dependency of GPU g, or -1 if
// no step of the tile does.
func (c *checker) met(g int32, d ir.Dep) int32 {
	return c.flagged[c.first[c.firstTB[g]+d.TB]+d.Step]
}

// name formats a step of another GPU or threadblock for findings.
func (c *checker) name(s int32) string {
	t := c.stepTB[s]
	g := c.tbGPU[t]
	return fmt.Sprintf("gpu %d threadblock %d step %d (%s)", g, t-c.firstTB[g], s-c.first[t], describe(c.step(s)))
}

// where splits a step's number into GPU, threadblock and step.
func (c *checker) where(s int32) (gpu, tb, step int) {
	t := c.stepTB[s]
	g := c.tbGPU[t]
	return int(g), int(t - c.firstTB[g]), int(s - c.first[t])
}

// describe formats a step: rrc in[4:6] → sc[0:2].
func describe(s *ir.Step) string {
	text := s.Op.String()
	if s.Op.ReadsSrc() {
		text += " " + s.Src.Place(s.Count)
	}
	if s.Op.WritesDst() {
		if s.Op.ReadsSrc() {
			text += " →"
		}
		text += " " + s.Dst.Place(s.Count)
	}
	return text
}
