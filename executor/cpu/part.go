package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// documents are the last trial's. A follower that has them is not sent them again.
type documents struct {
	program  *ir.Program
	topology *topologies.Topology
}

// assign tells the followers about a trial: its knobs in a note of their own, and
// its documents if they have changed.
func (c *crew) assign(t executor.Trial) error {
	first := note{kind: noteTrial, at: int64(t.Protocol), a: t.Bytes, b: t.TileBytes, c: int64(t.Iters), d: int64(t.Warmup), e: t.Seed}
	first.text = fmt.Appendf(nil, "%s %s", named(t.DType, "f32"), named(t.Op, "sum"))
	if t.Program != c.last.program {
		var b bytes.Buffer
		if err := ir.Encode(&b, t.Program); err != nil {
			return err
		}
		if err := c.tell(note{kind: noteTrial, at: atProgram, text: b.Bytes()}); err != nil {
			return err
		}
	}
	if t.Topology != c.last.topology {
		if err := c.tell(note{kind: noteTrial, at: atTopology, text: t.Topology.Encode()}); err != nil {
			return err
		}
	}
	c.last = documents{t.Program, t.Topology}
	return c.tell(first)
}

func named(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// assigned takes in what assign has sent. all is false if more is to come.
func (c *crew) assigned(n note) (t executor.Trial, all bool, err error) {
	switch n.at {
	case atProgram:
		c.last.program, err = ir.Decode(bytes.NewReader(n.text))
		return t, false, err
	case atTopology:
		c.last.topology, err = topologies.Decode(n.text)
		return t, false, err
	}
	t = executor.Trial{
		Program: c.last.program, Topology: c.last.topology, Protocol: topologies.Proto(n.at),
		Bytes: n.a, TileBytes: n.b, Iters: int(n.c), Warmup: int(n.d), Seed: n.e,
	}
	_, err = fmt.Sscanf(string(n.text), "%s %s", &t.DType, &t.Op)
	return t, true, err
}

// part is one process's share of a trial.
type part struct {
	crew   *crew
	run    *run
	leader *leading // nil in a follower
	own    note     // the report for the next round
	going  bool     // the leader has said to go on
	halted bool     // the threadblocks were stopped early
}

// prepared prepares this process's share. Its error is to be reported to the
// leader.
func (c *crew) prepared(t executor.Trial) (*run, error) {
	p, err := prepare(t.Program, t.Topology)
	if err != nil {
		return nil, err
	}
	r, err := p.settings(t)
	if err != nil {
		return nil, err
	}
	here := func(rank int) bool { return c.owner(rank, p.program.Ranks()) == c.world.Rank }
	limit, err := memoryLimit(neighbours(c.world.Size))
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("process %d's part of %s of %d bytes", c.world.Rank, p.collective.Name, t.Bytes)
	r.taken = r.need(here)
	if err := fits(r.taken, limit, what); err != nil {
		return nil, err
	}
	r.build(here)
	return r, nil
}

// neighbours is how many processes of the launch share this machine; all of them
// if the launcher doesn't say.
func neighbours(all int) int {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
	}
	return all
}

// errOver ends a follower's share of a trial.
var errOver = errors.New("the leader has ended the trial")

// perform runs this process's share of a trial from beginning to end, in step with
// the others.
func (c *crew) perform(ctx context.Context, t executor.Trial, l *leading) error {
	p := &part{crew: c, leader: l, own: note{kind: noteReport, at: -1}}
	var err error
	if p.run, err = c.prepared(t); err == nil {
		c.between, err = c.transport(p.run)
	}
	defer func() { c.between = nil }()
	if err != nil {
		p.own.text = []byte(err.Error())
		if errors.Is(err, executor.ErrUnsupported) {
			p.own.c = 1
		}
	}
	if p.run == nil {
		p.run = &run{}
	}
	p.run.launch()
	defer giveBack(p.run.taken)
	defer p.run.stop()
	for i := 0; ; i++ {
		checked := i == 0 || i == p.run.iterations-1
		if checked && len(p.own.text) == 0 {
			if err := c.meanwhile(p.run.reset); err != nil {
				return err
			}
		}
		if err := p.agree(ctx); err != nil {
			return err
		}
		took, err := p.iteration(ctx, i)
		if err != nil {
			return err
		}
		p.own.a, p.own.b = int64(took), 0
		if checked {
			if err := c.meanwhile(func() { p.own.b = p.run.wrong() }); err != nil {
				return err
			}
		}
	}
}

