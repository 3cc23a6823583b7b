package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// TestFiguresOfGPU measures what docs/measurements/cuda.md is about, and writes
// it as that page's tables to figures.md in the folder COLLTUNE_GPU_OUT. Every
// figure is of a program that was checked before and after.
func TestFiguresOfGPU(t *testing.T) {
	g := onGPU(t)
	f := &figures{t: t, g: g, iters: 200}
	for _, part := range []func(){f.device, f.ceilings, f.hops, f.small, f.compilers, f.large} {
		part()
	}
}

// figures is the page as it grows.
type figures struct {
	t      *testing.T
	g      *gpus
	page   strings.Builder
	copied float64 // GB/s read and written by the device's own copies
	hop    float64 // us
	iters  int     // of small trials
}

func (f *figures) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.t.Log(text)
	fmt.Fprintln(&f.page, text)
	f.write() // what ends the tests' process leaves what was seen before
}

// late tells that there is no time for more.
func (f *figures) late() bool {
	if !late(f.t) {
		return false
	}
	f.say("Time is up: the rest is not measured.\n")
	f.t.Fail()
	return true
}

func (f *figures) write() {
	folder := os.Getenv("COLLTUNE_GPU_OUT")
	if folder == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(folder, "figures.md"), []byte(f.page.String()), 0o644); err != nil {
		f.t.Error(err)
	}
}

// run measures a trial; nothing where it does not fit.
func (f *figures) run(trial executor.Trial) (executor.Measurement, bool) {
	f.t.Helper()
	m, err := runTrial(context.Background(), f.g, defaults(), trial)
	if errors.Is(err, executor.ErrUnsupported) {
		return m, false
	}
	if err != nil {
		f.t.Errorf("%d bytes, %v: %v", trial.Bytes, trial.Protocol, err)
		return m, false
	}
	if m.Wrong != 0 {
		f.t.Errorf("%d bytes, %v: %d wrong", trial.Bytes, trial.Protocol, m.Wrong)
		return m, false
	}
	return m, true
}

func (f *figures) device() {
	version, err := f.g.d.Version()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, one := range f.g.all {
		v := &one.device
		f.say("%s, compute capability %d.%d, %d SMs, CUDA %d.%d, %s, kernels %v\n", v.Name, v.Major, v.Minor, v.SMs, version/1000, version%1000/10, driverModule(), &f.g.code)
	}
	if err := f.g.use(1, data.F32); err != nil {
		f.t.Fatal(err)
	}
	f.kernels()
}

// kernels says what those in use take.
func (f *figures) kernels() {
	f.say("| kernel | registers | bytes of local memory | blocks of %d threads resident |\n|---|---:|---:|---:|", mostThreads)
	for i := range kernelNames {
		k := kernel(i)
		registers, err := f.g.function(0, k).Registers()
		local, e := f.g.function(0, k).Local()
		room, e2 := f.g.room(0, k, mostThreads)
		if err := errors.Join(err, e, e2); err != nil {
			f.t.Error(err)
		}
		f.say("| %v | %d | %d | %d |", k, registers, local, room.blocks)
	}
	f.say("")
}

// ceilings measures what the figures are compared with: the device's own copies,
// and a flag from one block to another and back, without an interpreter.
func (f *figures) ceilings() {
	f.copied = copyRate(f.t, f.g)
	f.say("A copy of 1 GiB on the device: %.0f GB/s read and written.\n", f.copied)
	few, many := uint64(100), uint64(5100)
	a, b := f.flags(few), f.flags(many)
	f.hop = (b - a) / float64(2*(many-few))
	f.say("A flag from one block to another, the slope between %d and %d rounds of two: %.3f us; two of them: %.2f us.\n", few, many, f.hop, 2*f.hop)
}

// flags is the time of so many rounds of the kernel hop.
func (f *figures) flags(rounds uint64) float64 {
	one := f.g.all[0]
	at, err := one.c.Alloc(2 * line)
	if err != nil {
		f.t.Fatal(err)
	}
	defer one.c.FreeMemory(at)
	var times []float64
	for range 9 {
		if err := f.g.set(0, uint64(at), 2*line, 0); err != nil {
			f.t.Fatal(err)
		}
		h := hopRecord{There: uint64(at), Back: uint64(at) + line, Rounds: rounds, Timeout: 5e9}
		us, err := f.g.timed(context.Background(), 1, func() error {
			return f.g.launch(0, launch{hopKernel, 2, 32, true, encode(h)})
		})
		if err != nil {
			f.t.Fatal(err)
		}
		times = append(times, us)
	}
	return median(times)
}

