package results

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Outcome is how a trial ended.
type Outcome string

// The outcomes. Only an ok trial can win.
const (
	OK          Outcome = "ok"
	Failed      Outcome = "failed"      // the executor refused it, or could not run it
	Crashed     Outcome = "crashed"     // the executor's process died
	TimedOut    Outcome = "timeout"     // no answer within the deadline
	Wrong       Outcome = "wrong"       // ran, and left wrong data
	Quarantined Outcome = "quarantined" // killed its executor too often to be run again
)

var outcomes = []Outcome{OK, Failed, Crashed, TimedOut, Wrong, Quarantined}

// Outcomes returns all outcomes, OK first.
func Outcomes() []Outcome { return slices.Clone(outcomes) }

// Final reports whether an outcome is a property of the program. Other outcomes may be
// the machine's fault: such a trial may be run again, and the new outcome replaces the
// old one.
func (o Outcome) Final() bool { return o == OK || o == Wrong }

// maxAttempts is how often a trial is run before its failure is final.
const maxAttempts = 3

// Retryable reports whether a run with this deadline for trials would run the trial
// again: it timed out under a shorter deadline, or it failed for another reason and has
// attempts left.
func (t *Trial) Retryable(deadline time.Duration) bool {
	switch {
	case t.Outcome.Final():
		return false
	case t.Outcome == TimedOut && deadline.Seconds() > t.Deadline:
		return true
	case t.Outcome == TimedOut && t.Seconds >= t.Deadline:
		return false
	}
	return t.Attempt+1 < maxAttempts
}

// Data says whether an executor moved and checked the data of a measurement. It is the
// executor's claim; every program was verified before it ran.
type Data string

// The values of Data. Older journals have none ("").
const (
	Checked   Data = "checked"   // every element of the result was compared with the reference
	Unchecked Data = "unchecked" // data were moved, and not compared
	NoData    Data = "none"      // no data were moved: the time is a model's
)

var allData = []Data{Checked, Unchecked, NoData}

// Key holds everything that a measurement depends on: trials with equal keys are the
// same trial.
type Key struct {
	Program     string // the IR's hash, or NativeHash
	Bytes       int64
	DType       string
	Op          string
	Placement   string // in or out
	Protocol    string
	TileBytes   int64
	Iters       int
	Warmup      int
	Seed        int64
	Repeat      int    // repetition, from 0; always 0 on an executor whose times do not vary
	Fingerprint string // Executor.Hash
	Topology    string // the graph's hash
}

// Key returns the key of a trial in a campaign of this plan.
func (p *Plan) Key(t *Trial) Key {
	k := Key{
		Program: t.Program, Bytes: t.Bytes, DType: p.DType, Op: p.Op, Placement: t.Placement,
		Protocol: t.Protocol, TileBytes: t.TileBytes, Iters: p.Iters, Warmup: p.Warmup, Seed: p.Seed,
		Repeat: t.Repeat, Fingerprint: t.Fingerprint, Topology: p.Topology.Hash,
	}
	if t.Iters > 0 {
		k.Iters, k.Warmup = t.Iters, t.Warmup
	}
	return k
}

// Hash returns the key's content address, 64 hexadecimal digits. It covers the version of
// the IR's encoding.
func (k Key) Hash() string { return k.hash(ir.Version) }

// is reports whether hash is the key's content address, with this version of the
// IR's encoding or an earlier one.
func (k Key) is(hash string) bool {
	for version := int64(ir.Version); version > 0; version-- {
		if k.hash(version) == hash {
			return true
		}
	}
	return false
}

