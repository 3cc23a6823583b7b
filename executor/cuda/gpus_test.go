package cuda

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/internal/dynlib"
	"github.com/colltune/colltune/topologies"
)

// fake is testdata/libcuda.cc, loaded in place of the driver's library.
type fake struct {
	t                  *testing.T
	reset, calls, held dynlib.Symbol
	forgets, running   dynlib.Symbol
}

// newFake loads the fake with settings.
func newFake(t *testing.T, settings string) *fake {
	t.Helper()
	file := fakeLibrary(t)
	t.Setenv(driver.LibraryVariable, file)
	lib, err := dynlib.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t}
	for name, symbol := range map[string]*dynlib.Symbol{"fakeReset": &f.reset, "fakeCalls": &f.calls, "fakeHeld": &f.held, "fakeForget": &f.forgets, "fakeRunning": &f.running} {
		if *symbol, err = lib.Symbol(name); err != nil {
			t.Fatal(err)
		}
	}
	f.set(settings)
	t.Cleanup(func() {
		f.set("")
		if n := f.heldNow(); n != 0 {
			t.Errorf("%d things were not given back", n)
		}
	})
	return f
}

func (f *fake) set(settings string) {
	dynlib.Call(f.reset, uintptr(unsafe.Pointer(dynlib.CString(settings))))
}
func (f *fake) heldNow() int { return int(dynlib.Call(f.held)) }
func (f *fake) forget()      { dynlib.Call(f.forgets) }
func (f *fake) runs() int    { return int(dynlib.Call(f.running)) }
func (f *fake) callsOf(name string) int {
	return int(dynlib.Call(f.calls, uintptr(unsafe.Pointer(dynlib.CString(name)))))
}

// callWithTexts calls a C function with strings and a 1.
func callWithTexts(f dynlib.Symbol, a, b string) {
	dynlib.Call(f, uintptr(unsafe.Pointer(dynlib.CString(a))), uintptr(unsafe.Pointer(dynlib.CString(b))), 1)
}

func fakeLibrary(t *testing.T) string {
	t.Helper()
	if builds.compiler == "" {
		t.Skip("no C++ compiler found: there is no fake libcuda to test the driver's binding with")
	}
	builds.Lock()
	defer builds.Unlock()
	out := filepath.Join(builds.folder, "libcuda.so.1")
	if builds.made[out] == "" {
		said, err := exec.Command(builds.compiler, "-x", "c++", "-std=c++17", "-O0", "-shared", "-fPIC", "-pthread", "-Wall", "-Wno-unknown-pragmas", "-DELEMENT=ElementF32", "-o", out, "testdata/libcuda.cc").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", builds.compiler, err, said)
		}
		builds.made[out] = out
	}
	return out
}

// closed gives the executor's GPUs back.
func closed(t *testing.T, b *gpuExecutor) {
	t.Helper()
	if b.g == nil {
		return
	}
	if err := b.g.close(); err != nil {
		t.Error(err)
	}
	b.g = nil
}

func trialOfPair(t *testing.T) executor.Trial {
	return executor.Trial{Program: pair(), Topology: system(t, "ring:2"), Bytes: 4096, Protocol: topologies.LL128, DType: "f32", Op: "sum", Iters: 3, Warmup: 1, Seed: 1}
}

