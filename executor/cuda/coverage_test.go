package cuda

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/internal/ptxtest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// accesses are the instructions that affect other threads: memory, fences and barriers.
var accesses = regexp.MustCompile(`^\s*(?:ld|st|atom)\.[a-z.]*global\.|^\s*(?:fence|bar|vote)\.`)

// neverRun are those that no program of this type reaches.
var neverRun = []struct{ function, instruction, why string }{
	{"moveCallI6Simple", "fence.", "Simple's counters order everything: plans ask for no fences"},
	{"loadPart", "ld.global.u", "elements of 4 bytes have no parts"},
	{"storePart", "st.global.u", "elements of 4 bytes have no parts"},
}

// inPieces is two ranks that swap two chunks at a time, and work on two at a time
// aside, behind a step that does nothing but be waited for.
func inPieces() *ir.Program {
	scratch := func(i int32) ir.Loc { return ir.Loc{Buf: collective.Scratch, Off: i} }
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Scratch: 6, Threadblocks: []ir.Threadblock{
			{Send: peer, Recv: peer, Steps: []ir.Step{
				{Op: ir.Send, Count: 2, Deps: []ir.Dep{{TB: 1, Step: 0}}},
				{Op: ir.Recv, Count: 2, Dst: ir.Loc{Buf: collective.Out}},
			}},
			{Send: peer, Recv: peer, Channel: 1, Steps: []ir.Step{
				{Op: ir.Nop, HasDep: true},
				{Op: ir.Copy, Count: 2, Dst: scratch(0)},
				{Op: ir.Copy, Count: 2, Dst: scratch(2)},
				{Op: ir.Reduce, Count: 2, Src: scratch(0), Dst: scratch(2)},
				{Op: ir.Reduce, Count: 2, Dst: scratch(2)},
				{Op: ir.Send, Count: 2, Src: scratch(2)},
				{Op: ir.RecvReduceCopy, Count: 2, Src: scratch(0), Dst: scratch(4)},
			}},
		}}
	}
	return &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 2}, GPUs: []ir.GPU{gpu(1), gpu(0)}}
}

// copies is two ranks that copy what they have got, after they have swapped it,
// and reduce eight copies of what they had into one more.
func copies() *ir.Program {
	p := pair()
	for r := range p.GPUs {
		g := &p.GPUs[r]
		g.Scratch = 10
		for i := range g.Threadblocks[0].Steps {
			g.Threadblocks[0].Steps[i].HasDep = i == 1
		}
		g.Threadblocks = append(g.Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{
			{Op: ir.Copy, Count: 1, Src: ir.Loc{Buf: collective.Out}, Dst: ir.Loc{Buf: collective.Scratch}, Deps: []ir.Dep{{TB: 0, Step: 1}}},
			{Op: ir.Copy, Count: 1, Src: ir.Loc{Buf: collective.Scratch}, Dst: ir.Loc{Buf: collective.Out}},
		}})
		steps := &g.Threadblocks[1].Steps
		for i := range int32(9) {
			*steps = append(*steps, ir.Step{Op: ir.Copy, Count: 1, Dst: ir.Loc{Buf: collective.Scratch, Off: 1 + i}})
		}
		for i := range int32(8) {
			*steps = append(*steps, ir.Step{Op: ir.Reduce, Count: 1, Src: ir.Loc{Buf: collective.Scratch, Off: 1 + i}, Dst: ir.Loc{Buf: collective.Scratch, Off: 9}})
		}
	}
	return p
}

// twice is two ranks that swap a chunk, and send each other twice what they have
// added up of copies of it; another sum stays where it is.
func twice() *ir.Program {
	sc := func(i int32) ir.Loc { return ir.Loc{Buf: collective.Scratch, Off: i} }
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Scratch: 6, Threadblocks: []ir.Threadblock{
			{Send: peer, Recv: peer, Steps: []ir.Step{
				{Op: ir.Copy, Count: 1, Dst: sc(0)},
				{Op: ir.Copy, Count: 1, Dst: sc(1)},
				{Op: ir.Copy, Count: 1, Dst: sc(2)},
				{Op: ir.Reduce, Count: 1, Src: sc(0), Dst: sc(1)},
				{Op: ir.Reduce, Count: 1, Src: sc(1), Dst: sc(2), HasDep: true},
				{Op: ir.Send, Count: 1, Src: sc(2)},
				{Op: ir.Recv, Count: 1, Dst: sc(3)},
			}},
			{Send: peer, Recv: peer, Channel: 1, Steps: []ir.Step{
				{Op: ir.Send, Count: 1, Src: sc(2), Deps: []ir.Dep{{TB: 0, Step: 4}}},
				{Op: ir.Recv, Count: 1, Dst: sc(4)},
				{Op: ir.Send, Count: 1},
				{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out}},
			}},
		}}
	}
	return &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1}, GPUs: []ir.GPU{gpu(1), gpu(0)}}
}

