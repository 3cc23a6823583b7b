package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// Kind is what a finding is about.
type Kind string

// The kinds of findings; the command line's JSON uses these words.
const (
	Malformed        Kind = "malformed"         // peers, places, counts, dependencies that make no sense
	Limit            Kind = "limit"             // more than somebody's limit
	WrongResult      Kind = "wrong-result"      // an output chunk is not what the collective wants
	Deadlock         Kind = "deadlock"          // steps that wait for each other
	Race             Kind = "race"              // two accesses of a chunk that nothing orders
	SharedConnection Kind = "shared-connection" // two threadblocks on one end of a connection
	Lint             Kind = "lint"              // right, but not as it should be
)

// Severity tells what makes a program wrong from what is merely worth knowing.
type Severity string

// Only an Error makes Report.OK false.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is one thing found. GPU, Threadblock and Step are -1 where the
// finding is not about one.
type Finding struct {
	Kind        Kind     `json:"kind"`
	Severity    Severity `json:"severity"`
	GPU         int      `json:"gpu"`
	Threadblock int      `json:"threadblock"`
	Step        int      `json:"step"`
	Message     string   `json:"message"`
}

// String returns the finding on one line, its place first.
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

// Options say what a program is checked against. The zero value checks it for
// unlimited slots and any link.
type Options struct {
	// Slots is how many primitive calls a connection holds: 2 for Simple, 8 for
	// LL and LL128. 0 is no limit.
	Slots int
	// CallChunks is how many chunks one call carries when Slots is judged; 0 is
	// 1, which is what large sizes come to and the most demanding.
	CallChunks int
	// Linked reports whether rank a can send to rank b; nil links all.
	Linked func(a, b int) bool
	// AnyResult leaves the final data unjudged: for a program whose collective
	// is not known and whose Spec only gives the sizes of its buffers.
	AnyResult bool
	// MaxFindings bounds Report.Findings; 0 is 100.
	MaxFindings int
}

// Report is what Check found.
type Report struct {
	Findings   []Finding
	Suppressed int // findings beyond Options.MaxFindings

	// SlotsNeeded is the least number of slots a connection must have for the
	// program to complete when each step makes one call; SlotsNeededSplit when
	// it makes one for each of its chunks. Both are 0 where the program sends
	// nothing, or was not run because it is malformed or deadlocks anyway.
	SlotsNeeded      int
	SlotsNeededSplit int

	Instructions    map[string]int // steps by the instruction's short name
	Steps           int
	Channels        int
	ThreadblocksMax int // on one GPU
	StepsMax        int // in one threadblock

	errors int
	max    int
}

// OK reports whether nothing found makes the program wrong.
func (r *Report) OK() bool { return r.errors == 0 }

// Err returns nil where OK, and otherwise an error that names the first few
// findings that make the program wrong.
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

// Has reports whether a finding of this kind makes the program wrong.
func (r *Report) Has(k Kind) bool {
	for _, f := range r.Findings {
		if f.Kind == k && f.Severity == Error {
			return true
		}
	}
	return false
}

// full reports whether further errors would only be counted.
func (r *Report) full() bool { return len(r.Findings) >= r.max }

// add keeps a finding, or counts it where there are enough. An error is never
// lost to warnings: it takes the place of the last of them.
func (r *Report) add(f Finding) {
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

// clone returns a report that goes on from this one, and leaves it as it is.
func (r *Report) clone() *Report {
	other := *r
	other.Findings = slices.Clone(r.Findings)
	return &other
}

// at returns a finding about a step, threadblock or GPU; pass -1 for none.
func (r *Report) at(k Kind, s Severity, gpu, tb, step int, format string, args ...any) {
	r.add(Finding{Kind: k, Severity: s, GPU: gpu, Threadblock: tb, Step: step, Message: fmt.Sprintf(format, args...)})
}

// measure fills in what needs no execution.
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
	r.Instructions = map[string]int{}
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
	r.at(Malformed, Error, -1, -1, -1, "%v", err)
	return r
}
