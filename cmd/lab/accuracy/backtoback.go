package accuracy

import (
	"cmp"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// busy is how many neighbours of a chain a call still keeps busy when the next one starts:
// fitted to broadcasts over 3 to 8 A100 (SXM4).
const busy = 2

// backToBack returns the time from one call of a chain to the next, in microseconds, where
// each follows the other without a wait; alone is that of a single call. A rank begins its
// next call as soon as it has done its part of this one, so most of the time until the
// chain is filled does not show.
func backToBack(prepared *sim.Prepared, program *ir.Program, t *topologies.Topology, k sim.Knobs, alone float64) (float64, error) {
	n := len(t.Ranks)
	if n <= busy {
		return alone, nil
	}
	protocol := &t.Protocols[k.Protocol]
	twice := k // as many bytes again, in tiles of the same size
	twice.Bytes *= 2
	twice.TileBytes = min(cmp.Or(k.TileBytes, int64(protocol.Tile)), max(k.Bytes/int64(program.Collective.Chunks), k.ElemBytes))
	r, err := prepared.Run(twice)
	fill := alone - float64(protocol.Launch) - (r.TimeUS - alone)
	return alone - max(fill, 0)*float64(n-busy)/float64(n-1), err
}