func (k Key) hash(version int64) string {
	all := make([]byte, 0, 512)
	number := func(v int64) { all = binary.LittleEndian.AppendUint64(all, uint64(v)) }
	text := func(s string) {
		number(int64(len(s)))
		all = append(all, s...)
	}
	text("colltune.trial/v1")
	number(version)
	text(k.Program)
	number(k.Bytes)
	text(k.DType)
	text(k.Op)
	text(k.Placement)
	text(k.Protocol)
	number(k.TileBytes)
	number(int64(k.Iters))
	number(int64(k.Warmup))
	number(k.Seed)
	number(int64(k.Repeat))
	text(k.Fingerprint)
	text(k.Topology)
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

// Trial is one line of the journal: a program at a size with its knobs, and the
// result.
type Trial struct {
	Key          string         `json:"key"` // Key.Hash
	Bytes        int64          `json:"bytes"`
	Placement    string         `json:"placement"`
	Algorithm    string         `json:"algorithm"`
	Source       string         `json:"source"` // template, synthesised, backend
	Parameters   map[string]any `json:"parameters,omitempty"`
	Channels     int            `json:"channels"`
	Instances    int            `json:"instances"`
	Protocol     string         `json:"protocol"`
	TileBytes    int64          `json:"tile_bytes"`
	Program      string         `json:"ir"`                // hash; NativeHash of a native algorithm
	LoopChunks   int            `json:"loop_chunks"`       // chunks the size is divided into
	MaxCount     int            `json:"max_count"`         // largest count of a step
	Granularity  int64          `json:"granularity_bytes"` // a runtime runs the program where this divides the size
	Threadblocks int            `json:"threadblocks"`      // most on one GPU
	Steps        int            `json:"steps"`             // of the longest threadblock
	Fingerprint  string         `json:"fingerprint"`       // Executor.Hash
	Iters        int            `json:"iters,omitempty"`   // timed iterations; 0: the plan's, and its Warmup
	Warmup       int            `json:"warmup,omitempty"`  // iterations before those, where Iters is not 0
	Repeat       int            `json:"repeat,omitempty"`
	Attempt      int            `json:"attempt,omitempty"`   // number of earlier attempts without a result
	Reference    bool           `json:"reference,omitempty"` // run for comparison only; it cannot win
	Evidence     string         `json:"evidence,omitempty"`  // of a model's time of the library's setting, one of Evidences; empty of what ran
	Outcome      Outcome        `json:"outcome"`
	TimesUS      []float64      `json:"times_us,omitempty"` // an ok or wrong trial's, one an iteration
	Data         Data           `json:"data,omitempty"`     // whether the executor checked the result; empty in older journals
	Note         string         `json:"note,omitempty"`
	Output       string         `json:"output,omitempty"`           // the file with what its executor printed, where that was kept
	Deadline     float64        `json:"deadline_seconds,omitempty"` // of a trial that timed out
	Seconds      float64        `json:"seconds"`                    // duration of the whole trial
	Cost         float64        `json:"cost_seconds,omitempty"`     // what it costs, where the executor tells; 0: Seconds
}

// Executor identifies the executor of a campaign's trials.
type Executor struct {
	Name          string            `json:"name"`
	Version       string            `json:"version"`
	Deterministic bool              `json:"deterministic"`
	Devices       int               `json:"devices,omitempty"`     // number of GPUs of all ranks together; 0: not known
	OtherLinks    bool              `json:"other_links,omitempty"` // the topology's links do not join its ranks
	Fingerprint   map[string]string `json:"fingerprint"`
}

// Hash returns the fingerprint that trials carry, 64 hexadecimal digits. It covers name,
// version and Fingerprint, which includes the devices.
func (e Executor) Hash() string {
	h := sha256.New()
	text := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	text("colltune.executor/v1")
	text(e.Name)
	text(e.Version)
	for _, n := range slices.Sorted(maps.Keys(e.Fingerprint)) {
		text(n)
		text(e.Fingerprint[n])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Tally is a search's account of its candidates, with the baseline and the bound of each
// size. The last one in the journal counts.
type Tally struct {
	Finished   bool           `json:"finished"`
	Enumerated int            `json:"enumerated"`
	Refused    map[string]int `json:"refused,omitempty"` // by reason
	BoundedOut int            `json:"bounded_out"`
	Tuned      int            `json:"tuned"`
	Untried    int            `json:"untried,omitempty"` // left out by a strategy that expected little of them
	Points     []Point        `json:"points,omitempty"`
	Gain       float64        `json:"gain,omitempty"`    // a size is done where a smaller part of its time is expected to be gained
	Outlook    []Outlook      `json:"outlook,omitempty"` // of a strategy that has one

	// Labels has the labels of programs, by hash. SetTally keeps only those that differ
	// from the trials' own.
	Labels map[string]ProgramLabel `json:"called,omitempty"`
}

// Point holds the bound and the baseline at one size and placement.
type Point struct {
	Bytes     int64     `json:"bytes"`
	Placement string    `json:"placement"`
	BoundUS   float64   `json:"bound_us,omitempty"` // least time of any routing; 0: unknown
	Baseline  *Baseline `json:"baseline,omitempty"` // with the call's buffers as they are called
	// Others are the same release with the buffers in other states, where that differs.
	Others []Baseline `json:"others,omitempty"`
	// Libraries are what libraries took whose measurements the search was given, by rising time.
	Libraries []LibraryTime `json:"libraries,omitempty"`
}

// LibraryTime is what a library took, measured or simulated elsewhere, and given.
type LibraryTime struct {
	Library    string     `json:"library"`
	Version    string     `json:"version,omitempty"`
	Kernel     string     `json:"kernel,omitempty"`
	Registered string     `json:"registered,omitempty"` // one of States; empty: not told
	TimeUS     float64    `json:"time_us"`
	IntervalUS [2]float64 `json:"interval_us"` // of the measurements behind it
	Simulated  bool       `json:"simulated,omitempty"`
	Source     string     `json:"source"` // FILE:LINE
}

// Entry is the library and its version.
func (l LibraryTime) Entry() string {
	if l.Version == "" {
		return l.Library
	}
	return l.Library + " " + l.Version
}

// Outlook is what a strategy expects of further trials at a size and placement.
type Outlook struct {
	Bytes       int64   `json:"bytes"`
	Placement   string  `json:"placement"`
	Gain        float64 `json:"gain"` // expected part of the incumbent's time that they save
	Done        bool    `json:"done,omitempty"`
	Next        string  `json:"next,omitempty"`         // the configuration to try
	NextSeconds float64 `json:"next_seconds,omitempty"` // what a trial of it takes
}

// maxSeconds exceeds the duration and deadline of any trial: 292 years.
const maxSeconds = 1e10

// check refuses what can't be a trial: a journal may hold any bytes.
func (t *Trial) check() error {
	switch {
	case !isHash(t.Key):
		return fmt.Errorf("key %.80q: want 64 hexadecimal digits", t.Key)
	case !isHash(t.Program):
		return fmt.Errorf("ir %.80q: want 64 hexadecimal digits", t.Program)
	case !isHash(t.Fingerprint):
		return fmt.Errorf("fingerprint %.80q: want 64 hexadecimal digits", t.Fingerprint)
	case t.Bytes < 1:
		return fmt.Errorf("bytes %d: want at least 1", t.Bytes)
	case t.Placement != "in" && t.Placement != "out":
		return fmt.Errorf("placement %.80q: want in or out", t.Placement)
	case !slices.Contains(topologies.ProtocolNames(), t.Protocol) && !(t.IsNative() && t.Protocol == ProtocolAuto):
		return fmt.Errorf("protocol %.80q: want LL, LL128 or Simple", t.Protocol)
	case t.Evidence != "" && (!t.IsNative() || !slices.Contains(Evidences(), t.Evidence)):
		return fmt.Errorf("evidence %.80q of source %.80q: want one of %v of %s", t.Evidence, t.Source, Evidences(), SourceNative)
	case t.TileBytes < 1 && !(t.IsNative() && t.TileBytes == 0):
		return fmt.Errorf("tile_bytes %d: want at least 1", t.TileBytes)
	case t.LoopChunks < 1:
		return fmt.Errorf("loop_chunks %d: want at least 1", t.LoopChunks)
	case t.MaxCount < 1:
		return fmt.Errorf("max_count %d: want at least 1", t.MaxCount)
	case t.Granularity < 1:
		return fmt.Errorf("granularity_bytes %d: want at least 1", t.Granularity)
	case t.Channels < 0 || t.Instances < 0 || t.Threadblocks < 0 || t.Steps < 0 || t.Iters < 0 || t.Warmup < 0 || t.Repeat < 0 || t.Attempt < 0:
		return fmt.Errorf("negative count")
	case !slices.Contains(outcomes, t.Outcome):
		return fmt.Errorf("outcome %.80q: want one of %v", t.Outcome, outcomes)
	case t.Data != "" && !slices.Contains(allData, t.Data):
		return fmt.Errorf("data %.80q: want one of %v", t.Data, allData)
	case t.Outcome == OK && len(t.TimesUS) == 0:
		return fmt.Errorf("times_us: none, in a trial that is ok")
	case !(t.Deadline >= 0 && t.Deadline <= maxSeconds):
		return fmt.Errorf("deadline_seconds %v: want 0 to %g", t.Deadline, maxSeconds)
	case !(t.Seconds >= 0 && t.Seconds <= maxSeconds):
		return fmt.Errorf("seconds %v: want 0 to %g", t.Seconds, maxSeconds)
	case !(t.Cost >= 0 && t.Cost <= maxSeconds):
		return fmt.Errorf("cost_seconds %v: want 0 to %g", t.Cost, maxSeconds)
	}
	for _, us := range t.TimesUS {
		if err := units.CheckTimeUS(us); err != nil {
			return fmt.Errorf("times_us: %w", err)
		}
	}
	return nil
}

// BoundRounding is the relative rounding of the sums behind a bound: the time of a
// routing that meets its bound may be less by that much.
const BoundRounding = 1e-9

// rejectBelowBound refuses a time below the bound of every routing. Native algorithms
// are exempt: they need not use the topology's links.
func (t *Tally) rejectBelowBound(trial *Trial) error {
	if t == nil || trial.Outcome != OK || trial.IsNative() {
		return nil
	}
	for _, p := range t.Points {
		if p.Bytes != trial.Bytes || p.Placement != trial.Placement {
			continue
		}
		if took := Median(trial.TimesUS); took < p.BoundUS*(1-BoundRounding) {
			return fmt.Errorf("time of %.6g us, where no routing takes less than %.6g us", took, p.BoundUS)
		}
	}
	return nil
}

// check refuses an executor that can't be one.
func (e *Executor) check() error {
	if e.Devices < 0 {
		return fmt.Errorf("devices %d: want 0 or more", e.Devices)
	}
	return nil
}

// check refuses a tally that would make a table say something false.
func (t *Tally) check() error {
	if t.Enumerated < 0 || t.BoundedOut < 0 || t.Tuned < 0 || t.Untried < 0 {
		return fmt.Errorf("negative count of candidates")
	}
	if !(t.Gain >= 0 && t.Gain <= 1) {
		return fmt.Errorf("gain %v: want 0 to 1", t.Gain)
	}
	for _, o := range t.Outlook {
		if o.Bytes < 1 || !(o.Gain >= 0 && o.Gain <= 1) || !(o.NextSeconds >= 0 && o.NextSeconds <= maxSeconds) {
			return fmt.Errorf("outlook of %d bytes: a gain of %v by trials of %v s", o.Bytes, o.Gain, o.NextSeconds)
		}
	}
	for program, n := range t.Labels {
		if !isHash(program) || n.Algorithm == "" || n.Channels < 0 || n.Instances < 0 {
			return fmt.Errorf("program %.80q is called %.80q, with %d channels and %d instances: want a hash and a name", program, n.Algorithm, n.Channels, n.Instances)
		}
	}
	for _, p := range t.Points {
		switch {
		case p.Bytes < 1:
			return fmt.Errorf("bytes %d: want at least 1", p.Bytes)
		case p.Placement != "in" && p.Placement != "out":
			return fmt.Errorf("placement %.80q: want in or out", p.Placement)
		case !(p.BoundUS >= 0) || math.IsInf(p.BoundUS, 0):
			return fmt.Errorf("bound_us %v: want 0 or more", p.BoundUS)
		case slices.ContainsFunc(p.Libraries, func(l LibraryTime) bool { return l.Library == "" || units.CheckTimeUS(l.TimeUS) != nil }):
			return fmt.Errorf("libraries of %d bytes: want each with a name and a time", p.Bytes)
		}
		if p.Baseline != nil {
			if err := p.Baseline.check(); err != nil {
				return err
			}
		}
		for i := range p.Others {
			if err := p.Others[i].check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