// TestWholeExecutor runs trials through the driver's binding: described, run,
// timed, checked, and all given back.
func TestWholeExecutor(t *testing.T) {
	for _, settings := range []string{"devices=1", "devices=2", "devices=4,memory=64"} {
		t.Run(settings, func(t *testing.T) {
			f := newFake(t, settings)
			b := New().(*gpuExecutor)
			d, err := b.Describe(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if d.Fingerprint["device"] != "Fake 0 sm_90 40 SMs" && !strings.HasPrefix(d.Fingerprint["device"], "Fake 0 sm_90 40 SMs, Fake 1") || !strings.HasPrefix(d.Fingerprint["driver"], "CUDA 12.4") {
				t.Errorf("fingerprint %v", d.Fingerprint)
			}
			trial := trialOfPair(t)
			for _, proto := range topologies.AllProtocols {
				trial.Protocol = proto
				m, err := b.Run(context.Background(), trial)
				if err != nil {
					t.Fatal(err)
				}
				if m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 3 || m.TimesUS[0] <= 0 || !strings.Contains(m.Note, "empty launch") {
					t.Errorf("%v: %+v", proto, m)
				}
			}
			if f.callsOf("cuModuleLoadDataEx") != min(len(b.g.all), 2) {
				t.Errorf("modules were loaded %d times", f.callsOf("cuModuleLoadDataEx"))
			}
			closed(t, b)
		})
	}
}

// TestErrorsOfTheDriver injects errors: each is told with its call and text, and
// nothing stays behind.
func TestErrorsOfTheDriver(t *testing.T) {
	for _, tc := range []struct {
		settings    string
		says        string
		unsupported bool
	}{
		{"devices=0", "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected", false},
		{"fail=cuInit:1:803", "cuInit: CUDA_ERROR_OF_THE_TEST (803)", false},
		{"major=6", "has compute capability 6.0: want 7.0 or more", false},
		{"cooperative=0", "has no cooperative launches", false},
		{"fail=cuDeviceGetName:1:101", "device 0: cuDeviceGetName", false},
		{"fail=cuDevicePrimaryCtxRetain:1:2", "device 0, Fake 0: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", false},
		{"fail=cuStreamCreate:1:2", "cuStreamCreate: CUDA_ERROR_OUT_OF_MEMORY", false},
		{"fail=cuEventCreate:2:2", "cuEventCreate", false},
		{"fail=cuMemHostAlloc:1:2", "cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY", false},
		{"load=0", "what is this?", false},
		{"fail=cuModuleGetFunction:3:500", "kernel interpret_Simple: cuModuleGetFunction", false},
		{"fail=cuMemAlloc_v2:1:2", "on device 0: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", false},
		{"devices=2,fail=cuMemAlloc_v2:2:2", "on device 1: cuMemAlloc_v2", false},
		{"fail=cuMemcpyHtoD_v2:2:1", "cuMemcpyHtoD_v2", false},
		{"fail=cuMemsetD8Async:1:1", "cuMemsetD8Async", false},
		{"fail=cuLaunchCooperativeKernel:2:720", "kernel interpret_LL128 of 2 blocks of 2 threads: cuLaunchCooperativeKernel", true},
		{"fail=cuStreamQuery:1:1", "cuStreamQuery", false},
		{"fail=cuEventElapsedTime:2:1", "cuEventElapsedTime", false},
		{"fail=cuMemFree_v2:1:1", "cuMemFree_v2", false},
		{"sms=1", "2 threadblocks, and 1 of", true},
		{"memory=0", "and has 0 left", true},
		{"devices=2,peers=0", "device 1 cannot reach the memory of device 0", true},
		{"devices=2,atomics=0", "do not carry 128 bytes whole", true},
		{"devices=2,fail=cuCtxEnablePeerAccess:1:217", "device 1 to device 0: cuCtxEnablePeerAccess", true},
		{"devices=2,fail=cuCtxEnablePeerAccess:2:711", "device 0 to device 1: cuCtxEnablePeerAccess", true},
		{"devices=2,fail=cuCtxEnablePeerAccess:1:205", "device 1 to device 0: cuCtxEnablePeerAccess", false},
		{"fail=cuDevicePrimaryCtxRetain:1:46", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OF_THE_TEST (46): an error of the test: another process", false},
		{"fail=cuEventQuery:1:1", "cuEventQuery", false},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			f := newFake(t, tc.settings)
			b := New().(*gpuExecutor)
			_, err := b.Describe(context.Background())
			if err == nil {
				_, err = b.Run(context.Background(), trialOfPair(t))
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want one that says %q", err, tc.says)
			}
			if errors.Is(err, executor.ErrUnsupported) != tc.unsupported {
				t.Errorf("%v: unsupported is %v", err, !tc.unsupported)
			}
			f.set("")
			closed(t, b)
			if strings.Contains(tc.settings, "cuMemFree") {
				f.forget() // what the failing call has left
			}
		})
	}
}

// TestQueuedLate has the host be slow to queue what is timed: it is timed again, with
// the device busy for twice as long, and where it is slow for good the note says so.
func TestQueuedLate(t *testing.T) {
	for _, tc := range []struct {
		slow, asked int
		says        bool
	}{
		{0, 3 + 5, false}, // timed, and what an empty launch takes
		{3, 3 + 3 + 5, false},
		{attempts + 1, attempts + 2 + 5, true}, // the first comes to the most, and the second begins there
	} {
		f := newFake(t, fmt.Sprintf("slow=%d", tc.slow))
		b := New().(*gpuExecutor)
		for run := range 2 { // the second is in time
			m, err := b.Run(context.Background(), trialOfPair(t))
			if err != nil || m.Wrong != 0 || len(m.TimesUS) != 3 {
				t.Fatalf("slow %d: %+v, %v", tc.slow, m, err)
			}
			if says := strings.Contains(m.Note, "2 of 3 times with the host's calls"); says != (tc.says && run == 0) {
				t.Errorf("slow %d, run %d: note %q", tc.slow, run, m.Note)
			}
			if want := tc.asked + run*8; f.callsOf("cuEventQuery") != want {
				t.Errorf("slow %d, run %d: asked %d times, want %d", tc.slow, run, f.callsOf("cuEventQuery"), want)
			}
		}
		// Two runs in time leave of the most what sixteen steps down do.
		if least, most := queueing-queueing/16, maxQueueing/2; b.g.ahead < least || b.g.ahead > most || (tc.slow == 0) != (b.g.ahead <= queueing) {
			t.Errorf("slow %d: devices are kept busy for %v", tc.slow, b.g.ahead)
		}
		closed(t, b)
	}
}

