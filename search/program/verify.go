package program

import (
	"cmp"
	"fmt"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results/export"
)

// Built is a draft compiled to IR, or the reason why it was refused.
type Built struct {
	Program *ir.Program
	Hash    string
	Slots   int // of a connection that it needs
	Bound   Bound
	// Prepared is the program as the simulator runs it; nil where another executor does.
	Prepared *sim.Prepared
	Refusal  *Refusal
	Needs    int // threadblocks of the busiest rank without a limit; of one with too many, at least
}

// verifyAndBound verifies a program, and refuses one that can't be run. One that is only
// compared with need not run in the runtime asked for.
func (b *Builder) verifyAndBound(p *ir.Program, reference bool) (*Built, error) {
	report := verify.Check(p, verify.Options{Linked: b.target.Topology.Linked})
	if err := report.Err(); err != nil {
		return &Built{Refusal: &Refusal{Reason: Unverified, Detail: err.Error()}}, nil
	}
	// At large sizes, a step of several chunks may take several calls.
	slots := max(report.SlotsNeeded, report.SlotsNeededSplit)
	refusal := b.checkSlots(p, slots)
	if refusal == nil && b.options.Simulated {
		refusal = b.options.Memory.unsimulated(p)
	}
	if refusal == nil && !reference {
		refusal = b.checkRuntime(p)
	}
	if refusal != nil {
		return &Built{Refusal: refusal}, nil
	}
	made := &Built{Program: p, Hash: p.Hash(), Slots: slots}
	return made, b.bound(made)
}

// checkSlots refuses a program for which none of the protocols has enough slots.
func (b *Builder) checkSlots(p *ir.Program, needed int) *Refusal {
	most := 0
	for _, proto := range b.Protocols(p.Protocol) {
		most = max(most, b.target.Topology.Protocols[proto].Slots)
	}
	if needed <= most {
		return nil
	}
	return &Refusal{Reason: Slots, Detail: fmt.Sprintf("needs %d slots a connection, the protocols have at most %d", needed, most)}
}

// checkRuntime refuses a program that the requested runtime accepts under none of the protocols.
func (b *Builder) checkRuntime(p *ir.Program) *Refusal {
	if b.options.Runtime == "" {
		return nil
	}
	runtime, err := export.RuntimeNamed(b.options.Runtime)
	if err != nil {
		return &Refusal{Reason: Runtime, Detail: err.Error()}
	}
	var first string
	for _, proto := range b.Protocols(p.Protocol) {
		why := runtime.Accepts(p, proto.String())
		if why == "" {
			return nil
		}
		first = cmp.Or(first, why)
	}
	return &Refusal{Reason: Runtime, Detail: first}
}

// unsimulated refuses a program that there is no memory to simulate.
func (m Memory) unsimulated(p *ir.Program) *Refusal {
	if takes := 2 * Simulated(p); m != 0 && takes > m.Programs() {
		return m.refuse(takes, "its simulation beside the other candidates")
	}
	return nil
}
