package cpu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/colltune/colltune/executor"
)

// leader is the executor in the first process of a launch of several.
type leader struct {
	ready  chan struct{} // closed when joining the launch has worked or failed
	err    error         // of joining
	jobs   chan job
	over   chan struct{} // closed after the last job
	group  *group
	broken error // of MPI: the processes are out of step, so the launch must end
}

type job struct {
	ctx   context.Context
	trial executor.Trial
	done  chan outcome
}

type outcome struct {
	m   executor.Measurement
	err error
}

func newLeader() *leader {
	l := &leader{ready: make(chan struct{}), jobs: make(chan job), over: make(chan struct{})}
	go l.work()
	return l
}

// work is the goroutine that makes all MPI calls.
func (l *leader) work() {
	defer close(l.over)
	l.group, l.err = newGroup()
	if l.err == nil && l.group.world.Rank != 0 {
		l.err = fmt.Errorf("this is process %d for MPI, and process 0 for its launcher", l.group.world.Rank)
	}
	close(l.ready)
	if l.err != nil {
		return
	}
	for j := range l.jobs {
		m, err := l.trial(j.ctx, j.trial)
		j.done <- outcome{m, err}
		if l.broken != nil {
			time.Sleep(answerTime)
			fmt.Fprintln(os.Stderr, "processes out of step:", l.broken)
			l.group.world.Abort(1)
			os.Exit(1) // if even Abort has failed
		}
	}
	l.group.quit()
}

// answerTime is how long an answer may take to reach the host before the launch ends.
const answerTime = 500 * time.Millisecond

// quit ends the followers, and the launch.
func (g *group) quit() {
	if g.tell(note{kind: noteQuit}) != nil {
		g.world.Abort(1)
	}
	for len(g.sending.waiting) > 0 {
		if g.poll() != nil {
			g.world.Abort(1)
		}
		g.rest()
	}
	g.leave()
}

// leave cancels pending receives, and leaves the launch.
func (g *group) leave() {
	for _, q := range g.control {
		_ = q.cancel() // the launch ends in any case
	}
	_ = g.world.Leave()
}

// Describe describes this process's machine and the launch.
func (l *leader) Describe(ctx context.Context) (executor.Description, error) {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return executor.Description{}, ctx.Err()
	}
	if l.err != nil {
		return executor.Description{}, l.err
	}
	d, err := machine{}.Describe(ctx)
	d.Fingerprint = maps.Clone(d.Fingerprint)
	d.Fingerprint["processes"] = strconv.Itoa(l.group.world.Size)
	d.Fingerprint["mpi"] = l.group.world.Version
	return d, err
}

// Run runs a trial in all processes.
func (l *leader) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if t.Program == nil || t.Topology == nil {
		return executor.Measurement{}, errors.New("trial lacks its program or topology")
	}
	if _, err := l.Describe(ctx); err != nil {
		return executor.Measurement{}, err
	}
	done := make(chan outcome, 1)
	l.jobs <- job{ctx, t, done}
	o := <-done
	return o.m, o.err
}

// Close ends the launch.
func (l *leader) Close() error {
	close(l.jobs)
	<-l.over
	return l.err
}

// leading is the leader's state of one trial.
type leading struct {
	ctx    context.Context // of the host's call, for executor.Progress
	group  *group
	trial  executor.Trial
	m      executor.Measurement
	err    error // what ended the trial, if not a measurement
	next   int   // the current iteration, or the next one
	told   int64 // progress reported to the host
	report map[int]note
	status map[int]counts // each process's last status of this iteration
	still  map[int]bool   // processes that have stood still since the last wave
	waves  int            // in a row in which all have
}

// counts are a process's progress and its messages.
type counts struct{ progress, sent, received int64 }

// trial runs one trial. After an error of MPI it sets broken.
func (l *leader) trial(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	c := l.group
	if err := c.assign(t); err != nil {
		l.broken = err
		return executor.Measurement{}, err
	}
	lead := &leading{
		ctx: ctx, group: c, trial: t, m: executor.Measurement{Checked: true},
		report: map[int]note{}, status: map[int]counts{}, still: map[int]bool{},
	}
	if err := c.perform(ctx, t, lead); !errors.Is(err, errOver) {
		l.broken = err
		return executor.Measurement{}, err
	}
	if lead.err != nil {
		return executor.Measurement{}, lead.err
	}
	return lead.m, nil
}

