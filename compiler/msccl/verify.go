package msccl

import (
	"fmt"
	"math/bits"

	"github.com/colltune/colltune/compiler/verify"
)

// Verdict is the result of Verify.
type Verdict struct {
	// Report is the verifier's report for the file's first incorrect placement, or
	// else for its first.
	Report   *verify.Report
	InPlace  bool // the placement of Report
	Findings []verify.Finding
	Runtimes map[string]Acceptance
}

// Acceptance reports whether a runtime would load and use a file.
type Acceptance struct {
	Accepts bool     `json:"accepts"`
	Why     []string `json:"why"`
}

// OK reports whether the file is correct: it completes and computes its
// collective for each placement and at every size it serves. It may be correct
// and still be refused by a runtime.
func (v *Verdict) OK() bool { return v.Report.OK() }

// Verify checks a file: as a program, for each of its placements, with the
// slots of its protocol unless o sets them; and as a file, for each runtime.
func Verify(f *File, o verify.Options) *Verdict {
	v := &Verdict{Runtimes: map[string]Acceptance{}}
	for _, rt := range runtimes {
		ok, why := f.Accepts(rt)
		v.Runtimes[rt.Name] = Acceptance{ok, why}
	}
	if o.Slots == 0 {
		o.Slots = Slots(f.Proto)
		o.CallChunks = f.callChunks(v.Runtimes)
	}
	placements := f.Placements()
	for _, inPlace := range placements {
		r := f.check(inPlace, o)
		for _, finding := range r.Findings {
			if len(placements) > 1 {
				finding.Message += " (" + placementName(inPlace) + ")"
			}
			v.Findings = append(v.Findings, finding)
		}
		if v.Report == nil || v.Report.OK() && !r.OK() {
			v.Report, v.InPlace = r, inPlace
		}
	}
	v.Findings = append(v.Findings, Lint(f)...)
	if n, simple := v.Report.SlotsNeededSplit, Slots("Simple"); n > simple { // what every protocol holds is no remark
		v.Findings = append(v.Findings, note("needs %d slots a connection, %d where each step is one call: Simple has %d", n, v.Report.SlotsNeeded, simple))
	}
	return v
}

func placementName(inPlace bool) string {
	if inPlace {
		return "in place"
	}
	return "out of place"
}

func (f *File) check(inPlace bool, o verify.Options) *verify.Report {
	p, known, err := f.Program(inPlace)
	if err != nil {
		// Read has made sure of this for files it read; others may be anything.
		return verify.Refuse(err)
	}
	o.AnyResult = o.AnyResult || !known
	return verify.Check(p, o)
}

// callChunks returns the number of chunks of a call at the largest size for
// which a runtime would use the file, or the least of these numbers: the more
// calls, the more slots a step needs.
func (f *File) callChunks(accepted map[string]Acceptance) int {
	least := 0
	for _, rt := range runtimes {
		if !accepted[rt.Name].Accepts {
			continue
		}
		n := 1
		if s := rt.serves(f); s.max != unlimited {
			n = rt.CallChunks(f.Proto, s.max/perRank(f.Computes(), f.NGPUs), f.NChunksPerLoop)
		}
		if least == 0 || n < least {
			least = n
		}
	}
	return max(least, 1)
}

func note(format string, args ...any) verify.Finding {
	return verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1, Message: fmt.Sprintf(format, args...)}
}

// lints are warnings about files that a runtime accepts.
var lints = []func(f *File) string{
	func(f *File) string {
		if f.Computes() == "custom" {
			return "a custom collective: nothing says what it should compute, so its result is not judged"
		}
		return ""
	},
	func(f *File) string {
		for _, inPlace := range f.Placements() {
			if _, known, err := f.Spec(inPlace); err == nil && !known && f.Computes() != "custom" {
				return fmt.Sprintf("in-place calls of %s are not known here: their result is not judged", f.Computes())
			}
		}
		return ""
	},
	func(f *File) string {
		switch f.Computes() {
		case "broadcast", "reduce", "gather", "scatter":
			return fmt.Sprintf("right for root %d only, and no runtime looks at a call's root", f.Root)
		}
		return ""
	},
	func(f *File) string {
		if g := f.granularity(1); bits.OnesCount64(uint64(g)) > 1 {
			return fmt.Sprintf("used for multiples of %d elements only: no power of two is one, and runtimes fall back in silence", g)
		}
		return ""
	},
	func(f *File) string {
		if f.MaxBytes == nil {
			return "no maxBytes: msccl falls back in silence from 128 MiB on"
		}
		return ""
	},
	func(f *File) string {
		if f.Proto == "" {
			return "no proto: slots are not judged"
		}
		return ""
	},
}

// Lint returns warnings for a user who installs a file for a runtime, at most
// one of each kind. Correct files can have them too.
func Lint(f *File) []verify.Finding {
	var found []verify.Finding
	for _, n := range f.Notes {
		found = append(found, note("line %d: %s, which the runtimes' reader does not take", n.Line, n.Message))
	}
	for _, lint := range lints {
		if message := lint(f); message != "" {
			found = append(found, note("%s", message))
		}
	}
	return found
}
