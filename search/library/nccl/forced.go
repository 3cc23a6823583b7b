package nccl

import (
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Forced narrows the library's choice, as NCCL_ALGO and NCCL_PROTO do, or says that the
// library is an older one, and tells of a call what few rules ask for. The zero value
// leaves all of the library of today.
type Forced struct {
	Family    string             // of a Choice; empty: any
	Protocols []topologies.Proto // none: all
	Before222 bool               // NCCL before 2.22, whose choices are taken to be the same
	// BackToBack says that calls follow each other without a wait, so that the time until a
	// chain is filled does not count.
	BackToBack bool
	NoFiles    bool  // RCCL without its MSCCL files, as where MSCCL_ALGO_DIR names others
	ElemBytes  int64 // of the call; 0: 4. MSCCL files have rules about it
	// Registered and the element type and operation of a call (empty: f32, sum) are what window
	// kernels and forks ask.
	Registered Registered
	DType, Op  string
}

// allows reports whether a protocol is left. The library takes one that it is told to,
// also where it would not by itself, such as LL128 over PCIe.
func (f Forced) allows(a Algo, p topologies.Proto, s *System) bool {
	if len(f.Protocols) == 0 {
		return s.t.Has(p) && s.tuning.Takes(a, p)
	}
	return s.t.Has(p) && slices.Contains(f.Protocols, p)
}

// leaves reports whether an algorithm, by its choices, is left.
func (f Forced) leaves(programs []Choice) bool {
	return len(programs) == 0 || f.Family == "" || programs[0].Family == f.Family
}
