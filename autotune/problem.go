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
	"github.com/colltune/colltune/topologies"
)

// Problem is what is tuned: everything about a trial but its program.
type Problem struct {
	Topology     *topologies.Topology
	TopologyHash string
	Sizes        []int64            // as nccl-tests prints them
	Protocols    []topologies.Proto // none: all of them
	// Tiles are the tile sizes to try by protocol; none: the topology's own
	// list (Protocol.Tiles), which has the runtime's own tile in it.
	Tiles  [3][]int64
	DType  string // f32
	Op     string // sum
	Iters  int
	Warmup int
	Seed   int64
	// Runtime, a name of results.Runtimes, admits only what it would load and
	// run at a size, with its own tile where it has one; none: no runtime is asked. What the
	// vendor's library does is measured all the same, to be compared with.
	Runtime string
	// LeastUS is a time in microseconds that no routing can beat at a size; nil
	// where none is proved. A measurement below it is no measurement.
	LeastUS func(bytes int64) float64
	// OtherLinks tells that the topology's links don't join the executor's
	// ranks: bounds are no more than an order to try candidates in.
	OtherLinks bool
	// Devices are the executor's, each of which holds so many bytes of slots near
	// its processors; 0: nothing is known of that.
	Devices   int
	SlotCache int64
}

// Candidate is one verified program, ready to be run with any protocol whose
// slots it fits, or an algorithm of the back end's own.
type Candidate struct {
	Algorithm  string         // the family's canonical name
	Source     string         // template, synthesised, backend
	Parameters map[string]any // strings, numbers, booleans
	Channels   int
	Instances  int
	Program    *ir.Program
	Hash       string // of Program, or results.NativeHash; two candidates with one hash are one
	// Native is run where Program is nil, and computes Collective. It has no
	// tile; Chooses tells that the protocol is its own choice too.
	Native     *executor.Native
	Collective collective.Spec
	Chooses    bool
	// SlotsNeeded is the least FIFO slots a connection must have for the
	// program to complete, into however many calls its steps are split;
	// protocols with fewer are not tried.
	SlotsNeeded int
	// Bound is a time in microseconds that no run on the executor can beat;
	// nil where there is none, and then nothing is pruned.
	Bound func(bytes int64, proto topologies.Proto, tile int64) float64
	// Protocols limits what the program is run with; none: the problem's.
	Protocols []topologies.Proto
	// Baseline are the points at which this program is what the vendor's
	// library would run. They are measured first and never left out.
	Baseline []Point
	// Reference programs are run at their Baseline points only, to be compared
	// with: they win nothing and rule nothing out.
	Reference bool
}

// Point is a size and the knobs a program is run with there.
type Point struct {
	Bytes     int64
	Protocol  topologies.Proto
	TileBytes int64 // 0: the runtime's own
}

// Options is how a campaign is run, and how far.
type Options struct {
	// Executors makes a back end; called at most Jobs times. One that is an
	// io.Closer is closed before Run returns.
	Executors func() (executor.Executor, error)
	// Jobs is how many trials run at a time, at least 1; on a back end whose times
	// vary it is 1 always. Never changes the answer.
	Jobs     int
	Campaign *results.Campaign
	Trials   int           // at most this many new trials; 0: no limit
	Budget   time.Duration // no new trial after this long, and where times are computed none goes on; 0: no limit
	Timeout  time.Duration // of a trial; 0: none but the executor's own
	Deadline time.Duration // the executor's own, which it sees to; 0: executor.DefaultTrialTimeout
	Strategy string        // a row of strategies, by name; none: the first
	Progress func(Event)   // called from one goroutine at a time; may be nil
}

// deadline is how long a trial has, whoever sees to it.
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

// Summary is what a run did, and what became of the candidates.
type Summary struct {
	Tuned      int            // candidates with at least one trial
	BoundedOut int            // candidates that could win nowhere
	Refused    map[string]int // candidates that can be run nowhere, by reason
	Untried    int            // candidates that a limit or an interrupt kept from being looked at
	Cells      int            // sizes and placements to tune at
	Finished   int            // of them, those that were gone through
	Duplicates int            // candidates whose program another one has
	Trials     int            // made by this run
	Known      int            // found in the journal
	Again      int            // found there without a result, and made again
	Failed     int            // of both, those that are not ok
	// Changed is the executor whose trials the journal already held and that
	// are left aside, since this run's has another fingerprint.
	Changed *results.Executor
}

// ErrInterrupted says that the context was cancelled; everything measured is
// in the journal.
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

// ErrLimit is what every LimitError is.
var ErrLimit = errors.New("limit reached")

// check refuses a problem that no campaign can have.
func (p *Problem) check() error {
	if p.Topology == nil {
		return errors.New("problem without a topology")
	}
	if _, err := collective.ElemBytes(p.DType); err != nil {
		return err
	}
	if p.Runtime != "" {
		if _, err := results.RuntimeNamed(p.Runtime); err != nil {
			return err
		}
	}
	if len(p.Sizes) == 0 || slices.Min(p.Sizes) < 1 {
		return fmt.Errorf("sizes %v: want at least one, each of at least 1 byte", p.Sizes)
	}
	return nil
}

// protocols are those to try, in order.
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

// tiles are the tile sizes to try with a protocol, the runtime's own first, so
// that among tiles that run alike it is the one kept. A runtime that is to run
// what is found may have no other tile than its own.
func (p *Problem) tiles(proto topologies.Proto) []int64 {
	list := slices.Clone(p.Tiles[proto])
	if len(list) == 0 && p.Runtime != "" {
		if runtime, err := results.RuntimeNamed(p.Runtime); err == nil {
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
