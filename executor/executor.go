package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// DefaultTrialTimeout is a trial's deadline where none is given.
const DefaultTrialTimeout = 10 * time.Minute

// Executor runs programs and times them. An implementation lives in a process
// of its own; host.Host is the client's side of it.
type Executor interface {
	// Describe returns the executor's description. An error that wraps ErrUnavailable
	// says that this machine can't have it, one that wraps ErrSettings that its settings
	// are wrong.
	Describe(ctx context.Context) (Description, error)
	// Run runs one trial, until ctx is done. A wrong result is a Measurement with Wrong
	// set, not an error. An error wraps ErrUnsupported or ErrDeviceLost, or fails this
	// trial alone.
	Run(ctx context.Context, t Trial) (Measurement, error)
}

// Trial is one program, or one native algorithm, at one size with one set of knobs. An
// executor changes neither the program nor the topology.
type Trial struct {
	Program *ir.Program
	// Native is run in place of a program. It computes Collective, whose Chunks are
	// ignored and arrive as 1.
	Native     *Native
	Collective collective.Spec

	Topology  *topologies.Topology
	Bytes     int64 // as nccl-tests counts them
	Protocol  topologies.Proto
	TileBytes int64  // how much of each chunk one pass over a program moves
	DType     string // one of collective.DTypes: "f32"
	Op        string // the reduction: "sum"
	Iters     int    // timed iterations; 0: one
	Warmup    int    // iterations before them
	Seed      int64  // of the inputs
	// Trials of the campaign before this one: of the same point, and of any. They tell an
	// executor that plays times back which noise a trial has; no other needs them.
	Repeat, Before int
}

// Validate returns an error if no executor could run the trial. It sets the Chunks of a
// native algorithm's collective to 1.
func (t *Trial) Validate() error {
	ranks := 0
	switch {
	case t.Topology == nil || t.Program == nil && t.Native == nil:
		return errors.New("trial without a program or a topology")
	case t.Program != nil && t.Native != nil:
		return fmt.Errorf("trial of a program and of the algorithm %q: want one of them", t.Native.Algorithm)
	case t.Bytes < 0 || t.TileBytes < 0 || t.Iters < 0 || t.Warmup < 0:
		return fmt.Errorf("%d bytes in tiles of %d, %d iterations after %d: want none below 0", t.Bytes, t.TileBytes, t.Iters, t.Warmup)
	case t.Native != nil:
		t.Collective.Chunks = 1
		if _, err := collective.New(t.Collective); err != nil {
			return err
		}
		ranks = t.Collective.Ranks
	default:
		ranks = t.Program.Ranks()
	}
	if n := len(t.Topology.Ranks); n != ranks {
		return fmt.Errorf("%d ranks on a topology of %d", ranks, n)
	}
	return nil
}

// reduces reports whether the trial's collective reduces, so that Op matters.
func (t *Trial) reduces() bool {
	spec := t.Collective
	if t.Program != nil {
		spec = t.Program.Collective
	}
	c, err := collective.New(spec)
	return err == nil && c.Reduces()
}

// Measurement is the result of a trial.
type Measurement struct {
	TimesUS []float64 `json:"times_us"` // microseconds, one an iteration; a deterministic executor gives one
	Wrong   int64     `json:"wrong"`    // elements that differ from the reference
	Checked bool      `json:"checked"`  // every element of the result was compared with the reference
	Note    string    `json:"note,omitempty"`
	// CostSeconds is what the trial costs, told by an executor whose own time depends on
	// the machine while its results do not; 0: what the host's clock says.
	CostSeconds float64 `json:"cost_seconds,omitempty"`
}

// maxCostSeconds exceeds what any trial costs.
const maxCostSeconds = 1e10

// Validate returns an error if no trial of iters iterations can have the measurement.
func (m *Measurement) Validate(iters int) error {
	if len(m.TimesUS) == 0 {
		return errors.New("measurement without a time")
	}
	if most := max(iters, 1); len(m.TimesUS) > most {
		return fmt.Errorf("measurement of %d times: want at most %d, one an iteration", len(m.TimesUS), most)
	}
	for _, t := range m.TimesUS {
		if err := units.CheckTimeUS(t); err != nil {
			return fmt.Errorf("measurement with a %w", err)
		}
	}
	if m.Wrong < 0 {
		return fmt.Errorf("measurement with %d wrong elements", m.Wrong)
	}
	if !(m.CostSeconds >= 0 && m.CostSeconds <= maxCostSeconds) {
		return fmt.Errorf("measurement that cost %v s: want 0 to %g", m.CostSeconds, maxCostSeconds)
	}
	return nil
}
