package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/topologies"
)

// trials are the checks that run something, by what the executor says it can.
func (x *conformance) trials() []checkRow {
	var rows []checkRow
	run := func(name string, ts func() []executor.Trial) {
		rows = append(rows, checkRow{name, nil, func(x *conformance) (string, error) { return x.runEach(ts(), false) }})
	}
	d := &x.desc
	if !d.NativeOnly {
		for _, p := range protocolsOf(d.Protocols) {
			run("run "+p.String(), func() []executor.Trial {
				t, plain := x.trial(2), x.trial(2)
				plain.Program = exchangeProgram()
				t.Protocol, plain.Protocol = p, p
				return []executor.Trial{plain, t, sized(t, 4), sized(t, 1000004)}
			})
		}
		for _, dtype := range d.DTypes {
			run("run "+dtype, func() []executor.Trial {
				var all []executor.Trial
				for _, op := range d.Operations {
					t := x.trial(2)
					t.DType, t.Op = dtype, op
					all = append(all, t)
				}
				if len(all) == 0 {
					t := x.trial(2)
					t.Program, t.DType = exchangeProgram(), dtype
					all = append(all, t)
				}
				return all
			})
		}
		if d.MaxRanks == 0 || d.MaxRanks > 2 {
			run("run 3 ranks", func() []executor.Trial { return []executor.Trial{x.trial(3)} })
		}
	}
	for _, a := range d.Native {
		native := func(ts func() []executor.Trial) {
			rows = append(rows, checkRow{"run its " + a.Algorithm, nil, func(x *conformance) (string, error) { return x.runEach(ts(), true) }})
		}
		native(func() []executor.Trial {
			t := x.smallTrial()
			ranks := x.ranks()
			t.Program, t.Native = nil, &executor.Native{Algorithm: a.Algorithm}
			var all []executor.Trial
			for _, p := range protocolsOf(a.Protocols) {
				t.Protocol = p
				for _, name := range a.Collectives {
					t.Collective = collective.Spec{Name: name, Ranks: ranks}
					all = append(all, t)
				}
				if len(a.Collectives) == 0 {
					t.Collective = collective.Spec{Name: "allreduce", Ranks: ranks}
					all = append(all, t)
				}
			}
			return all
		})
	}
	return rows
}

// protocolsOf parses a list of names. Without any it returns Simple: an executor that
// lists none ignores a trial's.
func protocolsOf(names []string) []topologies.Proto {
	var all []topologies.Proto
	for _, name := range names {
		if p, err := topologies.ParseProto(name); err == nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		all = append(all, topologies.Simple)
	}
	return all
}

// endings are run last: refusals, heartbeats, cancelling, shutdown.
var endings = []checkRow{
	{"refuses too many ranks", func(x *conformance) bool { return x.desc.MaxRanks > 0 && x.desc.MaxRanks < 64 }, func(x *conformance) (string, error) {
		return x.refuses(x.trial(x.desc.MaxRanks+1), codes.Unimplemented)
	}},
	{"refuses a dtype it lacks", nil, func(x *conformance) (string, error) {
		t := x.smallTrial()
		t.DType = lacking(collective.DTypes(), x.desc.DTypes, "f8")
		return x.refuses(t, codes.Unimplemented)
	}},
	{"refuses an operation it lacks", nil, func(x *conformance) (string, error) {
		t := x.smallTrial()
		t.Op = lacking(operations, x.desc.Operations, "xor")
		return x.refuses(t, codes.Unimplemented)
	}},
	{"refuses a size below 0", nil, func(x *conformance) (string, error) {
		return x.refuses(sized(x.smallTrial(), -8), codes.InvalidArgument)
	}},
	{"refuses an algorithm it lacks", nil, func(x *conformance) (string, error) {
		t := x.smallTrial()
		t.Program, t.Native = nil, &executor.Native{Algorithm: "of-nobody"}
		t.Collective = collective.Spec{Name: "allreduce", Ranks: x.ranks()}
		return x.refuses(t, codes.Unimplemented)
	}},
	{"repeats itself", func(x *conformance) bool { return x.desc.Deterministic }, func(x *conformance) (string, error) {
		first, err := x.run(x.smallTrial())
		if x.desc.NativeOnly && errors.Is(err, executor.ErrUnsupported) {
			return fmt.Sprintf("lacking here: %v", err), nil
		}
		if err != nil {
			return "", err
		}
		second, err := x.run(x.smallTrial())
		if err == nil && first.CostSeconds != second.CostSeconds {
			err = fmt.Errorf("%v s and then %v s as the cost: want the same of one that is deterministic", first.CostSeconds, second.CostSeconds)
		}
		if err == nil && !slices.Equal(first.TimesUS, second.TimesUS) {
			err = fmt.Errorf("%v us and then %v us: want the same of one that is deterministic", first.TimesUS, second.TimesUS)
		}
		return "the same trial gives the same times", err
	}},
	{"beats while it runs", nil, checkHeartbeats},
	{"gives up when told", nil, checkCancel},
	{"goodbye", nil, checkShutdown},
}

