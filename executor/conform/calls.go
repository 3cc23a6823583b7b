package conform

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/topologies"
)

// ranks returns the number of ranks of most trials: two, or all that an executor has if it
// runs no programs, because one that was launched has these and no others.
func (x *conformance) ranks() int {
	if x.desc.NativeOnly && x.desc.MaxRanks > 0 {
		return min(x.desc.MaxRanks, 64)
	}
	return 2
}

// smallTrial returns a trial of 64 KiB over that number of ranks.
func (x *conformance) smallTrial() executor.Trial { return x.trial(x.ranks()) }

// trial returns an allreduce over a ring, or the first algorithm of an executor that runs
// no programs.
func (x *conformance) trial(ranks int) executor.Trial {
	t := executor.Trial{Topology: x.topology(ranks), Bytes: 64 << 10, DType: "f32", Op: "sum", Iters: 2, Warmup: 1, Seed: 1}
	t.Protocol = protocolsOf(x.desc.Protocols)[0]
	t.TileBytes = int64(t.Topology.Protocols[t.Protocol].Tile)
	if n := x.desc.MaxBytes; n > 0 {
		t.Bytes = min(t.Bytes, n)
	}
	if len(x.desc.DTypes) > 0 && !slices.Contains(x.desc.DTypes, t.DType) {
		t.DType = x.desc.DTypes[0]
	}
	if len(x.desc.Operations) > 0 && !slices.Contains(x.desc.Operations, t.Op) {
		t.Op = x.desc.Operations[0]
	}
	if !x.desc.NativeOnly {
		t.Program = ringProgram(ranks)
	} else {
		t.Native = &executor.Native{}
		t.Collective = collective.Spec{Name: "allreduce", Ranks: ranks}
		if len(x.desc.Native) > 0 {
			a := x.desc.Native[0]
			t.Native.Algorithm, t.Protocol = a.Algorithm, protocolsOf(a.Protocols)[0]
			if len(a.Collectives) > 0 {
				t.Collective.Name = a.Collectives[0]
			}
		}
	}
	return t
}

// topology returns a ring. One rank makes no ring: it is one GPU of a ring of two, as a
// library on a machine with a single GPU has communicators of one.
func (x *conformance) topology(ranks int) *topologies.Topology {
	var o topologies.Options
	if ranks == 1 {
		o.GPUs = []int{0}
	}
	t, err := topologies.Resolve(fmt.Sprintf("ring:%d", max(ranks, 2)), o)
	if err != nil {
		panic(err) // can't happen: our own generator, and small numbers
	}
	return t
}

func (x *conformance) programHash(t *executor.Trial) string {
	if t.Program == nil {
		return ""
	}
	return t.Program.Hash()
}

func (x *conformance) run(t executor.Trial) (executor.Measurement, error) { return x.runIn(x.ctx, t) }

func (x *conformance) runIn(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return x.worker.Run(ctx, t, x.programHash(&t), t.Topology.Hash())
}

// call makes one call without a host's checks, and measures the longest pause between its
// messages.
func (x *conformance) call(r *protocol.RunRequest) (runEvents, error) { return x.callIn(x.ctx, r) }

func (x *conformance) callIn(ctx context.Context, r *protocol.RunRequest) (runEvents, error) {
	ctx, cancel := context.WithTimeout(ctx, x.starter.Options.TrialTimeout)
	defer cancel()
	in, err := x.worker.RPC.Run(ctx, r)
	if err != nil {
		return runEvents{}, err
	}
	var h runEvents
	began := time.Now()
	for last := began; ; last = time.Now() {
		event, err := in.Recv()
		h.longest = max(h.longest, time.Since(last))
		if err != nil || event.GetMeasurement() != nil {
			h.took = time.Since(began)
			return h, err
		}
		h.beats++
	}
}

func (x *conformance) load(kind protocol.DocumentKind, hash string, b []byte, announced, piece int) error {
	ctx, cancel := context.WithTimeout(x.ctx, x.starter.Options.TrialTimeout)
	defer cancel()
	return x.worker.Send(ctx, kind, hash, b, announced, piece)
}

func (x *conformance) loadFor(t *executor.Trial) error {
	if err := x.loadTopology(len(t.Topology.Ranks)); err != nil || t.Program == nil {
		return err
	}
	return x.loadProgram(t)
}

func (x *conformance) loadTopology(ranks int) error {
	t := x.topology(ranks)
	doc := t.Encode()
	return x.load(protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, t.Hash(), doc, len(doc), wire.ChunkBytes)
}

func (x *conformance) loadProgram(t *executor.Trial) error {
	doc, err := wire.EncodeProgram(t.Program)
	if err != nil {
		return err
	}
	return x.load(protocol.DocumentKind_DOCUMENT_KIND_PROGRAM, t.Program.Hash(), doc, len(doc), wire.ChunkBytes)
}

// exchangeProgram returns the smallest program: two ranks send each other their buffer.
func exchangeProgram() *ir.Program {
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: []ir.Step{
			{Op: ir.Send, Count: 1},
			{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out}},
		}}}}
	}
	return &ir.Program{
		Name:       "exchange",
		Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1},
		GPUs:       []ir.GPU{gpu(1), gpu(0)},
	}
}

// ringProgram returns a ring allreduce in place: every chunk goes round once to be reduced,
// and once more to be distributed.
func ringProgram(n int) *ir.Program {
	p := &ir.Program{Name: "ring", Collective: collective.Spec{Name: "allreduce", Ranks: n, Chunks: n, InPlace: true}}
	for r := range n {
		// The chunk of the k-th message that r sends is the one r-k has begun.
		chunk := func(k int) ir.Loc { return ir.Loc{Buf: collective.In, Off: int32((r - k + 2*n) % n)} }
		steps := []ir.Step{{Op: ir.Send, Count: 1, Src: chunk(0)}}
		for k := 1; k < n-1; k++ {
			steps = append(steps, ir.Step{Op: ir.RecvReduceSend, Count: 1, Src: chunk(k)})
		}
		steps = append(steps, ir.Step{Op: ir.RecvReduceCopySend, Count: 1, Src: chunk(n - 1), Dst: chunk(n - 1)})
		for k := n; k < 2*n-2; k++ {
			steps = append(steps, ir.Step{Op: ir.RecvCopySend, Count: 1, Dst: chunk(k)})
		}
		steps = append(steps, ir.Step{Op: ir.Recv, Count: 1, Dst: chunk(2*n - 2)})
		p.GPUs = append(p.GPUs, ir.GPU{Threadblocks: []ir.Threadblock{{Send: (r + 1) % n, Recv: (r + n - 1) % n, Steps: steps}}})
	}
	return p
}
