package sim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// ModelVersion changes whenever a trial would give another time than before.
const ModelVersion = "2"

// Knobs are the choices with which a program is run.
type Knobs struct {
	Bytes     int64 // of the larger user buffer, as nccl-tests counts
	Protocol  topologies.Proto
	TileBytes int64 // of a chunk and iteration; 0: the protocol's own
	ElemBytes int64 // of one element; 0: 4
}

// Result is the result of a run.
type Result struct {
	TimeUS    float64
	Tiles     int // iterations of the tile loop
	Simulated int // of these
	Method    Method
	Events    int64 // of the simulation's queue
}

// Method is how the tiles that were not simulated were accounted for.
type Method uint8

// The methods, most exact first.
const (
	Whole    Method = iota // every tile was simulated
	Periodic               // the tile loop had become periodic: the rest repeats it
	Linear                 // two shorter runs, and a line through them
)

var methodNames = [...]string{"whole", "periodic", "linear"}

// String returns whole, periodic or linear.
func (m Method) String() string { return methodNames[m] }

// Run prepares a program and runs it once. Errors are those of Prepare and Prepared.Run.
func Run(p *ir.Program, t *topologies.Topology, k Knobs) (Result, error) {
	prepared, err := Prepare(p, t)
	if err != nil {
		return Result{}, err
	}
	return prepared.Run(k)
}

// Steps is the number of steps that are simulated for each tile: what does the same counts once.
func (p *Prepared) Steps() int { return len(p.ops) }

// Run simulates the program. Safe for concurrent use. The error is about knobs out of
// range, or a deadlock.
func (p *Prepared) Run(k Knobs) (Result, error) { return p.RunContext(context.Background(), k) }

// RunContext is Run until ctx is done, whose error it returns then.
func (p *Prepared) RunContext(ctx context.Context, k Knobs) (Result, error) {
	c, err := p.costs(k)
	if err != nil {
		return Result{}, err
	}
	e := p.engine()
	defer p.engines.Put(e)
	r, err := e.run(ctx, c)
	if err != nil {
		return Result{}, err
	}
	return r, p.checkTime(r)
}

// checkTime returns an error if a result's time is no number.
func (p *Prepared) checkTime(r Result) error {
	if math.IsNaN(r.TimeUS) || math.IsInf(r.TimeUS, 0) {
		return fmt.Errorf("simulated time of %s is %v: a constant of %s is out of range", p.program.Collective.Name, r.TimeUS, p.topology.Name)
	}
	return nil
}

// operations are the reductions that the model accepts. All cost the same.
var operations = []string{"sum", "prod", "min", "max", "avg"}

// simulator makes the model an executor.
type simulator struct {
	mu   sync.Mutex
	kept []*Prepared // used last first, because a search returns to its programs at every size
}

// Limits of the programs that are kept prepared: their number, and their steps together with
// the ops that these come to when folded, some 100 bytes each. One is kept in any case.
const (
	maxPrograms  = 1 << 8
	maxKeptSteps = 6 << 20
)

// Name is the simulator's name as an executor.
const Name = "sim"

func init() { executor.RegisterModel(Name, New) }

// New returns the simulator. It needs no Close.
func New() executor.Executor { return &simulator{} }

// Describe describes the model.
func (s *simulator) Describe(context.Context) (executor.Description, error) {
	return executor.Description{
		Name:          Name,
		Version:       ModelVersion,
		Deterministic: true,
		Simulated:     true,
		Protocols:     topologies.ProtocolNames(),
		DTypes:        collective.DTypes(),
		Operations:    operations,
		Fingerprint:   map[string]string{"model": ModelVersion},
	}, nil
}

// secondsPerEvent is what an event of the queue takes, about (BenchmarkRun).
const secondsPerEvent = 1e-6

// Run simulates one trial. It returns a single time, since every iteration takes the same.
func (s *simulator) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	k, err := knobsOf(t)
	if err != nil {
		return executor.Measurement{}, err
	}
	p, err := s.prepared(t.Program, t.Topology)
	if err != nil {
		return executor.Measurement{}, err
	}
	r, err := p.RunContext(ctx, k)
	if err != nil {
		return executor.Measurement{}, err
	}
	return executor.Measurement{TimesUS: []float64{r.TimeUS}, CostSeconds: float64(r.Events) * secondsPerEvent}, nil
}

// knobsOf returns the knobs of a trial. The error says what of the trial the model does not
// know.
func knobsOf(t executor.Trial) (Knobs, error) {
	if t.Program == nil || t.Topology == nil {
		return Knobs{}, fmt.Errorf("trial lacks its program or topology")
	}
	elem, err := collective.ElemBytes(orDefault(t.DType, "f32"))
	if err != nil {
		return Knobs{}, err
	}
	if op := orDefault(t.Op, "sum"); !slices.Contains(operations, op) {
		return Knobs{}, fmt.Errorf("unknown operation %q: want one of %v", op, operations)
	}
	return Knobs{Bytes: t.Bytes, Protocol: t.Protocol, TileBytes: t.TileBytes, ElemBytes: elem}, nil
}

// prepared prepares a program, unless it is kept from an earlier trial.
func (s *simulator) prepared(program *ir.Program, topology *topologies.Topology) (*Prepared, error) {
	if p := s.recall(program, topology); p != nil {
		return p, nil
	}
	p, err := Prepare(program, topology)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.Insert(s.kept, 0, p)
	steps := 0
	for i, p := range s.kept {
		if steps += p.steps + len(p.ops); i > 0 && (steps > maxKeptSteps || i == maxPrograms) {
			s.kept = slices.Delete(s.kept, i, len(s.kept))
			break
		}
	}
	return p, nil
}

// recall returns a program that was kept prepared; nil if it was not.
func (s *simulator) recall(program *ir.Program, topology *topologies.Topology) *Prepared {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.kept, func(p *Prepared) bool { return p.program == program && p.topology == topology })
	if at < 0 {
		return nil
	}
	p := s.kept[at]
	s.kept = slices.Insert(slices.Delete(s.kept, at, at+1), 0, p)
	return p
}

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
