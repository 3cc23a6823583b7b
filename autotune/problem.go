package autotune

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
)

// Problem is what is tuned: all that a trial depends on besides its program.
type Problem struct {
	Topology     *topologies.Topology
	TopologyHash string
	Sizes        []int64            // as nccl-tests counts them
	Protocols    []topologies.Proto // none: all of them
	// Tiles are the tile sizes to try with each protocol; none: the topology's own
	// list (Protocol.Tiles), which includes the runtime's own tile.
	Tiles  [3][]int64
	DType  string // f32
	Op     string // sum
	Iters  int
	Warmup int
	Seed   int64
	// Runtime is a name of export.Runtimes. Only what that runtime would load and
	// run is tried, with its own tile if it has one. What the vendor's library
	// does is measured all the same, for comparison. Empty: no runtime is asked.
	Runtime string
	// LeastUS is a time in microseconds that no routing can beat at a size; nil
	// where none is proved. A measurement below it is not believed.
	LeastUS func(bytes int64) float64
	// OtherLinks means that the executor's ranks are not connected by the topology's
	// links. Bounds then exclude nothing and only order the candidates.
	OtherLinks bool
	// Devices is how many the executor has. Each holds SlotCache bytes of slots
	// near its processors; 0: not known.
	Devices   int
	SlotCache int64
}

// Candidate is one verified program, ready to be run with any protocol whose
// slots it fits, or a native algorithm of the vendor's library.
type Candidate struct {
	Algorithm  string         // the family's canonical name
	Source     string         // template, synthesised, backend
	Parameters map[string]any // strings, numbers, booleans
	Channels   int
	Instances  int
	Program    *ir.Program
	Hash       string // of Program, or results.NativeHash; candidates of equal hashes are one
	// Native is run where Program is nil, and computes Collective. It has no tile.
	// Chooses: it also chooses its protocol.
	Native     *executor.Native
	Collective collective.Spec
	Chooses    bool
	// SlotsNeeded is how many FIFO slots each connection must have for the program
	// to complete, however many calls its steps are split into. Protocols with
	// fewer are not tried.
	SlotsNeeded int
	// Bound is a time in microseconds that no run on the executor can beat; nil
	// where there is none, and the candidate can't be left out.
	Bound func(bytes int64, proto topologies.Proto, tile int64) float64
	// Protocols are all that the program may be run with; none: the problem's.
	Protocols []topologies.Proto
	// Baseline are the points at which this program is what the vendor's
	// library would run. They are measured first and never left out.
	Baseline []Point
	// Reference programs are run at their Baseline points only, for comparison:
	// they win nothing and rule nothing out.
	Reference bool
}

// Point is a size and the knobs a program is run with there.
type Point struct {
	Bytes     int64
	Protocol  topologies.Proto
	TileBytes int64 // 0: the runtime's own
}

// Options say how a campaign is run, and how far.
type Options struct {
	// Executors run the trials, at most Jobs of them. Whoever made the pool closes it.
	Executors *executor.Pool
	// Jobs is how many trials run at a time, at least 1. An executor whose times
	// vary always runs one. It never changes the answer.
	Jobs     int
	Campaign *results.Campaign
	Trials   int           // at most this many new trials; 0: no limit
	Budget   time.Duration // no new trial after this long, and where times are computed, none goes on; 0: no limit
	Timeout  time.Duration // of a trial; 0: none but the executor's own
	Deadline time.Duration // a trial's, kept by the executor; 0: executor.DefaultTrialTimeout
	Progress func(Event)   // is never called by two goroutines at once; may be nil
}

// deadline is how long a trial may take, whoever enforces it.
func (o *Options) deadline() time.Duration {
	own := o.Deadline
	if own <= 0 {
		own = executor.DefaultTrialTimeout
	}
	if o.Timeout > 0 {
		return min(o.Timeout, own)
	}
	return own
}

// Summary says what a run did, and what became of the candidates.
type Summary struct {
	Tuned      int            // candidates with at least one trial
	BoundedOut int            // candidates that could win nowhere
	Refused    map[string]int // candidates that can be run nowhere, by reason
	Untried    int            // candidates that a limit or an interrupt came before
	Cells      int            // sizes and placements to tune at
	Finished   int            // of these, those that were completed
	Duplicates int            // candidates with the same program as another
	Trials     int            // made by this run
	Known      int            // found in the journal
	Again      int            // found there without a result, and made once more
	Failed     int            // of both, those without a result
	// Undecided is a runtime that loads few files, where the run ended before it
	// was known which. All cells are completed then.
	Undecided string
	// Changed is an executor whose trials in the journal are not used, because
	// this run's executor has another fingerprint.
	Changed *results.Executor
}

// ErrInterrupted says that the context was cancelled. All that was measured is in
// the journal.
var ErrInterrupted = errors.New("interrupted")

// LimitError says that Trials or Budget was reached before the end.
type LimitError struct {
	Limit string // "trials" or "budget"
	Value string // as it was given
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit of %s reached (%s): partial results kept", e.Limit, e.Value)
}

// Is makes errors.Is(err, ErrLimit) true for every LimitError.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// ErrLimit is wrapped by every LimitError.
var ErrLimit = errors.New("limit reached")

// check refuses a problem that no campaign could work on.
func (p *Problem) check() error {
	if p.Topology == nil {
		return errors.New("problem without a topology")
	}
	if _, err := collective.ElemBytes(p.DType); err != nil {
		return err
	}
	if p.Runtime != "" {
		if _, err := export.RuntimeNamed(p.Runtime); err != nil {
			return err
		}
	}
	if len(p.Sizes) == 0 || slices.Min(p.Sizes) < 1 {
		return fmt.Errorf("sizes %v: want at least one, each of at least 1 byte", p.Sizes)
	}
	return nil
}

// protocols lists those to try, in order.
func (p *Problem) protocols() []topologies.Proto {
	if len(p.Protocols) == 0 {
		return topologies.AllProtocols[:]
	}
	return p.Protocols
}

// ownTile is the tile the topology's runtime uses by itself.
func (p *Problem) ownTile(proto topologies.Proto) int64 {
	return int64(p.Topology.Protocols[proto].Tile)
}

// tiles lists the tile sizes to try with a protocol. The runtime's own comes
// first, and so is the one kept of several that run alike. If a runtime is to run
// what is found, its own is the only one.
func (p *Problem) tiles(proto topologies.Proto) []int64 {
	list := slices.Clone(p.Tiles[proto])
	if len(list) == 0 && p.Runtime != "" {
		if runtime, err := export.RuntimeNamed(p.Runtime); err == nil {
			if own, any := runtime.Tile(proto.String()); !any {
				return slices.DeleteFunc([]int64{own}, func(t int64) bool { return t < 1 })
			}
		}
	}
	if len(list) == 0 {
		for _, t := range p.Topology.Protocols[proto].Tiles {
			list = append(list, int64(t))
		}
		list = append(list, p.ownTile(proto))
	}
	own := p.ownTile(proto)
	slices.SortFunc(list, func(a, b int64) int {
		switch {
		case a == b:
			return 0
		case a == own:
			return -1
		case b == own:
			return 1
		case a < b:
			return -1
		}
		return 1
	})
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(t int64) bool { return t < 1 })
}