// hops is what a hop takes in a program.
func (f *figures) hops() {
	f.say("| protocol | a hop of a program, us | flag hops |\n|---|---:|---:|")
	for _, proto := range topologies.AllProtocols {
		few, many := 10, 110
		time := func(rounds int) float64 {
			m, _ := f.run(executor.Trial{Program: pingPong(rounds), Topology: system(f.t, "fullmesh:2"), Bytes: 4, Protocol: proto, DType: "f32", Iters: f.iters, Warmup: f.iters / 10})
			return median(m.TimesUS)
		}
		hop := (time(many) - time(few)) / float64(2*(many-few))
		f.say("| %v | %.2f | %.1f |", proto, hop, hop/f.hop)
	}
	f.say("")
}

// small times all-pairs of 1 KiB on 8 ranks, as launches and as graphs.
func (f *figures) small() {
	f.say("All-pairs allreduce of 1 KiB, 8 ranks, f32; kernel: without the empty launch; two flag hops are %.2f us.\n", 2*f.hop)
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
				f.say("| %s | %v | %d | %.2f | %.2f | %.2f | %.2f | %.2f | %s | %s |", script.Params(given), proto, threads, us, slices.Min(m.TimesUS), empty, us-empty, (us-empty)/(2*f.hop), graph, graphEmpty)
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

// large times AllGather and AllReduce of all families, and says for each what of
// the copies' rate its best setting reaches.
func (f *figures) large() {
	type row struct {
		setting         string
		us              float64
		buffers, passed float64
	}
	f.say("256 MiB, 8 ranks in place, f32. Bytes: what the program's steps read and write in buffers, and in slots (a slot is written once and read once); rate: both over the time. The best setting of each family.\n")
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
					trial := executor.Trial{Program: family.program, Topology: f.system(proto, mostThreads), Bytes: 256 << 20, Protocol: proto, TileBytes: tile, DType: "f32", Op: "sum", Iters: 5, Warmup: 1}
					m, ok := f.run(trial)
					if !ok {
						continue
					}
					us := median(m.TimesUS)
					if b, ok := best[family.name]; ok && b.us <= us {
						continue
					}
					buffers, passed := traffic(f.t, trial)
					best[family.name] = row{fmt.Sprintf("%v ×%d, tile %d KiB, %s", proto, n, tile>>10, strings.Split(m.Note, ", ")[1]), us, buffers, passed}
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
		f.say("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f %% | %.0f %% |", k, b.setting, b.us, b.buffers/1e6, b.passed/1e6, rate, 100*rate/f.copied, 100*b.buffers/b.us/1e3/f.copied)
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
		large, _ := f.run(executor.Trial{Program: f.variant("ring", "allreduce", nil, 16), Topology: f.system(topologies.Simple, 512), Bytes: 256 << 20, Protocol: topologies.Simple, TileBytes: 128 << 10, DType: "f32", Op: "sum", Iters: 20, Warmup: 3})
		if _, seen := measured[who]; !seen {
			f.say("Kernels %v:\n", &g.code)
			f.kernels()
		}
		now := of{median(small.TimesUS), median(large.TimesUS)}
		f.say("%s: all-pairs 1 KiB LL %.2f us, ring ×16 256 MiB Simple %.0f us\n", who, now.small, now.large)
		measured[who] = now
		if err := g.close(); err != nil {
			f.t.Error(err)
		}
	}
}

// system is a full mesh of 8 with so many threads a block.
func (f *figures) system(proto topologies.Proto, threads int) *topologies.Topology {
	top := *system(f.t, "fullmesh:8")
	top.Protocols[proto].Threads = threads
	return &top
}

// variant is a family's program over 8 ranks in place, with parameters.
func (f *figures) variant(name, coll string, given map[string]any, n int) *ir.Program {
	f.t.Helper()
	return f.over(8, name, coll, given, n)
}

// over is the same over so many ranks.
func (f *figures) over(ranks int, name, coll string, given map[string]any, n int) *ir.Program {
	f.t.Helper()
	library := map[string]string{}
	for _, file := range glob(f.t, "../../templates/library/*.star") {
		library[filepath.Base(file)] = readText(f.t, file)
	}
	template, err := script.Load(name+".star", []byte(readText(f.t, "../../templates/families/"+name+".star")), script.Options{Library: library})
	if err != nil {
		f.t.Fatal(err)
	}
	traced, err := template.Trace(script.Even(1, ranks), script.Request{Collective: coll, InPlace: true}, given)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := compiler.Compile(traced, compiler.Options{Instances: n})
	if err != nil {
		f.t.Fatal(err)
	}
	return r.Program
}

// pingPong is two ranks that throw a chunk to and fro before they swap buffers.
func pingPong(rounds int) *ir.Program {
	gpu := func(first bool) ir.GPU {
		send := ir.Step{Op: ir.Send, Count: 1}
		receive := ir.Step{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Scratch}}
		var steps []ir.Step
		for range rounds {
			if first {
				steps = append(steps, send, receive)
			} else {
				steps = append(steps, receive, send)
			}
		}
		peer := 0
		if first {
			peer = 1
		}
		receive.Dst.Buf = collective.Out
		return ir.GPU{Scratch: 1, Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: append(steps, send, receive)}}}
	}
	return &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1}, GPUs: []ir.GPU{gpu(true), gpu(false)}}
}