// lacking returns a name in all that is not in has, or otherwise if there is none.
func lacking(all, has []string, otherwise string) string {
	for _, name := range all {
		if !slices.Contains(has, name) {
			return name
		}
	}
	return otherwise
}

func sized(t executor.Trial, bytes int64) executor.Trial {
	t.Bytes = bytes
	return t
}

// runEach runs trials and describes the first that worked. With mayLack, the executor may
// refuse algorithms that it lists: a library learns which ones a system supports only when
// asked for them.
func (x *conformance) runEach(all []executor.Trial, mayLack bool) (string, error) {
	var detail string
	var lacks []error
	refused := 0
	for _, t := range all {
		m, err := x.run(t)
		if mayLack && errors.Is(err, executor.ErrUnsupported) {
			lacks = append(lacks, err)
			continue
		}
		if t.Bytes != all[0].Bytes && errors.Is(err, executor.ErrUnsupported) {
			refused++ // it can't divide this size
			continue
		}
		if err == nil {
			err = m.Validate(t.Iters)
		}
		if err == nil && m.Wrong != 0 {
			err = fmt.Errorf("%d wrong elements", m.Wrong)
		}
		if err != nil {
			return "", fmt.Errorf("%s, %s of %s, %d bytes: %w", trialName(&t), t.Op, t.DType, t.Bytes, err)
		}
		if detail == "" {
			checked := "checked"
			if !m.Checked {
				checked = "not checked"
			}
			detail = fmt.Sprintf("%.3g us for %d bytes, data %s", slices.Min(m.TimesUS), t.Bytes, checked)
		}
	}
	if len(lacks) == len(all) {
		return fmt.Sprintf("lacking here: %v", lacks[0]), nil
	}
	if n := len(all) - len(lacks) - 1; n > 0 {
		detail += fmt.Sprintf("; and %d more", n-refused)
	}
	if len(lacks) > 0 {
		detail += fmt.Sprintf("; %d lacking here: %v", len(lacks), lacks[0])
	}
	if refused > 0 {
		detail += fmt.Sprintf(", %d sizes refused", refused)
	}
	return detail, nil
}

// trialName returns a trial's program or algorithm with its protocol.
func trialName(t *executor.Trial) string {
	if t.Native != nil {
		return t.Native.String() + " " + t.Collective.Name + " " + t.Protocol.String()
	}
	return t.Program.Name + " " + t.Protocol.String()
}

// refuses runs a trial that the executor must refuse with the given status.
func (x *conformance) refuses(t executor.Trial, code codes.Code) (string, error) {
	if t.Program != nil && x.desc.NativeOnly {
		a := x.desc.Native[0]
		t.Program, t.Native, t.Collective = nil, &executor.Native{Algorithm: a.Algorithm}, collective.Spec{Name: "allreduce", Ranks: t.Collective.Ranks}
		if len(a.Collectives) > 0 {
			t.Collective.Name = a.Collectives[0]
		}
	}
	if err := x.loadFor(&t); err != nil {
		if status.Code(err) == code {
			return wantStatus(err, code)
		}
		return "", err
	}
	_, err := x.call(wire.EncodeTrial(t, x.programHash(&t), t.Topology.Hash()))
	return wantStatus(err, code)
}

// runEvents counts the messages of a call before its measurement.
type runEvents struct {
	beats   int
	longest time.Duration // pause without a heartbeat
	took    time.Duration
}

// silent reports whether there were too few heartbeats. One long pause proves
// nothing, because on a busy machine they arrive late and several at a time. Their
// number does: it is the number that was sent.
func (h runEvents) silent() bool {
	return h.longest > time.Second && h.beats < int(h.took/time.Second)
}