// withGraphs is an executor that was asked for graphs.
func withGraphs() *gpuExecutor {
	s := defaults()
	s.graph = true
	return &gpuExecutor{settings: s}
}

// TestGraphs times programs as graphs: recorded once, launched as often as the
// program is run after its first check, and given back.
func TestGraphs(t *testing.T) {
	for devices := 1; devices <= 2; devices++ {
		f := newFake(t, fmt.Sprintf("devices=%d", devices))
		b := withGraphs()
		d, err := b.Describe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if d.Fingerprint["launches"] != "graphs" {
			t.Errorf("fingerprint %v", d.Fingerprint)
		}
		trial := trialOfPair(t)
		trial.Iters, trial.Warmup = 4, 2
		m, err := b.Run(context.Background(), trial)
		if err != nil || m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 4 || !strings.Contains(m.Note, "empty graph ") {
			t.Errorf("%+v, %v", m, err)
		}
		for call, want := range map[string]int{
			"cuStreamBeginCapture_v2": 2, "cuStreamEndCapture": 2, "cuGraphInstantiateWithFlags": 2, "cuGraphUpload": 2, "cuGraphDestroy": 2, "cuGraphExecDestroy": 2,
			"cuGraphLaunch": 2 + 4 + 1 + 5, // warm-up, timed, the check after them, the empty ones
			// The first check, and what the two graphs recorded.
			"cuLaunchCooperativeKernel": 1 + 2,
		} {
			if got := f.callsOf(call); got != want*devices {
				t.Errorf("%d devices: %s was called %d times, want %d", devices, call, got, want*devices)
			}
		}
		closed(t, b)
	}
}

// TestWrongGraph has a graph whose result is wrong found out by the check after
// the times, which runs the graph.
func TestWrongGraph(t *testing.T) {
	newFake(t, "devices=1")
	b := withGraphs()
	if _, err := b.Run(context.Background(), trialOfReduction(t)); err != nil {
		t.Fatal(err)
	}
	closed(t, b)
	for launch, wrong := range map[int]bool{1: true, 2: false, 3: false, 4: true} { // check, two timed, check
		newFake(t, fmt.Sprintf("wrong=%d", launch))
		b := withGraphs()
		m, err := b.Run(context.Background(), trialOfReduction(t))
		if err != nil || (m.Wrong > 0) != wrong {
			t.Errorf("launch %d wrong: %+v, %v", launch, m, err)
		}
		closed(t, b)
	}
}

// trialOfReduction is one that sums, of two timed launches.
func trialOfReduction(t *testing.T) executor.Trial {
	t.Helper()
	for _, f := range families(t, 1, 2, topologies.LL) {
		if f.name == "all-pairs/allreduce/1x2/in-place" {
			return executor.Trial{Program: f.program, Topology: system(t, "ring:2"), Bytes: 512, Protocol: topologies.LL, DType: "f32", Op: "sum", Iters: 2, Seed: 1}
		}
	}
	t.Fatal("no such program")
	return executor.Trial{}
}

// TestNoGraphs refuses graphs where there are none, and tells the call that
// failed, with nothing left behind and the stream of use again.
func TestNoGraphs(t *testing.T) {
	for _, tc := range []struct {
		settings, says string
		unavailable    bool
	}{
		{"version=11030", "graph is set for executor cuda: no CUDA graphs: the driver has CUDA 11.3, want 11.4 or later", true},
		{"graphs=0", "recording a CUDA graph: cuStreamBeginCapture_v2: CUDA_ERROR_OF_THE_TEST (801)", false},
		{"devices=2,fail=cuStreamBeginCapture_v2:2:801", "recording a CUDA graph: cuStreamBeginCapture_v2", false},
		{"fail=cuLaunchCooperativeKernel:2:720", "recording a CUDA graph: not supported by this executor: device 0: kernel interpret_LL128", false},
		{"fail=cuStreamEndCapture:1:901", "recording a CUDA graph: cuStreamEndCapture", false},
		{"fail=cuGraphInstantiateWithFlags:1:2", "recording a CUDA graph: cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY", false},
		{"fail=cuGraphUpload:1:2", "recording a CUDA graph: cuGraphUpload", false},
		{"fail=cuGraphLaunch:3:2", "cuGraphLaunch", false},
		{"fail=cuGraphDestroy:1:2", "cuGraphDestroy", false},
		{"fail=cuGraphExecDestroy:1:2", "cuGraphExecDestroy", false},
	} {
		t.Run(tc.settings, func(t *testing.T) {
			f := newFake(t, tc.settings)
			b := withGraphs()
			_, err := b.Describe(context.Background())
			if err == nil {
				_, err = b.Run(context.Background(), trialOfPair(t))
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) || errors.Is(err, executor.ErrUnavailable) != tc.unavailable {
				t.Errorf("got %v, want one that says %q", err, tc.says)
			}
			f.set("")
			if b.g != nil {
				if m, err := b.Run(context.Background(), trialOfPair(t)); err != nil || m.Wrong != 0 {
					t.Errorf("afterwards: %+v, %v", m, err)
				}
				closed(t, b)
			}
			if strings.Contains(tc.settings, "Destroy") {
				f.forget() // what the failing call has left
			}
		})
	}
}

