package search

import (
	"testing"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestLL128WhereItIsEnabled: msccl is given no LL128 where it would pass it over.
func TestLL128WhereItIsEnabled(t *testing.T) {
	for _, c := range []struct {
		system, runtime string
		asked           []topologies.Proto
		left            int // protocols; 0: nobody chose
	}{
		{"dgx-a100", "msccl", nil, 0},
		{"dgx-1", "msccl", nil, 0},
		{"ring:4", "msccl", nil, 0}, // who knows what it is of
		{"dgx-h100", "msccl", nil, 2},
		{"a10g-8", "msccl", nil, 2}, // of ampere, and without NVLink
		{"dgx-h100", "executor-nccl", nil, 0},
		{"dgx-h100", "", nil, 0},
		{"dgx-h100", "msccl", []topologies.Proto{topologies.LL128}, 1}, // NCCL_PROTO may force it
	} {
		top := topotest.Resolve(t, c.system, 0)
		told := 0
		o := Options{Runtime: c.runtime, Protocols: c.asked, Observer: Observer{Notice: func(string) { told++ }}}
		if o = o.dropDisabledProtocols(top); len(o.Protocols) != c.left || told > 0 != (c.left == 2) {
			t.Errorf("%s for %q: %v, %d notices; want %d protocols", c.system, c.runtime, o.Protocols, told, c.left)
		}
	}
}
