package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// TestFiguresOfGPU measures what docs/measurements/cuda.md is about, and adds it as
// that page's tables to figures.md in the folder COLLTUNE_GPU_OUT. Every figure is
// of a program that was checked before and after. Its parts know nothing of each
// other: on-gpu.sh has a process for each, since an error can leave a process
// without its device.
func TestFiguresOfGPU(t *testing.T) {
	for _, part := range []struct {
		name    string
		measure func(*figures)
	}{
		{"device", (*figures).device},
		{"flight", (*figures).flight},
		{"hops", (*figures).hops},
		{"small", (*figures).small},
		{"compilers", (*figures).compilers},
		{"tiles", (*figures).tiles},
		{"large", (*figures).large},
	} {
		t.Run(part.name, func(t *testing.T) {
			f := &figures{t: t, g: onGPU(t), iters: 200, rounds: 5000, bytes: 256 << 20, fail: func(err error) { t.Error(err) }}
			f.say("\n## %s\n", part.name)
			part.measure(f)
		})
	}
}

// figures is a part of the page as it grows.
type figures struct {
	t      *testing.T
	g      *gpus
	copied float64 // GB/s read and written by the device's own copies; 0: not known
	hop    float64 // us; 0: not known
	iters  int     // of small trials
	rounds uint64  // of a flag, between two blocks and back
	bytes  int64   // of large ones; copies are of four times as many
	fail   func(error)
}

