package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
	"github.com/colltune/colltune/topologies"
)

// The parts of the figures that are of programs.

// flight is what a copy without messages reaches by the number of blocks and of
// threads: whether what the threads have on their way is enough to keep the memory
// busy, and what cutting it into tiles costs.
func (f *figures) flight() {
	f.ceilings()
	sms := f.g.all[0].device.SMs
	f.say("A rank that copies %d MiB from buffer to buffer, a part a threadblock, under Simple: what the loop reaches without messages.\n\n| blocks | threads | tile, KiB | us | GB/s read and written | of a copy's rate |\n|---:|---:|---:|---:|---:|---:|", 4*f.bytes>>20)
	seen := map[string]bool{}
	for _, tile := range []int64{2 << 20, 128 << 10, 32 << 10} {
		for _, threads := range []int{512, 256, 128} {
			for _, blocks := range []int{sms / 4, sms / 2, sms, 2 * sms, 4 * sms} {
				if f.late() {
					return
				}
				bytes := 4 * f.bytes / int64(blocks) / 16 * 16 * int64(blocks)
				m, ok := f.run(executor.Trial{Program: copyingBlocks(blocks), Topology: f.system(topologies.Simple, threads), Bytes: bytes, Protocol: topologies.Simple, TileBytes: tile, DType: "f32", Op: "sum", Iters: 5, Warmup: 1})
				if !ok {
					continue
				}
				had := threadsOf(m) // fewer where so many at once do not fit
				row := fmt.Sprint(tile, had, blocks)
				if seen[row] {
					continue
				}
				seen[row] = true
				us := median(m.TimesUS)
				rate := 2 * float64(bytes) / us / 1e3
				f.say("| %d | %s | %d | %.0f | %.0f | %s |", blocks, had, tile>>10, us, rate, over("%.0f %%", 100*rate, f.copied))
			}
		}
	}
	f.say("")
}

// threadsOf is how many threads a block had, from a note.
func threadsOf(m executor.Measurement) string {
	_, rest, _ := strings.Cut(m.Note, "threads ")
	n, _, _ := strings.Cut(rest, ",")
	return n
}

// copyingBlocks is one rank whose threadblocks each copy a part.
func copyingBlocks(blocks int) *ir.Program {
	gpu := ir.GPU{}
	for i := range blocks {
		at := func(b collective.Buffer) ir.Loc { return ir.Loc{Buf: b, Off: int32(i)} }
		gpu.Threadblocks = append(gpu.Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Channel: i, Steps: []ir.Step{
			{Op: ir.Copy, Count: 1, Src: at(collective.In), Dst: at(collective.Out)},
		}})
	}
	return &ir.Program{Collective: collective.Spec{Name: "allgather", Ranks: 1, Chunks: blocks}, GPUs: []ir.GPU{gpu}}
}

// hops is what a hop takes in a program.
func (f *figures) hops() {
	f.ceilings()
	f.say("| protocol | a hop of a program, us | flag hops |\n|---|---:|---:|")
	for _, proto := range topologies.AllProtocols {
		few, many := 10, 110
		time := func(rounds int) float64 {
			if f.late() {
				return 0
			}
			m, _ := f.run(executor.Trial{Program: pingPong(rounds), Topology: system(f.t, "fullmesh:2"), Bytes: 4, Protocol: proto, DType: "f32", Iters: f.iters, Warmup: f.iters / 10})
			return median(m.TimesUS)
		}
		long, short, hop := time(many), time(few), 0.0
		if long > 0 && short > 0 {
			hop = (long - short) / float64(2*(many-few))
		}
		f.say("| %v | %s | %s |", proto, over("%.2f", hop, 1), over("%.1f", hop, f.hop))
	}
	f.say("")
}

