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
	err    error         // why joining failed
	jobs   chan job
	over   chan struct{} // closed after the last job
	crew   *crew
	broken error // why the launch must end: after an error of MPI nobody knows how far each process is
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

// work is the goroutine that makes all calls of MPI.
func (l *leader) work() {
	defer close(l.over)
	l.crew, l.err = newCrew()
	if l.err == nil && l.crew.world.Rank != 0 {
		l.err = fmt.Errorf("this is process %d for MPI, and process 0 for its launcher", l.crew.world.Rank)
	}
	close(l.ready)
	if l.err != nil {
		return
	}
	for j := range l.jobs {
		m, err := l.trial(j.ctx, j.trial)
		j.done <- outcome{m, err}
		if l.broken != nil {
			time.Sleep(answered)
			fmt.Fprintln(os.Stderr, "processes out of step:", l.broken)
			l.crew.world.Abort(1)
			os.Exit(1) // if even Abort has failed
		}
	}
	l.crew.quit()
}

// answered is how long an answer may take to reach the host before the launch
// ends.
const answered = 500 * time.Millisecond

// quit ends the followers, and the launch.
func (c *crew) quit() {
	if c.tell(note{kind: noteQuit}) != nil {
		c.world.Abort(1)
	}
	for len(c.sending.waiting) > 0 {
		if c.poll() != nil {
			c.world.Abort(1)
		}
		c.rest()
	}
	c.leave()
}

// leave cancels what was still expected, and leaves the launch.
func (c *crew) leave() {
	for _, q := range c.control {
		_ = q.cancel() // whether or not that works, the launch ends
	}
	_ = c.world.Leave()
}

// Describe says what the machine is, and how many processes share the work.
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
	d.Fingerprint["processes"] = strconv.Itoa(l.crew.world.Size)
	d.Fingerprint["mpi"] = l.crew.world.Version
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

// leading is one trial as the leader sees it, who receives the reports.
type leading struct {
	ctx    context.Context // of the host's call, for progress
	crew   *crew
	trial  executor.Trial
	m      executor.Measurement
	err    error // what ended the trial, if not a measurement
	next   int   // the current iteration, or the next one
	told   int64 // progress that the host has been told
	report map[int]note
	status map[int]counts // each process's last status of this iteration
	still  map[int]bool   // processes that have stood still since the last wave
	waves  int            // times in a row that all have
}

// counts say how far a process has come.
type counts struct{ progress, sent, received int64 }

// trial runs one trial. An error between the processes leaves them out of step
// with each other.
func (l *leader) trial(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	c := l.crew
	if err := c.assign(t); err != nil {
		l.broken = err
		return executor.Measurement{}, err
	}
	lead := &leading{
		ctx: ctx, crew: c, trial: t, m: executor.Measurement{Checked: true},
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

// gather waits for everybody's report on the round, and says what comes next.
func (l *leading) gather(ctx context.Context, p *part) error {
	c := l.crew
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

// heard takes a report, or a status, of any process including this one. After
// three waves in which everybody stood still, nobody had moved and no message was
// under way, nothing will ever move again: that is a deadlock.
func (l *leading) heard(p *part, n note) error {
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
	if len(l.still) < l.crew.world.Size {
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
		if err := l.crew.tell(note{kind: noteOver}); err != nil {
			return err
		}
		return p.over()
	}
	return l.deadlock(p)
}

// leave gives a trial up between two iterations.
func (p *part) leave(ctx context.Context, tick <-chan time.Time) error {
	if err := p.leader.giveUp(p, ctx.Err()); err != nil {
		return err
	}
	for {
		if err := p.wait(ctx, tick); err != nil {
			return err
		}
	}
}

// giveUp stops everybody. The trial is over when all have stopped and nothing is
// under way.
func (l *leading) giveUp(p *part, why error) error {
	l.err = why
	l.waves = 0
	clear(l.still)
	p.halt()
	return l.crew.tell(note{kind: noteStop})
}

// tell tells the host that the trial goes on.
func (l *leading) tell() {
	l.told++
	executor.Progress(l.ctx, l.told)
}

// deadlock stops everybody, and collects where each stands.
func (l *leading) deadlock(p *part) error {
	c := l.crew
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

// standstill collects where the threadblocks of each process stand, the leader's
// own first. Other notes, sent before their senders heard that all is over, are
// passed over.
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

// Follow is what the other processes of a launch do: their share of every trial,
// until the leader ends the launch.
func Follow() error {
	c, err := newCrew()
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
