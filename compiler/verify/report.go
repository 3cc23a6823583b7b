package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// Kind is the kind of a finding.
type Kind string

// The kinds of findings; the command line's JSON uses these words.
const (
	Malformed        Kind = "malformed"         // invalid peers, places, counts or dependencies
	Limit            Kind = "limit"             // a limit of Check or of a runtime is exceeded
	WrongResult      Kind = "wrong-result"      // an output chunk violates the postcondition
	Deadlock         Kind = "deadlock"          // steps that wait for each other
	Race             Kind = "race"              // two unordered conflicting accesses of a chunk
	SharedConnection Kind = "shared-connection" // two threadblocks on one end of a connection
	Lint             Kind = "lint"              // correct, but questionable
)

// Severity distinguishes faults from warnings.
type Severity string

// Only an Error makes Report.OK false.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one fault or warning. GPU, Threadblock and Step are -1 if the
// finding is not about a particular one.
type Finding struct {
	Kind        Kind     `json:"kind"`
	Severity    Severity `json:"severity"`
	GPU         int      `json:"gpu"`
	Threadblock int      `json:"threadblock"`
	Step        int      `json:"step"`
	Message     string   `json:"message"`
}

// String formats the finding on one line, its place first.
func (f Finding) String() string {
	var where string
	switch {
	case f.Step >= 0:
		where = fmt.Sprintf("gpu %d threadblock %d step %d: ", f.GPU, f.Threadblock, f.Step)
	case f.Threadblock >= 0:
		where = fmt.Sprintf("gpu %d threadblock %d: ", f.GPU, f.Threadblock)
	case f.GPU >= 0:
		where = fmt.Sprintf("gpu %d: ", f.GPU)
	}
	return where + string(f.Kind) + ": " + f.Message
}

// Options are the conditions to check a program under. The zero value means
// unlimited slots and links between all ranks.
type Options struct {
	// Slots is the number of primitive calls a connection holds: 2 for Simple, 8
	// for LL and LL128. 0 means no limit.
	Slots int
	// CallChunks is the number of chunks one call carries, for the check against
	// Slots. 0 means 1, the case of large sizes, which needs the most slots.
	CallChunks int
	// Linked reports whether rank a can send to rank b; nil links all.
	Linked func(a, b int) bool
	// AnyResult skips the check of outputs, for a program whose collective is
	// unknown and whose Spec only gives the sizes of its buffers.
	AnyResult bool
	// MaxFindings bounds Report.Findings. 0 means 100.
	MaxFindings int
}

// Report is the result of Check.
type Report struct {
	Findings   []Finding
	Suppressed int // findings beyond Options.MaxFindings

	// SlotsNeeded is the least number of slots of a connection with which the
	// program completes if each step is one call, and SlotsNeededSplit if each
	// chunk of a step is one. Both are 0 if the program sends no messages, or was
	// not run because it is malformed or deadlocks with any number of slots.
	SlotsNeeded      int
	SlotsNeededSplit int

	Instructions    map[string]int // number of steps, by the instruction's short name
	Steps           int
	Channels        int
	ThreadblocksMax int // on one GPU
	StepsMax        int // in one threadblock

	errors int
	max    int
}

// OK reports whether the program has no errors. It may have warnings.
func (r *Report) OK() bool { return r.errors == 0 }

// Err returns nil if OK, and otherwise an error with the first few faults.
func (r *Report) Err() error {
	if r.OK() {
		return nil
	}
	const shown = 3
	var lines []string
	for _, f := range r.Findings {
		if f.Severity == Error && len(lines) < shown {
			lines = append(lines, f.String())
		}
	}
	if more := r.errors - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Has reports whether there is an error of the given kind.
func (r *Report) Has(k Kind) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == k && f.Severity == Error })
}

// NewReport returns an empty report of at most most findings, or 100 if most is
// 0.
func NewReport(most int) *Report {
	if most <= 0 {
		most = 100
	}
	return &Report{max: most, Instructions: map[string]int{}}
}

// full reports whether further errors would only be counted.
func (r *Report) full() bool { return len(r.Findings) >= r.max }

// Add adds a finding, or counts it if the report is full. An error replaces the
// last warning of a full report.
func (r *Report) Add(f Finding) {
	if f.Severity == Error {
		r.errors++
	}
	if !r.full() {
		r.Findings = append(r.Findings, f)
		return
	}
	r.Suppressed++
	if f.Severity != Error {
		return
	}
	for i := len(r.Findings) - 1; i >= 0; i-- {
		if r.Findings[i].Severity != Error {
			r.Findings = append(append(r.Findings[:i:i], r.Findings[i+1:]...), f)
			return
		}
	}
}

// clone returns an independent copy of the report.
func (r *Report) clone() *Report {
	other := *r
	other.Findings = slices.Clone(r.Findings)
	return &other
}

// findingAt adds a finding about a step, threadblock or GPU; pass -1 for none.
func (r *Report) findingAt(k Kind, s Severity, gpu, tb, step int, format string, args ...any) {
	r.Add(Finding{Kind: k, Severity: s, GPU: gpu, Threadblock: tb, Step: step, Message: fmt.Sprintf(format, args...)})
}

// measure sets the figures that need no execution.
func (r *Report) measure(p *ir.Program) {
	var byOp [256]int
	for _, g := range p.GPUs {
		for _, tb := range g.Threadblocks {
			r.Steps += len(tb.Steps)
			for i := range tb.Steps {
				byOp[tb.Steps[i].Op]++
			}
		}
	}
	for _, op := range ir.Ops() {
		if n := byOp[op]; n > 0 {
			r.Instructions[op.String()] = n
		}
	}
	r.Channels = p.Channels()
	r.ThreadblocksMax = p.MaxThreadblocks()
	r.StepsMax = p.MaxSteps()
}

// Refuse returns the report of a program that cannot be built from its file.
func Refuse(err error) *Report {
	r := &Report{max: 1}
	r.findingAt(Malformed, Error, -1, -1, -1, "%v", err)
	return r
}
