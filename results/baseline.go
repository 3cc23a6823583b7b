package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
)

// Baseline is the vendor's library at a point: a time that is given, or this campaign's
// trial of a program and its knobs.
type Baseline struct {
	Name      string  `json:"name"`
	Library   string  `json:"library,omitempty"` // whose times were given under this name
	TimeUS    float64 `json:"time_us,omitempty"` // given: measured elsewhere, or a model's where Data is NoData; 0: take the trial's
	Data      Data    `json:"data,omitempty"`    // of a time that is given; empty: not known
	Program   string  `json:"ir,omitempty"`
	Protocol  string  `json:"protocol,omitempty"`
	TileBytes int64   `json:"tile_bytes,omitempty"`
	ExtraUS   float64 `json:"extra_us,omitempty"` // what the library's call takes beyond the simulated trial of the program; below 0: less

	Release      string  `json:"release,omitempty"`      // nccl-2.30.7; empty in older journals
	Registered   string  `json:"registered,omitempty"`   // one of States; empty: not known
	Evidence     string  `json:"evidence,omitempty"`     // one of Evidences; empty in older journals
	Threadblocks int     `json:"threadblocks,omitempty"` // of a GPU that run it; 0: not known, or the trial's
	CopiesUS     float64 `json:"copies_us,omitempty"`    // of TimeUS, what copies into windows and out of them take
}

// How the library knows a call's buffers, the least registered first.
const (
	RegisteredNone   = "none"
	RegisteredUser   = "user"   // by ncclCommRegister
	RegisteredWindow = "window" // as windows on symmetric memory
)

// States lists them.
func States() []string { return []string{RegisteredNone, RegisteredUser, RegisteredWindow} }

// What supports a baseline's time.
const (
	EvidenceMeasured  = "measured"  // a file, rows of a library, the executor's own
	EvidenceFitted    = "fitted"    // a simulated program, or a form fitted to measurements
	EvidencePredicted = "predicted" // the vendor's own model
	EvidenceUnknown   = "unknown"   // nothing says the time
)

// Evidences lists them.
func Evidences() []string {
	return []string{EvidenceMeasured, EvidenceFitted, EvidencePredicted, EvidenceUnknown}
}

// KnownEvidence is the evidence of the baseline: of one in an older journal what follows from its
// other fields.
func (b *Baseline) KnownEvidence() string {
	switch {
	case b.Evidence != "":
		return b.Evidence
	case b.Data == NoData || b.Program != "" && b.Protocol != ProtocolAuto:
		return EvidenceFitted
	}
	return EvidenceMeasured
}

// KnownRegistered is the state of the baseline's buffers: in an older journal a model's are not
// registered, and those of measured times not known.
func (b *Baseline) KnownRegistered() string {
	if b.Registered == "" && b.KnownEvidence() == EvidenceFitted {
		return RegisteredNone
	}
	return b.Registered
}

// check refuses what would make a table say something false.
func (b *Baseline) check() error {
	of := func(what, value string, known []string) error {
		if value != "" && !slices.Contains(known, value) {
			return fmt.Errorf("%s %.80q of baseline %.80q: want one of %v", what, value, b.Name, known)
		}
		return nil
	}
	switch {
	case b.TimeUS != 0 && units.CheckTimeUS(b.TimeUS) != nil:
		return fmt.Errorf("baseline %.80q: %w", b.Name, units.CheckTimeUS(b.TimeUS))
	case b.ExtraUS != 0 && units.CheckTimeUS(math.Abs(b.ExtraUS)) != nil:
		return fmt.Errorf("extra_us of baseline %.80q: %w", b.Name, units.CheckTimeUS(math.Abs(b.ExtraUS)))
	case b.Data != "" && !slices.Contains(allData, b.Data):
		return fmt.Errorf("data %.80q of baseline %.80q: want one of %v", b.Data, b.Name, allData)
	case b.Program != "" && !isHash(b.Program):
		return fmt.Errorf("ir %.80q of baseline %.80q: want 64 hexadecimal digits", b.Program, b.Name)
	case b.Threadblocks < 0 || b.CopiesUS != 0 && !(b.CopiesUS > 0 && b.CopiesUS < b.TimeUS):
		return fmt.Errorf("baseline %.80q: %d threadblocks, copies of %v us: want 0 or more, and less than its time", b.Name, b.Threadblocks, b.CopiesUS)
	case b.Evidence == EvidenceUnknown && b.TimeUS != 0:
		return fmt.Errorf("baseline %.80q of unknown time: %v us", b.Name, b.TimeUS)
	}
	return cmp.Or(of("registered", b.Registered, States()), of("evidence", b.Evidence, Evidences()))
}

// LibraryName is the name of the library whose time a baseline is: that under which it was
// given, or the executor's where a trial of it was, and else NCCL's, which a model or
// nccl-tests stand for.
func (b *Baseline) LibraryName(executor string) string {
	switch {
	case b.Library != "":
		return b.Library
	case b.Program != "" && b.Protocol == ProtocolAuto:
		return executor
	}
	return "nccl"
}