// agree reports to the leader and waits to be told to go on. The error is errOver
// if there is nothing more to do.
func (p *part) agree(ctx context.Context) error {
	c := p.crew
	if p.leader != nil {
		return p.leader.gather(ctx, p)
	}
	if err := c.send(0, p.own); err != nil {
		return err
	}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for p.going = false; !p.going; {
		if err := p.wait(ctx, tick.C); err != nil {
			return err
		}
	}
	return nil
}

// wait makes progress until it is time to look again at messages, notes and the
// clock.
func (p *part) wait(ctx context.Context, tick <-chan time.Time) error {
	c := p.crew
	if err := c.poll(); err != nil {
		return err
	}
	if n, ok := c.next(); ok {
		return p.heard(n)
	}
	select {
	case <-tick:
		return p.status(ctx)
	default:
		c.rest()
		return nil
	}
}

// heard does what a note says. The error is errOver if the note ends this share of
// the trial.
func (p *part) heard(n note) error {
	if p.leader != nil {
		return p.leader.heard(p, n)
	}
	switch n.kind {
	case noteGo:
		p.going = true
	case noteOver:
		return p.over()
	case noteStop:
		p.halt()
	case noteStuck:
		return p.stuck()
	case noteQuit:
		p.crew.inbox = append([]note{n}, p.crew.inbox...)
		return errOver
	}
	return nil
}

// over waits until nothing is under way.
func (p *part) over() error {
	c := p.crew
	if p.halted || p.own.at < 0 { // nothing is under way, or nothing was ever sent
		if c.between != nil {
			if err := c.between.cancel(); err != nil {
				return err
			}
		}
		return errOver
	}
	for !c.between.empty() {
		if err := c.poll(); err != nil {
			return err
		}
		c.rest()
	}
	return errOver
}

// halt stops the threadblocks wherever they are. What they have sent still goes to
// slots that are free for it.
func (p *part) halt() {
	p.halted = true
	p.run.stop()
}

// stuck stops this share where it is, and reports where that is.
func (p *part) stuck() error {
	c := p.crew
	text := []byte(p.run.places())
	p.halt()
	if err := c.between.cancel(); err != nil {
		return err
	}
	if p.leader == nil {
		if err := c.send(0, note{kind: noteReport, at: atPlaces, text: text}); err != nil {
			return err
		}
	}
	return errOver
}

// statusEvery is how often a process says how far it is.
const statusEvery = 100 * time.Millisecond

// iteration runs this process's share of iteration i.
func (p *part) iteration(ctx context.Context, i int) (time.Duration, error) {
	p.own.at = int64(i)
	begun, busy := p.run.begin(i)
	if !busy {
		return 0, nil
	}
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case end := <-p.run.ended:
			return end.Sub(begun), nil
		default:
		}
		if err := p.wait(ctx, tick.C); err != nil {
			return 0, err
		}
	}
}

// status tells the leader how far this process is.
func (p *part) status(ctx context.Context) error {
	c := p.crew
	if c.between == nil || p.own.at < 0 {
		return nil // nothing has begun yet
	}
	if err := ctx.Err(); err != nil && !p.halted {
		return p.leader.giveUp(p, err)
	}
	still, progress := p.run.still()
	n := note{kind: noteStatus, at: p.own.at, a: int64(progress), b: c.between.sent, c: c.between.received}
	if (still || p.halted) && c.between.still() {
		n.d = 1
	}
	if p.leader != nil {
		return p.leader.heard(p, n)
	}
	return c.send(0, n)
}
