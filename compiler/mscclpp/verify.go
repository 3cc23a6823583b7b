package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/verify"
)

// Verdict is the result of Verify.
type Verdict struct {
	Report *verify.Report
	// Accepts reports whether the runtime would load the plan and run it as
	// intended. Why lists the reasons if not.
	Accepts bool
	Why     []string
}

// OK reports whether the plan is correct.
func (v *Verdict) OK() bool { return v.Report.OK() }

// Verify executes a plan, with pipelines also at a size that takes several
// passes, and checks whether the runtime accepts its file.
func Verify(p *Plan, o verify.Options) *Verdict {
	r := verify.NewReport(o.MaxFindings)
	measure(p, r)
	(&structure{p: p, r: r, linked: o.Linked}).check()
	v := &Verdict{Report: r}
	for _, rule := range rules {
		if why := rule.check(p); why != "" {
			v.Why = append(v.Why, why)
		}
	}
	if !r.OK() {
		v.Why = append(v.Why, first(r))
		return v
	}
	v.Accepts = len(v.Why) == 0
	for i, s := range p.sizes(r) {
		part := r
		if i > 0 {
			part = verify.NewReport(o.MaxFindings)
		}
		execute(p, part, s, o)
		if i > 0 && !part.OK() {
			for _, f := range part.Findings {
				if f.Severity == verify.Error {
					f.Message += fmt.Sprintf(" (with %d passes of a pipeline over a chunk)", s.passes)
					r.Add(f)
				}
			}
		}
		if !r.OK() {
			break
		}
	}
	for _, lint := range lints {
		if message := lint(p); message != "" {
			r.Add(verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1, Message: message})
		}
	}
	for _, n := range p.Notes {
		r.Add(verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1, Message: fmt.Sprintf("line %d: %s", n.Line, n.Message)})
	}
	return v
}

func execute(p *Plan, r *verify.Report, s size, o verify.Options) {
	m, err := newMachine(p, r, s)
	switch {
	case err != nil:
		r.Add(verify.Finding{Kind: verify.Malformed, Severity: verify.Error, GPU: -1, Threadblock: -1, Step: -1, Message: err.Error()})
	case len(m.tbs)+len(m.engines) > maxClocks:
		m.fail(verify.Limit, -1, -1, -1, "%d threadblocks and port channels: at most %d are verified", len(m.tbs)+len(m.engines), maxClocks)
	case newRun(m).finish():
		if m.resultKnown && !o.AnyResult {
			m.memory.CheckOutputs()
			m.memory.Clobbered()
		}
	}
}

func first(r *verify.Report) string {
	for _, f := range r.Findings {
		if f.Severity == verify.Error {
			return f.String()
		}
	}
	return ""
}

// measure sets the figures that need no execution.
func measure(p *Plan, r *verify.Report) {
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		channels := 0
		for i := range gpu.Channels {
			channels += len(gpu.Channels[i].Peers) + len(gpu.Channels[i].Groups)
		}
		r.Channels = max(r.Channels, channels)
		r.ThreadblocksMax = max(r.ThreadblocksMax, len(gpu.Threadblocks))
		for t := range gpu.Threadblocks {
			n := 0
			gpu.Threadblocks[t].each(func(_ int, op *Op) {
				n++
				r.Instructions[op.Kind.Name]++
			})
			r.Steps += n
			r.StepsMax = max(r.StepsMax, n)
		}
	}
}

// each calls f for every operation with its number. The operations of a pipeline
// follow the pipeline.
func (tb *Threadblock) each(f func(at int, op *Op)) {
	at := 0
	for i := range tb.Ops {
		f(at, &tb.Ops[i])
		at++
		for j := range tb.Ops[i].Ops {
			f(at, &tb.Ops[i].Ops[j])
			at++
		}
	}
}