// small times all-pairs of 1 KiB on 8 ranks, as launches and as graphs.
func (f *figures) small() {
	f.ceilings()
	f.say("All-pairs allreduce of 1 KiB, 8 ranks, f32; kernel: without the empty launch; two flag hops are %s us.\n", over("%.2f", 2*f.hop, 1))
	f.say("| parameters | protocol | threads | us | least us | empty | kernel | times two flag hops | as a graph | empty |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, given := range []map[string]any{{"phases": 1}, {"phases": 2}} {
		program := f.variant("all-pairs", "allreduce", given, 1)
		for _, proto := range topologies.AllProtocols {
			if f.late() {
				return
			}
			for _, threads := range []int{64, 128, 512} {
				trial := executor.Trial{Program: program, Topology: f.system(proto, threads), Bytes: 1024, Protocol: proto, DType: "f32", Op: "sum", Iters: f.iters, Warmup: f.iters / 10}
				m, ok := f.run(trial)
				if !ok {
					continue
				}
				graph, graphEmpty := "-", "-"
				if f.g.d.Graphs() == nil {
					f.g.graph = true
					if as, ok := f.run(trial); ok {
						graph, graphEmpty = fmt.Sprintf("%.2f", median(as.TimesUS)), fmt.Sprintf("%.2f", emptyOf(f.t, as.Note))
					}
					f.g.graph = false
				}
				us, empty := median(m.TimesUS), emptyOf(f.t, m.Note)
				f.say("| %s | %v | %d | %.2f | %.2f | %.2f | %.2f | %s | %s | %s |", script.Params(given), proto, threads, us, slices.Min(m.TimesUS), empty, us-empty, over("%.2f", us-empty, 2*f.hop), graph, graphEmpty)
			}
		}
	}
	f.say("")
}

// emptyOf is the empty launch of a note, in microseconds.
func emptyOf(t *testing.T, note string) (us float64) {
	t.Helper()
	_, at, _ := strings.Cut(note, "empty ")
	if _, at, _ = strings.Cut(at, " "); at == "" {
		t.Fatalf("note %q", note)
	}
	if _, err := fmt.Sscanf(at, "%f us", &us); err != nil {
		t.Fatalf("note %q: %v", note, err)
	}
	return us
}

// tiles is what a ring takes by its tile: where slots leave the second cache, what
// passes through them goes to memory and comes back.
func (f *figures) tiles() {
	f.ceilings()
	cache := f.g.all[0].device.Cache
	f.say("%d MiB over 8 ranks in place, f32, a ring of 16 instances under Simple, by tile; the second cache has %d MiB.\n\n| collective | tile, KiB | slots, MiB | us | GB/s, buffers and slots | of a copy's rate |\n|---|---:|---:|---:|---:|---:|", f.bytes>>20, cache>>20)
	for _, name := range []string{"allgather", "allreduce"} {
		program := f.variant("ring", name, nil, 16)
		for tile := int64(8 << 10); tile <= 2<<20; tile *= 2 {
			if f.late() {
				return
			}
			trial := executor.Trial{Program: program, Topology: f.system(topologies.Simple, maxThreads), Bytes: f.bytes, Protocol: topologies.Simple, TileBytes: tile, DType: "f32", Op: "sum", Iters: 5, Warmup: 1}
			m, ok := f.run(trial)
			if !ok {
				continue
			}
			buffers, passed := traffic(f.t, trial)
			us := median(m.TimesUS)
			rate := (buffers + passed) / us / 1e3
			f.say("| %s | %d | %d | %.0f | %.0f | %s |", name, tile>>10, slotsOf(f.t, trial)>>20, us, rate, over("%.0f %%", 100*rate, f.copied))
		}
	}
	f.say("")
}

// slotsOf is how many bytes a trial's connections have as slots.
func slotsOf(t *testing.T, trial executor.Trial) int64 {
	t.Helper()
	p, err := newPlan(trial, 1)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(p.sends)) * p.slots * p.slotBytes
}