// maxIters bounds the iterations of a trial that is made longer and longer.
const maxIters = 1 << 22

// checkHeartbeats looks for a trial of two seconds, and measures the pauses between its
// heartbeats.
func checkHeartbeats(x *conformance) (string, error) {
	t := sized(x.smallTrial(), 1<<20)
	if x.desc.MaxBytes > 0 {
		t.Bytes = min(t.Bytes, x.desc.MaxBytes)
	}
	if x.desc.NativeOnly {
		return "runs no programs: not asked", nil
	}
	const long = 2 * time.Second
	t.Iters = 4
	for {
		if err := x.loadFor(&t); err != nil {
			return "", err
		}
		heard, err := x.call(wire.EncodeTrial(t, x.programHash(&t), t.Topology.Hash()))
		for again := 0; err == nil && heard.silent() && again < 2; again++ { // a busy machine may delay both ends
			heard, err = x.call(wire.EncodeTrial(t, x.programHash(&t), t.Topology.Hash()))
		}
		switch {
		case err != nil:
			return "", err
		case heard.silent():
			return "", fmt.Errorf("silent for %s in a trial of %d iterations: want a heartbeat at least every second", heard.longest.Round(time.Millisecond), t.Iters)
		case heard.took >= long:
			x.iters = t.Iters
			return fmt.Sprintf("%d in %s, the longest pause %s", heard.beats, heard.took.Round(100*time.Millisecond), heard.longest.Round(10*time.Millisecond)), nil
		case t.Iters == maxIters:
			return fmt.Sprintf("no trial was long enough to need one: %d iterations took %s", t.Iters, heard.took.Round(time.Millisecond)), nil
		}
		// Aim at twice the time wanted, but grow at most eightfold: on a busy
		// machine a larger step could go past the deadline.
		t.Iters = min(t.Iters*int(min(8, 1+2*long/max(heard.took, 1))), maxIters)
	}
}

// checkCancel cancels a long trial and runs another, which must be done long before the
// first would have ended.
func checkCancel(x *conformance) (string, error) {
	const short = "no trial was long enough to be given up"
	if x.iters == 0 {
		return short, nil
	}
	if given, err := x.abandonTrial(); !given {
		return short, err
	}
	began := time.Now()
	within := min(patience, x.starter.Options.TrialTimeout)
	ctx, cancel := context.WithTimeout(x.ctx, within)
	defer cancel()
	if _, err := x.runIn(ctx, x.smallTrial()); err != nil {
		return "", fmt.Errorf("the next trial, within %s: %w", within, err)
	}
	return fmt.Sprintf("the next trial was done %s later", time.Since(began).Round(10*time.Millisecond)), nil
}

// abandonTrial cancels a trial before it ends, and reports whether it managed to. A trial
// that took seconds while the machine was busy may be over at once a moment later, so it
// tries longer and longer ones.
func (x *conformance) abandonTrial() (bool, error) {
	t := sized(x.smallTrial(), 1<<20)
	if x.desc.MaxBytes > 0 {
		t.Bytes = min(t.Bytes, x.desc.MaxBytes)
	}
	const times = 32 // times two seconds is twice our patience
	for t.Iters = min(x.iters*times, maxIters); ; t.Iters = min(t.Iters*8, maxIters) {
		ctx, cancel := context.WithTimeout(x.ctx, 300*time.Millisecond)
		_, err := x.callIn(ctx, wire.EncodeTrial(t, x.programHash(&t), t.Topology.Hash()))
		cancel()
		if err != nil || t.Iters == maxIters {
			return err != nil, x.ctx.Err()
		}
	}
}

// checkShutdown tells the executor to end, and looks for processes and sockets left
// behind.
func checkShutdown(x *conformance) (string, error) {
	x.over = true
	began := time.Now()
	sockets, processes, err := x.worker.Shutdown()
	if err != nil {
		return "", err
	}
	switch {
	case processes > 0:
		return "", fmt.Errorf("it left %d processes behind", processes)
	case len(sockets) > 0:
		return "", fmt.Errorf("it left its socket behind: %s", strings.Join(sockets, ", "))
	}
	return fmt.Sprintf("gone within %s, and nothing is left of it", time.Since(began).Round(10*time.Millisecond)), nil
}
