package programs

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
)

// Verdict is what is said of one file.
type Verdict struct {
	File         string                      `json:"file"`
	Format       string                      `json:"format"`
	OK           bool                        `json:"ok"`
	Collective   string                      `json:"collective"`
	Ranks        int                         `json:"ranks"`
	Protocol     string                      `json:"protocol"` // empty if the file names none
	Channels     int                         `json:"channels"`
	Threadblocks int                         `json:"threadblocks_max"`
	Steps        int                         `json:"steps_max"`
	Instructions map[string]int              `json:"instructions"`
	Slots        int                         `json:"slots_needed"`
	Findings     []verify.Finding            `json:"findings"`
	Runtimes     map[string]msccl.Acceptance `json:"runtimes"`
}

// Ranks returns the number of ranks of the program.
func (f *File) Ranks() int {
	if f.Plan != nil {
		return len(f.Plan.GPUs)
	}
	return f.Program.Ranks()
}

// Verify verifies the program for the protocol that it names. An IR that names none is checked
// with any number of FIFO slots. linked says which ranks have a link; nil: any two.
func (f *File) Verify(linked func(a, b int) bool) Verdict {
	o := verify.Options{Linked: linked}
	v := Verdict{File: f.Name, Format: f.Format, Protocol: f.Protocol, Ranks: f.Ranks(), Runtimes: map[string]msccl.Acceptance{}}
	var r *verify.Report
	switch {
	case f.Plan != nil:
		verdict := mscclpp.Verify(f.Plan, o)
		r, v.Collective, v.Findings = verdict.Report, f.Plan.Collective, verdict.Report.Findings
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Accepts: verdict.Accepts, Why: verdict.Why}
		for _, name := range msccl.Runtimes() {
			v.Runtimes[name] = msccl.Acceptance{Why: []string{"it loads MSCCL XML, and this is an MSCCL++ execution plan"}}
		}
	case f.XML != nil:
		verdict := msccl.Verify(f.XML, o)
		r, v.Collective, v.Findings, v.Runtimes = verdict.Report, f.XML.Computes(), verdict.Findings, verdict.Runtimes
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Why: mscclpp.Lacks(f.Program, "MSCCL XML", f.Protocol)}
	default:
		protocols := ir.Protocols
		if f.Protocol != "" {
			protocols, o.Slots = []string{f.Protocol}, msccl.Slots(f.Protocol)
		}
		r = verify.Check(f.Program, o)
		v.Collective, v.Findings = f.Program.Collective.Name, r.Findings
		if n, simple := max(r.SlotsNeeded, r.SlotsNeededSplit), msccl.Slots("Simple"); n > simple {
			v.Findings = append(v.Findings, verify.Finding{Kind: verify.Lint, Severity: verify.Warning, GPU: -1, Threadblock: -1, Step: -1,
				Message: fmt.Sprintf("needs %d slots a connection, %d where each step is one call: Simple has %d, LL and LL128 have %d", n, r.SlotsNeeded, simple, msccl.Slots("LL"))})
		}
		for _, name := range msccl.Runtimes() {
			v.Runtimes[name] = acceptedBy(f.Program, name, protocols)
		}
		v.Runtimes[mscclpp.Name] = msccl.Acceptance{Why: mscclpp.Lacks(f.Program, "an IR", f.Protocol)}
	}
	v.OK, v.Channels, v.Threadblocks, v.Steps = r.OK(), r.Channels, r.ThreadblocksMax, r.StepsMax
	v.Instructions, v.Slots = r.Instructions, r.SlotsNeeded
	if v.Findings == nil {
		v.Findings = []verify.Finding{}
	}
	for name, a := range v.Runtimes {
		if a.Why == nil {
			a.Why = []string{}
			v.Runtimes[name] = a
		}
	}
	return v
}

// Runtimes lists the runtimes that a verdict names.
func Runtimes() []string { return append(msccl.Runtimes(), mscclpp.Name) }

// acceptedBy returns whether a runtime accepts an IR with any of some protocols, and
// otherwise why not.
func acceptedBy(p *ir.Program, runtime string, protocols []string) msccl.Acceptance {
	var a msccl.Acceptance
	for _, proto := range protocols {
		ok, why := msccl.Accepts(p, runtime, proto)
		if ok {
			return msccl.Acceptance{Accepts: true}
		}
		for _, w := range why {
			if !slices.Contains(a.Why, w) {
				a.Why = append(a.Why, w)
			}
		}
	}
	return a
}