// large times AllGather and AllReduce of all families, and says for each what of
// the copies' rate its best setting reaches.
func (f *figures) large() {
	f.ceilings()
	type row struct {
		setting         string
		us              float64
		buffers, passed float64
	}
	f.say("%d MiB, 8 ranks in place, f32. Bytes: what the program's steps read and write in buffers, and in slots (a slot is written once and read once); rate: both over the time. The best setting of each family.\n", f.bytes>>20)
	f.say("| family | setting | us | buffers, MB | slots, MB | GB/s | of a copy's rate | buffers alone |\n|---|---|---:|---:|---:|---:|---:|---:|")
	best := map[string]row{}
	// Many instances first: where the time is up, few are what is missing.
search:
	for _, n := range []int{16, 8, 32, 4, 2, 1} {
		for _, proto := range []topologies.Proto{topologies.Simple, topologies.LL128} {
			for _, family := range instances(f.t, 1, 8, proto, n) {
				if f.late() {
					break search
				}
				c := family.program.Collective
				if !c.InPlace || c.Name != "allreduce" && c.Name != "allgather" {
					continue
				}
				for _, tile := range []int64{128 << 10, 32 << 10, 512 << 10} {
					// 512 threads, or 256 where only so many are resident.
					trial := executor.Trial{Program: family.program, Topology: f.system(proto, maxThreads), Bytes: f.bytes, Protocol: proto, TileBytes: tile, DType: "f32", Op: "sum", Iters: 5, Warmup: 1}
					m, ok := f.run(trial)
					if !ok {
						continue
					}
					us := median(m.TimesUS)
					if b, ok := best[family.name]; ok && b.us <= us {
						continue
					}
					buffers, passed := traffic(f.t, trial)
					best[family.name] = row{fmt.Sprintf("%v ×%d, tile %d KiB, threads %s", proto, n, tile>>10, threadsOf(m)), us, buffers, passed}
				}
			}
		}
	}
	keys := make([]string, 0, len(best))
	for k := range best {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(best[a].us, best[b].us) })
	for _, k := range keys {
		b := best[k]
		rate := (b.buffers + b.passed) / b.us / 1e3
		f.say("| %s | %s | %.0f | %.0f | %.0f | %.0f | %s | %s |", k, b.setting, b.us, b.buffers/1e6, b.passed/1e6, rate, over("%.0f %%", 100*rate, f.copied), over("%.0f %%", 100*b.buffers/b.us/1e3, f.copied))
	}
	f.say("")
}

// compilers times the same few trials with the driver's code and with NVRTC's.
func (f *figures) compilers() {
	if _, err := nvrtc.Open(); err != nil {
		f.say("NVRTC is not compared: %v", err)
		return
	}
	before := f.g
	defer func() { f.g = before }()
	type of struct{ small, large float64 }
	measured := map[compiledBy]of{}
	for _, who := range []compiledBy{byDriver, byNVRTC, byDriver, byNVRTC} {
		if f.late() {
			return
		}
		s := defaults()
		s.compiler = who
		g, err := openGPUs(s)
		if err != nil {
			f.say("%s is not compared: %v", who, err)
			return
		}
		f.g = g
		small, _ := f.run(executor.Trial{Program: f.variant("all-pairs", "allreduce", map[string]any{"phases": 1}, 1), Topology: f.system(topologies.LL, 128), Bytes: 1024, Protocol: topologies.LL, DType: "f32", Op: "sum", Iters: f.iters, Warmup: f.iters / 10})
		large, _ := f.run(executor.Trial{Program: f.variant("ring", "allreduce", nil, 16), Topology: f.system(topologies.Simple, 512), Bytes: f.bytes, Protocol: topologies.Simple, TileBytes: 128 << 10, DType: "f32", Op: "sum", Iters: 20, Warmup: 3})
		if _, seen := measured[who]; !seen {
			f.say("Kernels %v:\n", &g.code)
			f.kernels()
		}
		now := of{median(small.TimesUS), median(large.TimesUS)}
		f.say("%s: all-pairs 1 KiB LL %s us, ring ×16 %d MiB Simple %s us\n", who, over("%.2f", now.small, 1), f.bytes>>20, over("%.0f", now.large, 1))
		measured[who] = now
		if err := g.close(); err != nil {
			f.t.Error(err)
		}
	}
}
