package search

import (
	"testing"

	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestProtocolsOfRuntimes: msccl is given no LL128 where it would pass it over, and RCCL no LL
// where its kernels corrupt data.
func TestProtocolsOfRuntimes(t *testing.T) {
	for _, c := range []struct {
		system, runtime string
		asked           []topologies.Proto
		left            int // protocols; 0: nobody chose
		told            bool
	}{
		{"dgx-a100", "msccl", nil, 0, false},
		{"dgx-1", "msccl", nil, 0, false},
		{"ring:4", "msccl", nil, 0, false}, // who knows what it is of
		{"dgx-h100", "msccl", nil, 2, true},
		{"a10g-8", "msccl", nil, 2, true}, // of ampere, and without NVLink
		{"dgx-h100", "executor-nccl", nil, 0, false},
		{"dgx-h100", "", nil, 0, false},
		{"mi355x", "rccl", nil, 1, true},
		{"mi355x", "rccl", []topologies.Proto{topologies.LL}, 1, false},
		{"mi355x", "", nil, 0, false},
		{"mi300x", "rccl", nil, 0, false},
		{"dgx-h100", "msccl", []topologies.Proto{topologies.LL128}, 1, false}, // NCCL_PROTO may force it
	} {
		top := topotest.Resolve(t, c.system, 0)
		told := 0
		o := Options{Runtime: c.runtime, Protocols: c.asked, Observer: program.Observer{Notice: func(string) { told++ }}}
		if o = o.dropDisabledProtocols(top); len(o.Protocols) != c.left || told > 0 != c.told {
			t.Errorf("%s for %q: %v, %d notices; want %d protocols", c.system, c.runtime, o.Protocols, told, c.left)
		}
	}
}