// traffic is how many bytes a trial's steps read and write in the ranks'
// buffers, and how many in the slots of connections. A run of reductions reads
// and writes what it reduces into once.
func traffic(t *testing.T, trial executor.Trial) (buffers, passed float64) {
	t.Helper()
	p, err := newPlan(trial, 1)
	if err != nil {
		t.Fatal(err)
	}
	wire := float64(wires[trial.Protocol].line) / float64(wires[trial.Protocol].data)
	chunk := float64(p.reference.Layout.ChunkElements * int64(p.reference.Layout.ElemBytes))
	for rank, g := range trial.Program.GPUs {
		for _, tb := range g.Threadblocks {
			for _, run := range p.runs(rank, tb.Steps) {
				s := &tb.Steps[run.first]
				n := float64(s.Count) * chunk
				if s.Op.ReadsSrc() {
					buffers += n * float64(run.steps)
				}
				if s.Op == ir.Reduce {
					buffers += n
				}
				if s.Op.WritesDst() {
					buffers += n
				}
				if s.Op.Sends() {
					passed += n * wire
				}
				if s.Op.Receives() {
					passed += n * wire
				}
			}
		}
	}
	return buffers, passed
}

// median of times.
func median(us []float64) float64 {
	if len(us) == 0 {
		return 0
	}
	us = slices.Sorted(slices.Values(us))
	return us[len(us)/2]
}

// copyRate is what the device's own copies reach, reading and writing counted.
func copyRate(t *testing.T, g *gpus) float64 {
	t.Helper()
	const bytes = 1 << 30
	one := g.all[0]
	from, err := one.c.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer one.c.FreeMemory(from)
	to, err := one.c.Alloc(bytes)
	if err != nil {
		t.Fatal(err)
	}
	defer one.c.FreeMemory(to)
	var times []float64
	for range 10 {
		us, err := g.timed(context.Background(), 1, func() error { return one.c.Copy(to, from, bytes, one.stream) })
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, us)
	}
	return 2 * bytes / median(times) / 1e3
}

// TestTraffic holds the figures' arithmetic to sums made by hand.
func TestTraffic(t *testing.T) {
	trial := executor.Trial{Program: pair(), Topology: system(t, "ring:2"), Bytes: 1 << 20, Protocol: topologies.Simple, DType: "f32", Op: "sum"}
	// Two ranks read what they send and write what they receive: each byte goes
	// into a slot and out of it.
	if b, s := traffic(t, trial); b != 4<<20 || s != 4<<20 {
		t.Errorf("a pair: %.0f and %.0f bytes", b, s)
	}
	trial.Protocol = topologies.LL // flags are as many bytes again
	if b, s := traffic(t, trial); b != 4<<20 || s != 8<<20 {
		t.Errorf("a pair over LL: %.0f and %.0f bytes", b, s)
	}
	for _, f := range families(t, 1, 4, topologies.Simple) {
		if f.name != "all-pairs/allreduce/1x4/in-place" {
			continue
		}
		trial = executor.Trial{Program: f.program, Topology: system(t, "ring:4"), Bytes: 4 << 20, Protocol: topologies.Simple, DType: "f32", Op: "sum"}
		// Each of 4 ranks has 4 parts of 1 MiB. It sends 3 and takes 3 into
		// scratch; reads 3 and its own, and writes that; sends it to 3 and takes 3.
		const rank = 3 + 3 + (3 + 1 + 1) + 3 + 3
		if b, s := traffic(t, trial); b != 4*rank<<20 || s != 4*12<<20 {
			t.Errorf("all-pairs: %.0f and %.0f MiB, want %d and %d", b/(1<<20), s/(1<<20), 4*rank, 4*12)
		}
	}
}

// TestFiguresRun goes through the parts of the page that a fake GPU can carry,
// so that they don't fail where the GPU is.
func TestFiguresRun(t *testing.T) {
	if !long() {
		t.Skip("COLLTUNE_LONG is not set")
	}
	newFake(t, "sms=200,memory=4096")
	g, err := openGPUs(defaults())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Setenv("COLLTUNE_GPU_OUT", folder)
	f := &figures{t: t, g: g, iters: 1}
	f.device()
	if us := f.flags(10); us <= 0 {
		t.Errorf("ten rounds of a flag took %f us", us)
	}
	f.hop = 1
	f.small()
	f.hops()
	page := readText(t, filepath.Join(folder, "figures.md"))
	for _, want := range []string{"Fake 0, compute capability 9.0, 200 SMs", "| interpret_LL128 | 40 |", "| phases=1 | LL | ", "| Simple | "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}
