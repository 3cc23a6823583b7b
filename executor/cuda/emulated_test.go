package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/internal/ptxtest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// emulated is GPUs that execute the embedded PTX, through the driver's binding. The host
// compares a trial's result once more, with the reference of all executors.
type emulated struct {
	*gpus
	t         *testing.T
	m         *ptxtest.Machine
	bases     []uint64
	unordered bool // programs get no fences that they need
	apart     bool // programs are run by their threadblocks, exchanges or not
}

// newEmulated puts a machine behind the binding.
func newEmulated(t *testing.T, m *ptxtest.Machine) *emulated {
	t.Helper()
	e, err := tryEmulated(t, m)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryEmulated(t *testing.T, m *ptxtest.Machine) (*emulated, error) {
	t.Helper()
	if err := driver.Provide(ptxtest.Library, ptxtest.Symbol); err != nil {
		t.Fatal(err)
	}
	t.Setenv(driver.LibraryVariable, ptxtest.Library)
	if theEmulated != nil {
		theEmulated.end()
	}
	m.Use()
	s := patient()
	s.compiler = byDriver
	g, err := openGPUs(s)
	if err != nil {
		return nil, err
	}
	e := &emulated{gpus: g, t: t, m: m}
	theEmulated = e
	t.Cleanup(e.end)
	return e, nil
}

// theEmulated is the machine behind the binding: there is one at a time.
var theEmulated *emulated

// end releases everything, and checks that nothing is left, unless the device is lost.
func (e *emulated) end() {
	if theEmulated != e {
		return
	}
	theEmulated = nil
	err, lost := e.close(), len(e.m.Faults) > 0
	if err != nil && !lost {
		e.t.Error(err)
	}
	if n := e.m.Held(); n != 0 && !lost {
		e.t.Errorf("%d things were not given back", n)
	}
}

func (e *emulated) alloc(device int, bytes int64) (uint64, error) {
	at, err := e.gpus.alloc(device, bytes)
	e.bases = append(e.bases, at)
	return at, err
}

// run runs a trial with few threads a block, and gives what the device's own
// check and the host's found wrong.
func (e *emulated) run(trial executor.Trial, threads int) (device, host int64, err error) {
	e.t.Helper()
	trial.Topology = system(e.t, fmt.Sprintf("fullmesh:%d", trial.Program.Ranks()))
	trial.Topology.Protocols[trial.Protocol].Threads = threads
	p, err := newPlan(trial, e.devices())
	if err != nil {
		e.t.Fatal(err)
	}
	if e.unordered {
		p.ordered = unordered
	}
	if e.apart {
		p.exchange = nil
	}
	e.bases = nil
	looked := &looking{emulated: e, p: p}
	got, err := runPlan(context.Background(), looked, patient(), trial, p)
	return got.Wrong, looked.wrong, err
}

// looking is a machine that looks at a trial's outputs before they are gone.
type looking struct {
	*emulated
	p     *plan
	wrong int64
}

func (l *looking) releaseAll() error {
	for rank := range l.p.ranks {
		var all [3][]byte
		for b, s := range l.p.ranks[rank].buffers {
			all[b] = make([]byte, s.bytes)
			device := l.p.deviceOf[rank]
			if s.bytes == 0 || device >= len(l.bases) || len(l.m.Faults) > 0 {
				continue
			}
			if err := l.read(device, l.bases[device]+uint64(s.at), all[b]); err != nil {
				return err
			}
		}
		l.wrong += l.p.reference.Wrong(rank, &data.Buffers{In: all[collective.In], Out: all[collective.Out], Scratch: all[collective.Scratch]})
	}
	return l.gpus.releaseAll()
}

// right fails the test if either check finds a wrong element.
func (e *emulated) right(t *testing.T, trial executor.Trial, threads int) {
	t.Helper()
	device, host, err := e.run(trial, threads)
	if err != nil || device != 0 || host != 0 {
		t.Fatalf("%v, %d bytes of %s, %s, seed %d: %d wrong by the device, %d by the host, %v", trial.Protocol, trial.Bytes, trial.DType, trial.Op, e.m.Seed, device, host, err)
	}
}

// programOf is a family's program on one node of n GPUs.
func programOf(t *testing.T, name string, gpus int, proto topologies.Proto) *ir.Program {
	t.Helper()
	for _, f := range families(t, 1, gpus, proto) {
		if f.name == name {
			return f.program
		}
	}
	t.Fatalf("no program %s", name)
	return nil
}

// TestFamiliesAsPTX has the embedded PTX run programs of every family: in the
// ordinary suite a few, in the long one all on 2 and 4 ranks with every protocol,
// over memory that is strong and weak in turns.
func TestFamiliesAsPTX(t *testing.T) {
	n := 0
	for _, gpus := range []int{2, 4} {
		for _, proto := range topologies.AllProtocols {
			for _, f := range families(t, 1, gpus, proto) {
				n++
				if !long() && n%48 != 3*int(proto) {
					continue
				}
				t.Run(proto.String()+"/"+f.name, func(t *testing.T) {
					e := newEmulated(t, &ptxtest.Machine{Seed: uint64(n), Weak: n%2 == 0, WholeLines: true})
					sizes := []int64{4, 512, 4012, 24000}
					if !long() {
						sizes = sizes[1:3]
					}
					for k, bytes := range sizes {
						e.right(t, executor.Trial{
							Program: f.program, Bytes: bytes, Protocol: proto, TileBytes: 700,
							DType: collective.DTypes()[(n+k)%10], Op: data.Operations()[(n/3+k)%5], Iters: 1, Seed: int64(n),
						}, 32<<(n%2))
					}
				})
			}
		}
	}
}

// TestTypesAsPTX runs every type and reduction: each type is a text of its own.
func TestTypesAsPTX(t *testing.T) {
	n := 0
	for _, name := range []string{"all-pairs/reducescatter/1x2/in-place", "ring/allreduce/1x2/in-place"} {
		for i, dtype := range collective.DTypes() {
			for k, op := range data.Operations() {
				n++
				if !long() && (k != i%5 || n%2 == 0) {
					continue
				}
				proto := topologies.AllProtocols[n%3]
				e := newEmulated(t, &ptxtest.Machine{Seed: uint64(n), WholeLines: true})
				e.right(t, executor.Trial{Program: programOf(t, name, 2, proto), Bytes: 1010 * int64(1+i%2), Protocol: proto, TileBytes: 256, DType: dtype, Op: op, Iters: 1, Seed: int64(n)}, 32)
			}
		}
	}
}

// TestSeedsAsPTX runs trials under many schedules.
func TestSeedsAsPTX(t *testing.T) {
	seeds := uint64(2)
	if long() {
		seeds = 60
	}
	for _, proto := range topologies.AllProtocols {
		p := programOf(t, "all-pairs/allreduce/1x2/in-place", 2, proto)
		for seed := range seeds {
			e := newEmulated(t, &ptxtest.Machine{Seed: seed, Weak: true, WholeLines: true})
			e.right(t, executor.Trial{Program: p, Bytes: 2004, Protocol: proto, TileBytes: 512, DType: "i32", Op: "sum", Iters: 1, Seed: 9}, 64)
		}
	}
}

// TestDevicesAsPTX has ranks lie on several devices: their memory is reached by
// accesses whose scope is the system.
func TestDevicesAsPTX(t *testing.T) {
	for _, proto := range topologies.AllProtocols {
		for devices := 2; devices <= 4; devices += 2 {
			if !long() && devices != 2 {
				continue
			}
			p := programOf(t, "ring/allreduce/1x4", 4, proto)
			e := newEmulated(t, &ptxtest.Machine{Devices: devices, Weak: true, WholeLines: true, Seed: uint64(devices)})
			e.right(t, executor.Trial{Program: p, Bytes: 3000, Protocol: proto, TileBytes: 512, DType: "bf16", Op: "max", Iters: 1, Warmup: 1, Seed: 5}, 32)
			// Small messages: more launches than slots, so that senders wait for those who take.
			p = programOf(t, "all-pairs/allreduce/1x4", 4, proto)
			e.right(t, executor.Trial{Program: p, Bytes: 512, Protocol: proto, DType: "bf16", Op: "avg", Iters: 1, Warmup: 9, Seed: 5}, 32)
		}
	}
}

// TestGraphsAsPTX runs a trial as a graph, whose parameters are those of when it
// was recorded.
func TestGraphsAsPTX(t *testing.T) {
	e := newEmulated(t, &ptxtest.Machine{})
	e.graph = true
	for _, proto := range topologies.AllProtocols {
		e.right(t, executor.Trial{Program: pair(), Bytes: 1000, Protocol: proto, TileBytes: 512, DType: "u8", Op: "sum", Iters: 2, Warmup: 1, Seed: 5}, 32)
	}
}

// TestFencesAsPTX runs a program that relies on its messages' order: right with the fences
// it gets, and wrong without, which shows that memory here is weak.
func TestFencesAsPTX(t *testing.T) {
	const seeds = 30
	for _, proto := range []topologies.Proto{topologies.LL, topologies.LL128} {
		wrong := int64(0)
		for seed := uint64(0); seed < seeds && wrong == 0; seed++ { // each shows it about every other time
			e := newEmulated(t, &ptxtest.Machine{Seed: seed, Weak: true, WholeLines: true})
			trial := executor.Trial{Program: relay(), Bytes: 1200, Protocol: proto, TileBytes: 512, DType: "f32", Op: "sum", Iters: 1}
			if seed < 3 {
				e.right(t, trial, 32)
			}
			e.unordered = true
			device, host, err := e.run(trial, 32)
			if err != nil {
				t.Fatal(err)
			}
			wrong += device + host
		}
		if wrong == 0 {
			t.Errorf("%v: no seed of %d shows what fences are for", proto, seeds)
		}
	}
}

// believed has what a block reads of its receiver at the launch's beginning be
// that all was taken, and more.
var believed = regexp.MustCompile(`ld\.relaxed\.gpu\.global\.u64 (%rd\d+), \[%rd\d+\];`)

// TestSlotsAsPTX has connections of two slots carry many messages, launch after launch:
// lines are overwritten only once they were taken. A sender that ignores that is noticed.
func TestSlotsAsPTX(t *testing.T) {
	for _, proto := range []topologies.Proto{topologies.LL, topologies.LL128} {
		top := system(t, "fullmesh:2")
		top.Protocols[proto].Slots, top.Protocols[proto].Threads = 2, 32
		trial := executor.Trial{Program: pair(), Topology: top, Bytes: 4800, Protocol: proto, TileBytes: 480, DType: "f32", Op: "sum", Iters: 2, Warmup: 1}
		noticed := 0
		for seed := range uint64(4) {
			e := newEmulated(t, &ptxtest.Machine{Seed: seed, Weak: seed%2 == 0, WholeLines: true})
			if m, err := runTrial(context.Background(), e, patient(), trial); err != nil || m.Wrong != 0 {
				t.Errorf("%v, seed %d: %d wrong, %v", proto, seed, m.Wrong, err)
			}
			changed := &ptxtest.Machine{Seed: seed, Weak: seed%2 == 0, WholeLines: true, Tick: 1e9, Most: 1 << 23, Change: func(text []byte) []byte {
				if !believed.Match(text) {
					t.Error("no block reads what was taken")
				}
				return believed.ReplaceAll(text, []byte("mov.u64 $1, 1000;"))
			}}
			if m, err := runTrial(context.Background(), newEmulated(t, changed), defaults(), trial); err != nil || m.Wrong != 0 {
				noticed++
				t.Logf("%v, seed %d: %d wrong, %.200v", proto, seed, m.Wrong, err)
			}
		}
		if noticed == 0 {
			t.Errorf("%v: nobody notices lines that are written over before they were taken", proto)
		}
	}
}

// receiversOnly is two ranks that both receive first.
func receiversOnly() *ir.Program {
	p := pair()
	for r := range p.GPUs {
		steps := p.GPUs[r].Threadblocks[0].Steps
		steps[0], steps[1] = steps[1], steps[0]
	}
	return p
}

// TestDeadlockAsPTX: the watchdog in the PTX ends a deadlocked program, and the error names
// the threadblocks. A fast clock shortens the wait.
func TestDeadlockAsPTX(t *testing.T) {
	for _, proto := range topologies.AllProtocols {
		e := newEmulated(t, &ptxtest.Machine{Tick: 1e9})
		p := receiversOnly()
		top := system(t, "fullmesh:2")
		top.Protocols[proto].Threads = 32
		_, err := runTrial(context.Background(), e, defaults(), executor.Trial{Program: p, Topology: top, Bytes: 512, Protocol: proto, Iters: 1})
		var stuck *StuckError
		if !errors.As(err, &stuck) || stuck.Threadblock != 0 || stuck.Step != 0 || !strings.Contains(err.Error(), fmt.Sprintf("a message of rank %d", 1-stuck.Rank)) {
			t.Errorf("%v: got %v", proto, err)
		}
		e.right(t, executor.Trial{Program: pair(), Bytes: 512, Protocol: proto, Iters: 1}, 32)
	}
}

// TestCancelAsPTX: a trial whose context is done cancels its kernels.
func TestCancelAsPTX(t *testing.T) { cancelled(t, newEmulated(t, &ptxtest.Machine{Tick: 1})) }

// impatient is a context that is done once it was asked so often whether it is.
type impatient struct {
	context.Context
	left int
}

func (c *impatient) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func cancelled(t *testing.T, e *emulated) {
	t.Helper()
	// The kernels of the data come to their end before; the program never does.
	ctx := &impatient{context.Background(), 30}
	_, err := runTrial(ctx, e, patient(), executor.Trial{Program: receiversOnly(), Topology: system(t, "fullmesh:2"), Bytes: 512, Protocol: topologies.Simple, Iters: 1})
	if status, e2 := e.readStatus(); !errors.Is(err, context.Canceled) || e2 != nil || status.Waiting == 0 || len(e.m.Faults) > 0 {
		t.Errorf("got %v, status %+v, %v, %v", err, status, e2, e.m.Faults)
	}
}

// TestRoomAsPTX has the executor's refusal go by what the kernels' directives
// leave room for: .maxntid 512 promises 128 registers a thread at most, so that
// a multiprocessor holds one such block, two of 256, and so on.
func TestRoomAsPTX(t *testing.T) {
	e := newEmulated(t, &ptxtest.Machine{SMs: 3})
	if err := e.use(1, data.F32); err != nil {
		t.Fatal(err)
	}
	for _, k := range []kernel{interpretLL, interpretLL128, interpretSimple, exchangeLL, exchangeLL128} {
		for threads, each := range map[int]int{512: 1, 256: 2, 128: 4, 64: 8} {
			if room, err := e.limits(0, k, threads); err != nil || room.blocks != 3*each || room.threads != 512 {
				t.Errorf("%v: %+v blocks of %d threads, %v", k, room, threads, err)
			}
		}
	}
	// 16 threadblocks: on 3 multiprocessors no more than 128 threads each.
	p := &ir.Program{Collective: collective.Spec{Name: "allgather", Ranks: 1, Chunks: 1}, GPUs: []ir.GPU{{}}}
	for range 25 {
		p.GPUs[0].Threadblocks = append(p.GPUs[0].Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{{Op: ir.Copy, Count: 1, Dst: ir.Loc{Buf: collective.Out}}}})
	}
	_, err := runTrial(context.Background(), e, patient(), executor.Trial{Program: p, Topology: system(t, "fullmesh:2"), Bytes: 64, Protocol: topologies.Simple, Iters: 1})
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "have 25 threadblocks, and 24 of 64 threads are resident at once") {
		t.Errorf("got %v", err)
	}
	p.GPUs[0].Threadblocks = p.GPUs[0].Threadblocks[:12]
	m, err := runTrial(context.Background(), e, patient(), executor.Trial{Program: p, Topology: system(t, "fullmesh:2"), Bytes: 64, Protocol: topologies.Simple, Iters: 1})
	if err != nil || m.Wrong != 0 || !strings.Contains(m.Note, "threads 128,") {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestWholeWarpsAsPTX has blocks shrink to whole warps: 160 threads do not fit
// four times, and half of them would leave half a warp, which LL128 cannot do with.
func TestWholeWarpsAsPTX(t *testing.T) {
	e := newEmulated(t, &ptxtest.Machine{SMs: 1})
	p := programOf(t, "ring/allgather/1x4", 4, topologies.LL128)
	top := system(t, "fullmesh:4")
	top.Protocols[topologies.LL128].Threads = 160
	m, err := runTrial(context.Background(), e, patient(), executor.Trial{Program: p, Topology: top, Bytes: 2048, Protocol: topologies.LL128, Iters: 1})
	if err != nil || m.Wrong != 0 || !strings.Contains(m.Note, "threads 64,") {
		t.Errorf("%+v, %v", m, err)
	}
}

// changes are errors to put into the PTX: a text and its replacement, everywhere or once,
// and the protocol that must notice it.
var changes = []struct {
	name     string
	from, to string
	once     bool
	proto    topologies.Proto
	weak     bool
	says     string // of the error; "": elements are wrong
}{
	{"another operation", "add.f32", "sub.f32", false, topologies.LL, false, ""},
	{"an operation rounded otherwise", "add.f32", "add.rz.f32", true, topologies.LL, false, "add.rz.f32 is not known here"},
	{"no fence before what is posted", "fence.acq_rel.gpu;", "", false, topologies.Simple, true, ""},
	{"lanes that part before a line is stored", "bar.warp.sync \t-1;", "", false, topologies.LL128, false, "of a line of 128"},
	{"a parameter elsewhere", "[interpret_LL_param_0]", "[interpret_LL_param_0+8]", false, topologies.LL, false, "PTX line"},
	{"shared memory too small", "stagedSteps[7680]", "stagedSteps[64]", true, topologies.LL, false, "of shared memory, which has 64"},
	{"a record that is not aligned", ", 480;", ", 476;", false, topologies.LL, false, "which is not aligned to them"},
	{"flags that must differ", "setp.ne.s32 \t%p", "setp.eq.s32 \t%p", false, topologies.LL, false, ""},
}

// TestChangesAsPTX checks that the tests notice errors in the PTX.
func TestChangesAsPTX(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			p := programOf(t, "all-pairs/allreduce/1x2/in-place", 2, c.proto)
			wrong, said := int64(0), ""
			for seed := uint64(0); seed < 8 && wrong == 0 && said == ""; seed++ {
				m := &ptxtest.Machine{Seed: seed, Weak: c.weak, WholeLines: true, Most: 1 << 24, Change: func(text []byte) []byte {
					n := -1
					if c.once {
						n = 1
					}
					changed := bytes.Replace(text, []byte(c.from), []byte(c.to), n)
					if bytes.Equal(changed, text) {
						t.Errorf("there is no %q", c.from)
					}
					return changed
				}}
				e, err := tryEmulated(t, m)
				if err == nil {
					var device, host int64
					device, host, err = e.run(executor.Trial{Program: p, Bytes: 2400, Protocol: c.proto, TileBytes: 512, DType: "f32", Op: "sum", Iters: 1, Seed: 2}, 32)
					wrong = min(device, host)
				}
				if err != nil {
					said = err.Error()
				}
			}
			t.Logf("%d wrong, %s", wrong, said)
			if c.says == "" && wrong == 0 || c.says != "" && !strings.Contains(said, c.says) {
				t.Errorf("%d wrong, %q: want %q", wrong, said, c.says)
			}
		})
	}
}
