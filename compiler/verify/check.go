package verify

import (
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// Check executes a program over one tile and reports what is wrong with it. It
// goes as far as the program makes sense: one with malformed steps is not run,
// one that deadlocks has no result. It never fails and never panics, whatever
// the program.
func Check(p *ir.Program, o Options) *Report { return check(p, o, shortSearch) }

// check is Check with a bound on searches of its own, for tests.
func check(p *ir.Program, o Options, search int) *Report {
	r := &Report{max: o.MaxFindings}
	if r.max <= 0 {
		r.max = 100
	}
	r.measure(p)
	c := &checker{p: p, o: o, r: r, search: search}
	for _, row := range stages {
		c.sideBySide(row)
		if !r.OK() {
			break
		}
	}
	return r
}

// stages are the checks in order; each relies on what the rows before its own made
// sure of, and the first that finds an error is the last that is told of.
var stages = [...][]func(*checker){
	{(*checker).structure},
	{(*checker).connections},
	{(*checker).completes},
	{(*checker).fits, (*checker).races, (*checker).data},
	{(*checker).lint},
}

// sideBySide makes the checks of one row at once. Each finds what it would find
// after those before it, had these found nothing: only that is told of it.
func (c *checker) sideBySide(row []func(*checker)) {
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

// checker is a program laid out flat. A step's number is its position when all
// threadblocks of all GPUs are written one after the other.
type checker struct {
	p   *ir.Program
	o   Options
	r   *Report
	col collective.Collective

	search int // steps that a search for a path looks at before it gives up

	// By threadblock of the whole program; filled by structure.
	firstTB []int32 // by GPU, one more than there are
	tbGPU   []int32
	first   []int32 // number of its first step, one more than there are
	stepTB  []int32 // by step

	moved int64 // chunks, by all steps; filled by structure

	// flagged is the first step at or after this one, in its threadblock, that
	// posts a flag; -1 where there is none. By step; filled by structure.
	flagged []int32

	// By threadblock; filled by connections. -1 where there is none.
	receiver []int32 // the threadblock at the other end of its send connection
	sender   []int32 // … of its receive connection
	// from is the send that meets a receive, by step, -1 elsewhere.
	from []int32

	// Filled by completes.
	whole *run    // with a call for each step
	order []int32 // every step, in an order it can run in
	pos   []int32 // where a step is in order
}

// tb returns the threadblock of a number.
func (c *checker) tb(t int32) *ir.Threadblock {
	g := c.tbGPU[t]
	return &c.p.GPUs[g].Threadblocks[t-c.firstTB[g]]
}

// step returns the step of a number.
func (c *checker) step(s int32) *ir.Step {
	t := c.stepTB[s]
	return &c.tb(t).Steps[s-c.first[t]]
}

// met returns the number of the step that meets a dependency of GPU g, or -1 where
// nothing in the tile does.
func (c *checker) met(g int32, d ir.Dep) int32 {
	return c.flagged[c.first[c.firstTB[g]+d.TB]+d.Step]
}

// name returns how a finding names a step of another GPU or threadblock.
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

// describe returns a step in short: rrc in[4:6] → sc[0:2].
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