// gather waits for all reports on the round, and starts the next round or ends the trial.
func (l *leading) gather(ctx context.Context, p *share) error {
	c := l.group
	l.report[0] = p.own
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for len(l.report) < c.world.Size || p.halted {
		if err := p.wait(ctx, tick.C); err != nil {
			return err
		}
	}
	if last := p.run.iterations - 1; ctx.Err() != nil && int(p.own.at) < last {
		if p.own.at >= 0 {
			return p.leave(ctx, tick.C)
		}
		l.err = ctx.Err()
	}
	took, wrong := int64(0), int64(0)
	for from := range c.world.Size {
		n := l.report[from]
		if len(n.text) > 0 && l.err == nil {
			l.err = errors.New(string(n.text))
			if n.c == 1 {
				l.err = executor.Unsupported(l.err)
			}
		}
		took, wrong = max(took, n.a), wrong+n.b
	}
	if p.own.at >= int64(l.trial.Warmup) {
		l.m.TimesUS = append(l.m.TimesUS, float64(max(took, 1))/1e3)
	}
	l.m.Wrong = max(l.m.Wrong, wrong)
	l.next = int(p.own.at) + 1
	clear(l.report)
	clear(l.status)
	clear(l.still)
	l.waves = 0
	if l.err != nil || l.next == p.run.iterations {
		if err := c.tell(note{kind: noteOver}); err != nil {
			return err
		}
		return p.over()
	}
	return c.tell(note{kind: noteGo, at: int64(l.next)})
}

// handle handles a report or a status of any process, including this one. After three
// waves in which all processes stood still, without progress and without a message under
// way, none will ever go on: a deadlock.
func (l *leading) handle(p *share, n note) error {
	switch {
	case n.kind == noteReport:
		l.report[n.from] = n
		l.tell()
		return nil
	case n.kind != noteStatus || n.at != int64(l.next):
		return nil // of an iteration that has ended
	}
	before, known := l.status[n.from]
	now := counts{n.a, n.b, n.c}
	l.status[n.from] = now
	if n.d == 0 || !known || before != now {
		l.waves = 0
		clear(l.still)
		l.tell()
		return nil
	}
	l.still[n.from] = true
	if len(l.still) < l.group.world.Size {
		return nil
	}
	clear(l.still)
	under := int64(0)
	for _, s := range l.status {
		under += s.sent - s.received
	}
	if l.waves++; l.waves < 3 || under != 0 {
		return nil
	}
	if p.halted { // all of them are halted, and nothing is under way
		if err := l.group.tell(note{kind: noteOver}); err != nil {
			return err
		}
		return p.over()
	}
	return l.deadlock(p)
}

// leave gives up a trial between two iterations.
func (p *share) leave(ctx context.Context, tick <-chan time.Time) error {
	if err := p.leader.giveUp(p, ctx.Err()); err != nil {
		return err
	}
	for {
		if err := p.wait(ctx, tick); err != nil {
			return err
		}
	}
}

// giveUp stops all processes. The trial is over when all have stopped and no message is
// under way.
func (l *leading) giveUp(p *share, why error) error {
	l.err = why
	l.waves = 0
	clear(l.still)
	p.halt()
	return l.group.tell(note{kind: noteStop})
}

// tell reports progress to the host.
func (l *leading) tell() {
	l.told++
	executor.Progress(l.ctx, l.told)
}

// deadlock stops all processes, and collects where their threadblocks wait.
func (l *leading) deadlock(p *share) error {
	c := l.group
	if err := c.tell(note{kind: noteStuck}); err != nil {
		return err
	}
	own := p.run.places()
	if err := p.stuck(); !errors.Is(err, errOver) {
		return err
	}
	all, err := standstill(c.world.Size, own, c.await)
	if err != nil {
		return err
	}
	l.err = fmt.Errorf("deadlock in iteration %d: %s", l.next, strings.Join(all, "; "))
	return errOver
}

// standstill collects where the threadblocks of each process wait, the leader's own first.
// It skips other notes, which were sent before noteStuck arrived.
func standstill(processes int, own string, await func() (note, error)) (all []string, err error) {
	texts := map[int]string{0: own}
	for len(texts) < processes {
		n, err := await()
		if err != nil {
			return nil, err
		}
		if n.kind == noteReport && n.at == atPlaces {
			texts[n.from] = string(n.text)
		}
	}
	for from := range processes {
		if texts[from] != "" {
			all = append(all, texts[from])
		}
	}
	return all, nil
}

// Follow is the main of a launch's other processes: they run their share of every trial,
// until the leader ends the launch. The error is MPI's.
func Follow() error {
	c, err := newGroup()
	if err != nil {
		return err
	}
	for {
		if err := c.poll(); err != nil {
			return err
		}
		n, ok := c.next()
		switch {
		case !ok:
			c.rest()
		case n.kind == noteQuit:
			c.leave()
			return nil
		case n.kind == noteTrial:
			t, all, err := c.assigned(n)
			if err == nil && all {
				err = c.perform(context.Background(), t, nil)
			}
			if err != nil && !errors.Is(err, errOver) {
				return fmt.Errorf("process %d: %w", c.world.Rank, err)
			}
		}
	}
}