// TestEveryAccessAsPTX covers the paths through the PTX that small trials don't: whole
// tiles, of which a thread moves several lines at a time, reductions of more sources than
// are in flight together, programs longer than shared memory, several devices. In the long
// suite each load, store, fence and barrier of the text must have run.
func TestEveryAccessAsPTX(t *testing.T) {
	text, err := ptxOf(data.F32)
	if err != nil {
		t.Fatal(err)
	}
	run := make([]bool, bytes.Count(text, []byte("\n"))+2)
	sums := []string{"sum", "prod", "min", "max", "avg"}
	type way struct {
		gpus, devices int
		program       string
		p             *ir.Program
		bytes, tile   int64
		operations    []string
		long, apart   bool
	}
	f := &figures{t: t}
	onePhase := map[string]any{"phases": 1}
	for _, proto := range topologies.AllProtocols {
		for n, w := range []way{
			{gpus: 2, program: "ring/allreduce/1x2", bytes: 24 << 10, tile: 8 << 10, operations: sums[:1]},
			{gpus: 2, program: "ring/allreduce/1x2", bytes: 24<<10 + 20, tile: 8 << 10, operations: sums, long: true},
			{gpus: 3, program: "ring/allreduce/1x3/in-place", bytes: 36<<10 + 12, tile: 8 << 10, operations: sums, long: true},
			{gpus: 2, program: "all-pairs/allreduce/1x2/in-place", bytes: 4012, tile: 700, operations: sums, long: true},
			{gpus: 6, program: "all-pairs/allreduce/1x6/in-place", bytes: 12 << 10, tile: 8 << 10, operations: sums, long: true},
			{gpus: 6, program: "all-pairs/allreduce/1x6/in-place", bytes: 12<<10 + 4, tile: 8 << 10, operations: sums, long: true},
			{gpus: 3, devices: 3, program: "ring/allreduce/1x3", bytes: 4012, tile: 700, operations: sums[:1], long: true},
			{gpus: 2, devices: 2, p: relay(), bytes: 4012, tile: 700, operations: sums[:1], long: true},
			{gpus: 2, devices: 2, p: relay(), bytes: 64 << 10, tile: 8 << 10, operations: sums[:1], long: true},
			{gpus: 2, p: relay(), bytes: 4012, tile: 700, operations: sums[:1], long: true},
			{gpus: 2, p: pingPong(60), bytes: 4, operations: sums[:1]},
			// A line for each thread.
			{gpus: 2, program: "ring/allreduce/1x2", bytes: 512, tile: 8 << 10, operations: sums[:1], apart: true},
			{gpus: 2, p: pingPong(60), bytes: 16, operations: sums[:1], long: true},
			{gpus: 2, devices: 2, p: pingPong(60), bytes: 16, operations: sums[:1], long: true},
			{gpus: 3, program: "ring/allreduce/1x3/in-place", bytes: 768, tile: 8 << 10, operations: sums, long: true, apart: true},
			{gpus: 3, devices: 3, program: "all-pairs/allreduce/1x3", bytes: 768, tile: 8 << 10, operations: sums[:1], long: true, apart: true},
			{gpus: 3, devices: 3, program: "ring/allreduce/1x3", bytes: 768, tile: 8 << 10, operations: sums[:1], long: true, apart: true},
			{gpus: 6, program: "all-pairs/allreduce/1x6/in-place", bytes: 1536, tile: 8 << 10, operations: sums, long: true, apart: true},
			{gpus: 2, p: copies(), bytes: 256, operations: sums[:1], apart: true},
			{gpus: 2, p: copies(), bytes: 256, operations: sums, long: true, apart: true},
			// And a block for each rank.
			{gpus: 2, p: copies(), bytes: 256, operations: sums[:1]},
			{gpus: 2, p: pair(), bytes: 256, operations: sums[:1]},
			{gpus: 2, p: twice(), bytes: 16, operations: sums[:1]},
			{gpus: 2, p: twice(), bytes: 16, operations: sums, long: true},
			{gpus: 9, p: f.overRanks(9, "all-pairs", "allreduce", nil, 1), bytes: 144, operations: sums[:1], long: true},
			{gpus: 9, p: f.overRanks(9, "all-pairs", "allreduce", onePhase, 1), bytes: 16, operations: sums, long: true},
			{gpus: 2, program: "ring/allreduce/1x2", bytes: 512, operations: sums, long: true},
			{gpus: 3, devices: 3, program: "ring/allreduce/1x3", bytes: 768, operations: sums, long: true},
			{gpus: 4, program: "all-pairs/allreduce/1x4", bytes: 512, operations: sums[:1]},
			{gpus: 6, program: "all-pairs/allreduce/1x6/in-place", bytes: 768, operations: sums, long: true},
			{gpus: 4, program: "direct/alltoall/1x4", bytes: 512, operations: sums[:1]},
			{gpus: 2, p: inPieces(), bytes: 64, tile: 4096, operations: sums[:1]},
			{gpus: 2, p: inPieces(), bytes: 60, tile: 4096, operations: sums[:1]}, // an element less in the second chunk
			{gpus: 2, p: inPieces(), bytes: 96, tile: 4096, operations: sums[:1], long: true},
			{gpus: 2, p: inPieces(), bytes: 4016, tile: 64, operations: sums[:1]},
		} {
			if w.long && !long() || w.gpus == 9 && proto == topologies.Simple { // whose ranks are no blocks
				continue
			}
			p := w.p
			if p == nil {
				p = programOf(t, w.program, w.gpus, proto)
			}
			for k, op := range w.operations {
				// A test of its own, behind which nothing keeps the machine's memory.
				t.Run(fmt.Sprintf("%v/%d/%s", proto, n, op), func(t *testing.T) {
					e := newEmulated(t, &ptxtest.Machine{Seed: uint64(n + k), SMs: 8, Devices: w.devices, WholeLines: true, Covered: run})
					e.apart = w.apart
					e.right(t, executor.Trial{Program: p, Bytes: w.bytes, Protocol: proto, TileBytes: w.tile, DType: "f32", Op: op, Iters: 1, Seed: int64(k)}, 32)
				})
			}
		}
		e := newEmulated(t, &ptxtest.Machine{Tick: 1e9, Covered: run})
		top := system(t, "fullmesh:2")
		top.Protocols[proto].Threads = 32
		if err := stuck(e, executor.Trial{Program: receiversOnly(), Topology: top, Bytes: 64, Protocol: proto, Iters: 1}); err == nil {
			t.Errorf("%v: two ranks that both receive first came to an end", proto)
		}
	}
	e := newEmulated(t, &ptxtest.Machine{Tick: 1, Covered: run})
	handsFlags(t, e)
	cancelled(t, e)
	lacking := pair() // the second chunk
	for r := range lacking.GPUs {
		for i := range lacking.GPUs[r].Threadblocks[0].Steps {
			lacking.GPUs[r].Threadblocks[0].Steps[i].Count = 1
		}
	}
	device, host, err := e.run(executor.Trial{Program: lacking, Bytes: 64, Protocol: topologies.LL, Iters: 1}, 32)
	if err != nil || device != 16 || host != 16 {
		t.Errorf("two ranks that send half of 16 elements: %d wrong by the device, %d by the host, %v", device, host, err)
	}
	if !long() {
		return
	}
	all, left, function := 0, 0, ""
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, ".func") || strings.HasPrefix(line, ".visible .entry") {
			function = line
		}
		if !accesses.MatchString(line) {
			continue
		}
		all++
		if run[i+1] {
			continue
		}
		left++
		excused := false
		for _, n := range neverRun {
			excused = excused || strings.Contains(function, n.function) && strings.HasPrefix(strings.TrimSpace(line), n.instruction)
		}
		if !excused {
			t.Errorf("PTX line %d was never run: %s", i+1, strings.TrimSpace(line))
		}
	}
	t.Logf("%d of %d loads, stores, fences and meetings run", all-left, all)
}
