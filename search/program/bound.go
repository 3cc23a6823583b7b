package program

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// Bound is a time in microseconds that no run of a program can beat.
type Bound func(bytes int64, proto topologies.Proto, tile int64) float64

// routingBound holds for any executor on a system with the topology's links: every
// edge must carry whatever the program sends over it.
func routingBound(p *ir.Program, t *topologies.Topology, elem int64) (Bound, error) {
	col, err := collective.New(p.Collective)
	if err != nil {
		return nil, err
	}
	chunks := make([]int64, len(t.Edges)) // chunks over each edge
	for rank, gpu := range p.GPUs {
		for _, tb := range gpu.Threadblocks {
			var sent int64
			for i := range tb.Steps {
				if tb.Steps[i].Op.Sends() {
					sent += int64(tb.Steps[i].Count)
				}
			}
			if sent == 0 {
				continue
			}
			path, _ := t.Path(rank, tb.Send)
			for _, e := range path.Edges {
				chunks[e] += sent
			}
		}
	}
	loop := col.LoopChunks()
	// The slowest edge does not depend on the size: chunks over bandwidth.
	var worst float64
	for e, n := range chunks {
		worst = max(worst, float64(n)/t.Edges[e].Bandwidth.PerMicro())
	}
	return func(bytes int64, proto topologies.Proto, _ int64) float64 {
		// Only the part of a size that divides evenly: where chunks differ by an
		// element, using the smaller count keeps this a bound.
		chunk := bytes / elem / int64(loop) * elem
		return worst * float64(chunk) * t.Protocols[proto].Wire
	}, nil
}

// bound gives a program the strongest bound that holds for the executor.
func (b *Builder) bound(made *Built) (err error) {
	t, elem := b.target.Topology, b.target.ElemBytes()
	if !b.options.Simulated {
		made.Bound, err = routingBound(made.Program, t, elem)
		return err
	}
	prepared, err := sim.Prepare(made.Program, t)
	if err != nil {
		return err
	}
	made.Prepared, made.Bound = prepared, func(bytes int64, proto topologies.Proto, tile int64) float64 {
		return prepared.LowerBound(sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: tile, ElemBytes: elem})
	}
	return nil
}