// say adds to the page at once: what ends the tests' process leaves what was seen.
func (f *figures) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	f.t.Log(text)
	folder := os.Getenv("COLLTUNE_GPU_OUT")
	if folder == "" {
		return
	}
	page, err := os.OpenFile(filepath.Join(folder, "figures.md"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(page, text)
		err = errors.Join(err, page.Close())
	}
	if err != nil {
		f.t.Error(err)
	}
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

// over is a figure as a part or a multiple of another, or a dash where either was not
// measured: a figure is never of something that failed.
func over(format string, a, b float64) string {
	if a <= 0 || b <= 0 {
		return "-"
	}
	return fmt.Sprintf(format, a/b)
}

// run measures a trial; nothing where it does not fit.
func (f *figures) run(trial executor.Trial) (executor.Measurement, bool) {
	f.t.Helper()
	s := defaults()
	s.watchdog = 5 * time.Second // what stands still must not take the others' time
	m, err := runTrial(context.Background(), f.g, s, trial)
	if errors.Is(err, executor.ErrUnsupported) {
		f.t.Log(err)
		return m, false
	}
	if err != nil {
		f.fail(fmt.Errorf("%d bytes, %v: %w", trial.Bytes, trial.Protocol, err))
		return m, false
	}
	if m.Wrong != 0 {
		f.fail(fmt.Errorf("%d bytes, %v: %d wrong", trial.Bytes, trial.Protocol, m.Wrong))
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
	f.ceilings()
	f.say("A copy of %d MiB on the device: %s GB/s read and written.\n", 4*f.bytes>>20, over("%.0f", f.copied, 1))
	f.say("A flag from one block to another, the slope between %d and %d rounds of two: %s us; two of them: %s us.\n", fewRounds, fewRounds+f.rounds, over("%.3f", f.hop, 1), over("%.2f", 2*f.hop, 1))
	f.clocks()
}

// kernels says what those in use take.
func (f *figures) kernels() {
	f.say("| kernel | registers | bytes of local memory | blocks of %d threads resident |\n|---|---:|---:|---:|", maxThreads)
	for i := range kernelNames {
		k := kernel(i)
		registers, err := f.g.function(0, k).Registers()
		local, e := f.g.function(0, k).Local()
		room, e2 := f.g.limits(0, k, maxThreads)
		if err := errors.Join(err, e, e2); err != nil {
			f.fail(err)
		}
		f.say("| %v | %d | %d | %d |", k, registers, local, room.blocks)
	}
	f.say("")
}

// ceilings measures what the figures are compared with: the device's own copies,
// and a flag from one block to another and back, without an interpreter.
func (f *figures) ceilings() {
	var err error
	if f.copied, err = copyRate(f.g, 4*f.bytes); err != nil {
		f.fail(err)
	}
	few, err := f.flags(fewRounds)
	many, e := f.flags(fewRounds + f.rounds)
	if err := errors.Join(err, e); err != nil {
		f.fail(err)
		return
	}
	f.hop = (many - few) / float64(2*f.rounds)
}

// Rounds of the kernel hop: those of fewRounds are taken off those of more. It gives up
// after flagTimeout.
const (
	fewRounds   = 100
	flagTimeout = 5 * time.Second
)

// flags is the time of n rounds of the kernel hop.
func (f *figures) flags(rounds uint64) (float64, error) {
	one := f.g.all[0]
	if err := f.g.use(1, data.F32); err != nil {
		return 0, err
	}
	at, err := one.c.Alloc(2 * line)
	if err != nil {
		return 0, err
	}
	defer one.c.FreeMemory(at)
	var times []float64
	for range 9 {
		if err := f.g.set(0, uint64(at), 2*line, 0); err != nil {
			return 0, err
		}
		h := hopRecord{There: uint64(at), Back: uint64(at) + line, Rounds: rounds, Timeout: uint64(flagTimeout)}
		us, err := f.g.timed(context.Background(), 1, func() error {
			return f.g.launch(0, launch{hopKernel, 2, 32, true, encode(h)})
		})
		if err != nil {
			return 0, err
		}
		if us >= float64(flagTimeout.Microseconds()) {
			return 0, fmt.Errorf("%d rounds of a flag between two blocks did not end in %v", rounds, flagTimeout)
		}
		times = append(times, us)
	}
	return median(times), nil
}

// clocks says how fine the clocks are that times come from: what a kernel takes that
// looks at the device's clock until so much has passed, by the events around it. A
// coarse clock makes stairs of it.
func (f *figures) clocks() {
	f.say("A kernel that waits n ns by its own clock takes, in us by the events around it:\n\n| ns | least | median | different times of 41 |\n|---:|---:|---:|---:|")
	for _, ns := range []uint64{0, 250, 500, 1000, 1500, 2000, 3000, 5000, 20000} {
		var times []float64
		for range 41 {
			us, err := f.g.timed(context.Background(), 1, func() error {
				return f.g.launch(0, launch{holdKernel, 1, 32, false, encode(holdRecord{ns})})
			})
			if err != nil {
				f.fail(err)
				return
			}
			times = append(times, us)
		}
		slices.Sort(times)
		f.say("| %d | %.2f | %.2f | %d |", ns, times[0], median(times), len(slices.Compact(slices.Clone(times))))
	}
	f.say("\nThe device is kept busy for %v while the host queues what is timed, which was too short for %d times above.\n", f.g.ahead, f.g.queuedLate())
}

// system returns a full mesh of 8 whose protocol has the given threads a block.
func (f *figures) system(proto topologies.Proto, threads int) *topologies.Topology {
	top := *system(f.t, "fullmesh:8")
	top.Protocols[proto].Threads = threads
	return &top
}

// variant is a family's program over 8 ranks in place, with parameters.
func (f *figures) variant(name, coll string, given map[string]any, n int) *ir.Program {
	f.t.Helper()
	return f.overRanks(8, name, coll, given, n)
}

// overRanks is the same over n ranks.
func (f *figures) overRanks(ranks int, name, coll string, given map[string]any, n int) *ir.Program {
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
func copyRate(g *gpus, bytes int64) (float64, error) {
	one := g.all[0]
	if err := g.use(1, data.F32); err != nil {
		return 0, err
	}
	from, err := one.c.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	defer one.c.FreeMemory(from)
	to, err := one.c.Alloc(bytes)
	if err != nil {
		return 0, err
	}
	defer one.c.FreeMemory(to)
	var times []float64
	for range 10 {
		us, err := g.timed(context.Background(), 1, func() error { return one.c.Copy(to, from, bytes, one.stream) })
		if err != nil {
			return 0, err
		}
		times = append(times, us)
	}
	return 2 * float64(bytes) / median(times) / 1e3, nil
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
	fakeCompiler(t, "")
	page, err := pageOfFake(t, "sms=200,memory=4096", (*figures).device, (*figures).flight, (*figures).hops, (*figures).small, (*figures).tiles)
	if err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"Fake 0, compute capability 9.0, 200 SMs", "| interpret_LL128 | 40 |", "A copy of 4 MiB on the device: ", "| 20000 | ",
		"| 50 | 2 | 2048 | ", "| phases=1 | LL | ", "| allgather | 8 | 2 | ", "| allreduce | 128 | ", "| Simple | ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

// TestFiguresOfWhatFails has the device be lost in the middle of a part: what was not
// measured is a dash, and never a figure.
func TestFiguresOfWhatFails(t *testing.T) {
	page, err := pageOfFake(t, "sms=200,memory=4096,fail=cuLaunchCooperativeKernel:30:719", (*figures).hops)
	if err == nil || !strings.Contains(page, "| Simple | - | - |") || strings.Contains(page, "0.00") {
		t.Errorf("%v, the page:\n%s", err, page)
	}
	page, err = pageOfFake(t, "sms=200,memory=4096,fail=cuLaunchCooperativeKernel:1:720", (*figures).device)
	if err == nil || !strings.Contains(page, "two of them: - us.") || !strings.Contains(page, "| 20000 | ") {
		t.Errorf("%v, the page:\n%s", err, page)
	}
}

// pageOfFake is the page of some parts, of a fake GPU, and whether any of them failed.
func pageOfFake(t *testing.T, settings string, parts ...func(*figures)) (page string, failed error) {
	t.Helper()
	fake := newFake(t, settings)
	folder := t.TempDir()
	t.Setenv("COLLTUNE_GPU_OUT", folder)
	for _, part := range parts {
		g, err := openGPUs(defaults())
		if err != nil {
			t.Fatal(err)
		}
		quiet := &figures{t: t, g: g, iters: 1, rounds: 50, bytes: 1 << 20, fail: func(err error) { failed = errors.Join(failed, err) }}
		part(quiet)
		if failed != nil {
			fake.forget()
			fake.set("")
			continue
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "figures.md"))
	if err != nil {
		t.Error(err)
	}
	return string(text), failed
}