// TestDeviceLost has a kernel end with an error that no context survives: the
// host is told that this process is of no more use.
func TestDeviceLost(t *testing.T) {
	f := newFake(t, "fail=cuStreamQuery:2:719")
	b := New().(*gpuExecutor)
	_, err := b.Run(context.Background(), trialOfPair(t))
	if !driver.Fatal(err) || !errors.Is(err, executor.ErrDeviceLost) {
		t.Fatalf("got %v", err)
	}
	f.forget() // the process would end here
}

// TestNothingOutlivesItsMemory takes memory back while a program that lacks a
// block still runs, for a third of a second or more: the fake must wait for it, as the
// driver does. A thread of a grid that reads what is gone ends the tests' process,
// and Go says nothing of it.
func TestNothingOutlivesItsMemory(t *testing.T) {
	run := func(patience, code int) *fake {
		f := newFake(t, fmt.Sprintf("absent=1,patience=%d,upset=%d", patience, code))
		b := New().(*gpuExecutor)
		if _, err := b.Run(context.Background(), trialOfPair(t)); err == nil {
			t.Error("the program came to an end")
		}
		if b.g != nil {
			f.set("")
			closed(t, b)
		}
		return f
	}
	const lost, failed = 719, 1
	for patience := 300; ; patience *= 4 { // in ms, until the program outlasts a query
		f := run(patience, lost) // which gives nothing back
		running := f.runs()
		f.forget()
		if n := f.runs(); n != 0 {
			t.Fatalf("%d grids run on in a process that has ended", n)
		}
		if running == 1 {
			if n := run(patience, failed).runs(); n != 0 {
				t.Errorf("%d grids run on without their memory", n)
			}
			return
		}
		if patience > 60_000 {
			t.Fatal("no query failed while the program ran")
		}
	}
}

// TestDeadlockOnGPUs has a program stand still until the watchdog ends it.
func TestDeadlockOnGPUs(t *testing.T) {
	newFake(t, "devices=2")
	s := defaults()
	s.watchdog = 300 * time.Millisecond
	b := &gpuExecutor{settings: s}
	trial := trialOfPair(t)
	for r := range trial.Program.GPUs {
		steps := trial.Program.GPUs[r].Threadblocks[0].Steps
		steps[0], steps[1] = steps[1], steps[0]
	}
	_, err := b.Run(context.Background(), trial)
	if err == nil || !strings.Contains(err.Error(), "the program stands still: rank") {
		t.Errorf("got %v", err)
	}
	b.settings = patient()
	trial = trialOfPair(t)
	if m, err := b.Run(context.Background(), trial); err != nil || m.Wrong != 0 {
		t.Errorf("after the deadlock: %+v, %v", m, err)
	}
	closed(t, b)
}

// TestGivenUp has a trial cancelled while its kernels wait for each other: they
// are told to end, and the next trial runs.
func TestGivenUp(t *testing.T) {
	newFake(t, "devices=1")
	b := &gpuExecutor{settings: patient()} // by themselves the kernels would end in an hour
	trial := trialOfPair(t)
	for r := range trial.Program.GPUs {
		steps := trial.Program.GPUs[r].Threadblocks[0].Steps
		steps[0], steps[1] = steps[1], steps[0]
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := b.Run(ctx, trial); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if m, err := b.Run(context.Background(), trialOfPair(t)); err != nil || m.Wrong != 0 {
		t.Errorf("after the one that was given up: %+v, %v", m, err)
	}
	closed(t, b)
}

// TestNoDriver is a machine without one.
func TestNoDriver(t *testing.T) {
	t.Setenv(driver.LibraryVariable, filepath.Join(t.TempDir(), "libcuda.so.1"))
	_, err := New().Describe(context.Background())
	if !errors.Is(err, driver.ErrMissing) || !strings.HasPrefix(err.Error(), "no libcuda: NVIDIA driver not found") {
		t.Errorf("got %v", err)
	}
	if f := Needs(); len(f) != 1 || f[0].Found || !strings.Contains(f[0].Detail, "libcuda") {
		t.Errorf("doctor says %+v", f)
	}
}
