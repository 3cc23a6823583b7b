package autotune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/topologies"
)

// Problem is a collective call to tune on a system: all that a trial depends on besides
// its program. It is not changed once Run has it.
type Problem struct {
	collective.Call
	Topology     *topologies.Topology
	TopologyHash string
	Sizes        []int64            // as nccl-tests counts them
	Protocols    []topologies.Proto // none: all of them
	// Tiles are the tile sizes to try with each protocol; none: the topology's own
	// list (Protocol.Tiles), which includes the runtime's own tile.
	Tiles  [3][]int64
	Iters  int
	Warmup int
	Seed   int64
	// Gain: a strategy that expects less than this part of a size's time to be gained is
	// done with it. 0: DefaultGain.
	Gain float64
	// Earlier are trials of campaigns on the same executor, which strategies learn from.
	Earlier []Earlier
	// Runtime is a name of export.Runtimes: only programs that it would load and run
	// are tried, with its own tile if it has one. Baselines are measured all the same,
	// for comparison. Empty: all programs are tried.
	Runtime string
	// LeastUS returns a lower bound in microseconds of every routing at a size; nil if
	// none is proved. A measurement below it fails.
	LeastUS func(bytes int64) float64
	// OtherLinks means that the executor's ranks are not connected by the topology's
	// links. Bounds then exclude nothing and only order the candidates.
	OtherLinks bool
	// InTurns means that the executor says so itself, as cpu does: its ranks are no GPUs, and
	// their steps take turns. Ranks that share a GPU run side by side.
	InTurns bool
}

// Earlier is the time of a configuration in another campaign.
type Earlier struct {
	Bytes     int64
	Placement string
	Program   string // its hash
	Protocol  string
	TileBytes int64
	TimeUS    float64 // median
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
	// Setting is of the vendor's library, where Program and Native are nil: a model has its times.
	Setting *Setting
	// SlotsNeeded is the number of FIFO slots that each connection must have for the
	// program to complete, however many calls its steps are split into. Protocols with
	// fewer are not tried.
	SlotsNeeded int
	// Bound returns a lower bound in microseconds of every run on the executor; nil if
	// there is none, and the candidate can't be left out.
	Bound func(bytes int64, proto topologies.Proto, tile int64) float64
	// Prior returns what a model says of a native algorithm's time before any trial, in
	// microseconds; 0 where it says nothing. nil: it never does.
	Prior func(bytes int64, proto topologies.Proto) float64
	// Protocols are those the program may be run with; none: the problem's.
	Protocols []topologies.Proto
	// Baseline are the points at which the vendor's library would run this program.
	// They are measured first and never left out.
	Baseline []Point
	// Reference programs are run at their Baseline points only, for comparison: they
	// can't win, and exclude no other trial.
	Reference bool
}

// Setting is what variables make the vendor's library run. No executor runs it: its times are computed, as those of the
// library's own choice are, and journaled as trials.
type Setting struct {
	// At says what there is at a size with a protocol; ok is false where the library runs the same by itself.
	At func(bytes int64, proto topologies.Proto) (_ Set, ok bool)
	// US is the time in microseconds, where there is one.
	US func(ctx context.Context, bytes int64, proto topologies.Proto) (float64, error)
}

// Set is what is known of a setting at a size before its time is.
type Set struct {
	Threadblocks int    // of a GPU; 0: none, or not known
	Evidence     string // of the time, as results.Evidences
}

// Point is a size and the knobs a program is run with there.
type Point struct {
	Bytes     int64
	Protocol  topologies.Proto
	TileBytes int64 // 0: the runtime's own
}

// Options say how a campaign is run, and how far.
type Options struct {
	// Executors run the trials, at most Jobs of them. The caller closes the pool.
	Executors *executor.Pool
	// Jobs is how many trials run at a time, at least 1. An executor whose times
	// vary always runs one. It never changes the answer.
	Jobs     int
	Campaign *results.Campaign
	Strategy string        // one of Strategies; empty: bounded where times are exact, else model
	Trials   int           // most new trials; 0: no limit
	Budget   time.Duration // no trial begins after this time, and none goes on if its time is computed; 0: no limit
	Deadline time.Duration // of a trial, enforced by the executor; 0: executor.DefaultTrialTimeout
	Progress func(Event)   // never called by two goroutines at once; nil: none
}

// deadline is how long a trial may take.
func (o *Options) deadline() time.Duration {
	return cmp.Or(o.Deadline, executor.DefaultTrialTimeout)
}

// Summary counts the trials of a run and the candidates by what became of them.
type Summary struct {
	Tuned      int               // candidates with at least one trial
	BoundedOut int               // candidates that could win nowhere
	Refused    map[string]int    // candidates that can be run nowhere, by reason
	Untried    int               // candidates that a limit or an interrupt came before, or a strategy expected little of
	Cells      int               // sizes and placements to tune at
	Finished   int               // of these, those that were completed
	Outlook    []results.Outlook // by size and placement, of strategies that have one
	Duplicates int               // candidates with the same program as another
	Trials     int               // made by this run
	Known      int               // found in the journal
	Again      int               // found there without a result, and made once more
	Failed     int               // of both, those without a result
	// Undecided names a runtime that loads few files, if the run ended before these
	// were chosen. All cells are completed then.
	Undecided string
	// Changed is the journal's executor if its trials are not used, because this run's
	// executor has another fingerprint; else nil.
	Changed *results.Executor
}

// DefaultGain is the part of a size's time below which a strategy expects too little to go on.
const DefaultGain = 0.01

// ErrInterrupted is Run's error when its context was cancelled. All outcomes so far are
// in the journal.
var ErrInterrupted = errors.New("interrupted")

// LimitError reports that Trials or Budget was reached before the end.
type LimitError struct {
	Limit string // "trials" or "budget"
	Value string // as it was given
}

// Error names the limit and its value.
func (e *LimitError) Error() string {
	return fmt.Sprintf("limit of %s reached (%s): partial results kept", e.Limit, e.Value)
}

// Spent says of a limit that was reached as asked that it was.
func (e *LimitError) Spent() string {
	switch {
	case e.Limit == "trials" && e.Value == "1":
		return "the trial asked for is made"
	case e.Limit == "trials":
		return fmt.Sprintf("the %s trials asked for are made", e.Value)
	}
	value := e.Value // a duration: 3m rather than 3m0s
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(value, zero) {
			value = value[:len(value)-2]
		}
	}
	return fmt.Sprintf("the budget of %s is spent", value)
}

// Is makes errors.Is(err, ErrLimit) true for every LimitError.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// ErrLimit matches every LimitError.
var ErrLimit = errors.New("limit reached")

// TooSlowError ends a run of which every trial met its deadline.
type TooSlowError struct {
	Trials   int
	Deadline time.Duration
}

// Error says so, and what would do.
func (e *TooSlowError) Error() string {
	return fmt.Sprintf("all of the first %d trials were given up after %v: want a longer time limit of a trial, or programs that end", e.Trials, e.Deadline)
}

// Unwrap returns executor.ErrTimeout.
func (e *TooSlowError) Unwrap() error { return executor.ErrTimeout }

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
		return p.Topology.HasProtocols()
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
