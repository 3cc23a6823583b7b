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

// documents are the last trial's, which are not sent again.
type documents struct {
	program  *ir.Program
	topology *topologies.Topology
}

// assign sends a trial to the followers: its documents, if they have changed, and then its
// knobs.
func (g *group) assign(t executor.Trial) error {
	first := note{kind: noteTrial, at: int64(t.Protocol), a: t.Bytes, b: t.TileBytes, c: int64(t.Iters), d: int64(t.Warmup), e: t.Seed}
	first.text = fmt.Appendf(nil, "%s %s", named(t.DType, "f32"), named(t.Op, "sum"))
	if t.Program != g.last.program {
		var b bytes.Buffer
		if err := ir.Encode(&b, t.Program); err != nil {
			return err
		}
		if err := g.tell(note{kind: noteTrial, at: atProgram, text: b.Bytes()}); err != nil {
			return err
		}
	}
	if t.Topology != g.last.topology {
		if err := g.tell(note{kind: noteTrial, at: atTopology, text: t.Topology.Encode()}); err != nil {
			return err
		}
	}
	g.last = documents{t.Program, t.Topology}
	return g.tell(first)
}

func named(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// assigned reads a note of assign. all is false if more notes of it follow.
func (g *group) assigned(n note) (t executor.Trial, all bool, err error) {
	switch n.at {
	case atProgram:
		g.last.program, err = ir.Decode(bytes.NewReader(n.text))
		return t, false, err
	case atTopology:
		g.last.topology, err = topologies.Decode(n.text)
		return t, false, err
	}
	t = executor.Trial{
		Program: g.last.program, Topology: g.last.topology, Protocol: topologies.Proto(n.at),
		Bytes: n.a, TileBytes: n.b, Iters: int(n.c), Warmup: int(n.d), Seed: n.e,
	}
	_, err = fmt.Sscanf(string(n.text), "%s %s", &t.DType, &t.Op)
	return t, true, err
}

// share is one process's share of a trial.
type share struct {
	group  *group
	run    *run
	leader *leading // nil in a follower
	own    note     // the report for the next round
	going  bool     // noteGo has come
	halted bool     // the threadblocks were stopped early
}

// prepared returns the run of this process's share. Its error is to be reported to the
// leader.
func (g *group) prepared(t executor.Trial) (*run, error) {
	p, err := prepare(t.Program, t.Topology)
	if err != nil {
		return nil, err
	}
	r, err := p.settings(t)
	if err != nil {
		return nil, err
	}
	here := func(rank int) bool { return g.owner(rank, p.program.Ranks()) == g.world.Rank }
	limit, err := memoryLimit(neighbours(g.world.Size))
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("process %d's part of %s of %d bytes", g.world.Rank, p.collective.Name, t.Bytes)
	r.memory = r.need(here)
	if err := fits(r.memory, limit, what); err != nil {
		return nil, err
	}
	r.build(here)
	return r, nil
}

// neighbours returns how many processes of the launch share this machine; all of them if
// the launcher doesn't say.
func neighbours(all int) int {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
	}
	return all
}

// errOver ends a process's share of a trial.
var errOver = errors.New("the leader has ended the trial")

// perform runs this process's share of a trial from beginning to end, in step with
// the others.
func (g *group) perform(ctx context.Context, t executor.Trial, l *leading) error {
	p := &share{group: g, leader: l, own: note{kind: noteReport, at: -1}}
	var err error
	if p.run, err = g.prepared(t); err == nil {
		g.between, err = g.transport(p.run)
	}
	defer func() { g.between = nil }()
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
	defer giveBack(p.run.memory)
	defer p.run.stop()
	for i := 0; ; i++ {
		checked := i == 0 || i == p.run.iterations-1
		if checked && len(p.own.text) == 0 {
			if err := g.meanwhile(p.run.reset); err != nil {
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
			if err := g.meanwhile(func() { p.own.b = p.run.wrong() }); err != nil {
				return err
			}
		}
	}
}

// agree reports to the leader and waits for noteGo. The error is errOver at the end of the
// trial.
func (p *share) agree(ctx context.Context) error {
	c := p.group
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

// wait makes progress on messages, handles one note, and sends a status at a tick.
func (p *share) wait(ctx context.Context, tick <-chan time.Time) error {
	c := p.group
	if err := c.poll(); err != nil {
		return err
	}
	if n, ok := c.next(); ok {
		return p.handle(n)
	}
	select {
	case <-tick:
		return p.status(ctx)
	default:
		c.rest()
		return nil
	}
}

// handle handles a note. The error is errOver if the note ends this share of the trial.
func (p *share) handle(n note) error {
	if p.leader != nil {
		return p.leader.handle(p, n)
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
		p.group.inbox = append([]note{n}, p.group.inbox...)
		return errOver
	}
	return nil
}

// over waits until no message is under way.
func (p *share) over() error {
	c := p.group
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

// halt stops the threadblocks wherever they are. Their messages still go to free slots.
func (p *share) halt() {
	p.halted = true
	p.run.stop()
}

// stuck stops this share, and reports where its threadblocks wait.
func (p *share) stuck() error {
	c := p.group
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

// statusEvery is the time between two statuses of a process.
const statusEvery = 100 * time.Millisecond

// iteration runs this process's share of iteration i.
func (p *share) iteration(ctx context.Context, i int) (time.Duration, error) {
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

// status sends this process's counts to the leader.
func (p *share) status(ctx context.Context) error {
	c := p.group
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
		return p.leader.handle(p, n)
	}
	return c.send(0, n)
}
