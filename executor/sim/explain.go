package sim

import (
	"context"

	"github.com/colltune/colltune/executor"
)

// Explanation says why a call takes its time.
type Explanation struct {
	Result
	Causes    []Part        // of the critical path; they sum to TimeUS
	Messages  int64         // on the critical path: calls, or Simple's slices
	Rank      int           // where it ends
	TB        int           // the same, of the rank
	Resources []Utilisation // threadblocks, kinds of link, memories
}

// Part is the part of the time that a cause takes.
type Part struct {
	Cause  Cause
	TimeUS float64
}

// Explain simulates a trial, and says why it takes its time, which is the same as that of
// a run. Errors are those of a run.
func Explain(ctx context.Context, t executor.Trial) (*Explanation, error) {
	k, err := knobsOf(t)
	if err != nil {
		return nil, err
	}
	p, err := Prepare(t.Program, t.Topology)
	if err != nil {
		return nil, err
	}
	return p.explain(ctx, k)
}

func (p *Prepared) explain(ctx context.Context, k Knobs) (*Explanation, error) {
	c, err := p.costs(k)
	if err != nil {
		return nil, err
	}
	e := &engine{p: p}
	e.rec = &recorder{e: e}
	r, err := e.run(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := p.checkTime(r); err != nil {
		return nil, err
	}
	whole := e.rec.whole(c, r)
	x := &Explanation{Result: r, Messages: whole.hops}
	for cause, us := range whole.by {
		if Cause(cause) != CauseMemory || p.hasMemories() {
			x.Causes = append(x.Causes, Part{Cause(cause), us})
		}
	}
	last := p.blocks[e.rec.runs[0].last]
	x.Rank, x.TB = int(last.rank), int(last.id)
	every, err := PrepareUnfolded(p.program, p.topology)
	if err != nil {
		return nil, err
	}
	if c, err = every.costs(k); err != nil {
		return nil, err
	}
	x.Resources = every.utilisations(c, r.TimeUS)
	return x, nil
}

// whole returns the account of the whole call, launch and extrapolated tiles included.
func (r *recorder) whole(c *costs, of Result) account {
	a := r.runs[0].account
	a.by[CauseLaunch] += c.launch
	a.at += c.launch
	if of.Method == Linear {
		long, short := &r.runs[0], &r.runs[1]
		a.more(&long.account, &short.account, of.TimeUS)
	}
	a.settle(of.TimeUS)
	return a
}

// settle makes the account's parts sum to a time. They do but for rounding, unless the time
// is a lower bound above what was extrapolated.
func (a *account) settle(at float64) {
	launch := a.by[CauseLaunch]
	rest := a.by.sum() - launch
	most := 0
	for c := range a.by {
		if Cause(c) != CauseLaunch && rest > 0 {
			a.by[c] *= (at - launch) / rest
		}
		if a.by[c] > a.by[most] {
			most = c
		}
	}
	a.by[most] += at - a.by.sum()
	a.at = at
}
