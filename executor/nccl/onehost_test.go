package nccl

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

var fakeLibrary struct {
	once sync.Once
	dir  string
	err  error
}

// fakeNCCL builds the library of testdata, once, and sets the path on which it is found.
// It skips the test if there is no C compiler.
func fakeNCCL(t testing.TB, fault string) (calls string) {
	t.Helper()
	f := &fakeLibrary
	f.once.Do(func() {
		var cc string
		for _, name := range []string{"cc", "gcc", "clang"} {
			if path, err := exec.LookPath(name); err == nil {
				cc = path
				break
			}
		}
		if cc == "" {
			f.err = errors.New("no C compiler: cc, gcc or clang")
			return
		}
		if f.dir, f.err = os.MkdirTemp("", "colltune-fake-nccl-"); f.err != nil {
			return
		}
		at := filepath.Join(f.dir, "libfake.so")
		if out, err := exec.Command(cc, "-O1", "-fwrapv", "-shared", "-fPIC", "-o", at, "testdata/fake.c").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, name := range []string{"libnccl.so.2", "libcuda.so.1", "amd/librccl.so.1", "amd/libamdhip64.so.6"} {
			link := filepath.Join(f.dir, name)
			f.err = errors.Join(f.err, os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(at, link))
		}
	})
	if f.err != nil {
		t.Skip(f.err)
	}
	calls = filepath.Join(t.TempDir(), "calls")
	t.Setenv("LD_LIBRARY_PATH", f.dir)
	t.Setenv("FAKE_FAULT", fault)
	t.Setenv("FAKE_CALLS", calls)
	return calls
}

func here(t testing.TB, more map[string]string) *oneHost {
	t.Helper()
	s, err := readSettings(func(k string) string { return more[k] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := newOneHost(*s)
	t.Cleanup(func() { o.Close() })
	return o
}

func TestLibraryDescribes(t *testing.T) {
	fakeNCCL(t, "")
	d, err := here(t, nil).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.MaxRanks != 4 || d.Version != "2.27.7" || !d.NativeOnly || len(d.Native) != len(algorithms)+1 {
		t.Errorf("%+v", d)
	}
	if f := d.Fingerprint; f["library"] != "nccl 2.27.7" || f["devices"] != "4 × FAKE GPU" || f["driver"] != "CUDA 12.9" {
		t.Errorf("fingerprint %v", f)
	}
}

// Every collective, type and reduction of the library gives the right result, in place
// and out of place.
func TestLibraryComputes(t *testing.T) {
	calls := fakeNCCL(t, "")
	o := here(t, nil)
	run := func(spec collective.Spec, bytes int64, dtype, op string) {
		t.Helper()
		spec.Ranks, spec.Chunks = 4, 1
		m, err := o.Run(t.Context(), executor.Trial{
			Native: &executor.Native{Algorithm: "auto"}, Collective: spec, Bytes: bytes, DType: dtype, Op: op, Iters: 3, Warmup: 1, Seed: 7,
		})
		if err != nil || m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 3 {
			t.Errorf("%+v of %d bytes, %s %s: %+v, %v", spec, bytes, dtype, op, m, err)
		}
	}
	for _, name := range supported() {
		c, _ := collective.New(collective.Spec{Name: name, Ranks: 4, Chunks: 1})
		roots := []int{0}
		if c.Rooted() {
			roots = []int{0, 3}
		}
		for _, root := range roots {
			for _, inPlace := range []bool{false, true} {
				spec := collective.Spec{Name: name, Ranks: 4, Chunks: 1, Root: root, InPlace: inPlace}
				if _, err := collective.New(spec); err != nil {
					continue
				}
				run(spec, 4096, "f32", "sum")
				run(spec, 1000, "i32", "max")
				if !c.Reduces() {
					for _, dtype := range collective.DTypes() {
						run(spec, 256, dtype, "sum")
					}
				}
			}
		}
	}
	for _, op := range []string{"sum", "prod", "min", "max", "avg"} {
		for _, dtype := range collective.DTypes() {
			run(collective.Spec{Name: "allreduce", InPlace: true}, 65536, dtype, op)
			run(collective.Spec{Name: "reducescatter"}, 65536, dtype, op)
			run(collective.Spec{Name: "reduce", Root: 2, InPlace: true}, 1000, dtype, op)
		}
	}
	run(collective.Spec{Name: "allgatherv", Counts: []int{1, 0, 3, 2}}, 600, "f32", "sum")
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv", "all freed"} {
		if !strings.Contains(string(text), f+"\n") {
			t.Errorf("never called: %s", f)
		}
	}
	// One communicator for all of them: one environment is one process. The
	// description opened another.
	if n := strings.Count(string(text), "ncclCommInitAll"); n != 2 {
		t.Errorf("%d sets of communicators", n)
	}
}

// fakeRCCL is the same library under AMD's names.
func fakeRCCL(t testing.TB, fault string) (calls string) {
	t.Helper()
	calls = fakeNCCL(t, fault)
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(fakeLibrary.dir, "amd"))
	return calls
}

// RCCL is found, described, run and held to settings through HIP as NCCL is
// through NVIDIA's driver.
func TestLibraryOnAMD(t *testing.T) {
	calls := fakeRCCL(t, "")
	if f := Examine()[0]; !f.Found || f.Detail != "librccl.so.1 2.27.7, HIP 6.2, 4 × FAKE INSTINCT" {
		t.Errorf("doctor: %+v", f)
	}
	o := here(t, nil)
	d, err := o.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := d.Fingerprint; f["library"] != "rccl 2.27.7" || f["devices"] != "4 × FAKE INSTINCT" || f["driver"] != "HIP 6.2" {
		t.Errorf("fingerprint %v", f)
	}
	var names []string
	for _, a := range d.Native {
		names = append(names, a.Algorithm)
	}
	if want := []string{"auto", "ring", "tree"}; !slices.Equal(names, want) {
		t.Errorf("algorithms %v, want RCCL's %v", names, want)
	}
	for _, name := range supported() {
		for _, dtype := range []string{"f32", "bf16", "u64"} {
			spec := collective.Spec{Name: name, Ranks: 4, Chunks: 1}
			m, err := o.Run(t.Context(), executor.Trial{Native: &executor.Native{Algorithm: "auto"}, Collective: spec, Bytes: 4096, DType: dtype, Op: "sum", Iters: 2, Seed: 3})
			if err != nil || m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 2 {
				t.Errorf("%s of %s: %+v, %v", name, dtype, m, err)
			}
		}
	}
	if m, err := o.Run(t.Context(), native("ring", "allreduce", 4096, topologies.LL, map[string]string{"channels": "8"})); err != nil || m.Wrong != 0 || m.Note != "" {
		t.Errorf("held to a ring: %+v, %v", m, err)
	}
	text, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"hipInit", "hipMemcpy to device", "hipMemcpy from device", "ncclAllReduce", "all freed"} {
		if !strings.Contains(string(text), f+"\n") {
			t.Errorf("never called: %s", f)
		}
	}
	for _, f := range []string{"cuInit", "hipMemcpy nowhere"} {
		if strings.Contains(string(text), f+"\n") {
			t.Errorf("called: %s", f)
		}
	}
	for fault, says := range map[string]string{
		"device lost":   "hipStreamQuery: error 700 (an illegal memory access",
		"out of memory": "2097152 bytes of device memory: hipMalloc: error 2 (out of memory)",
		"asynchronous":  "asynchronous: error 6 (remote process exited",
	} {
		t.Setenv("FAKE_FAULT", fault)
		o.stopWorker()
		if _, err := o.Run(t.Context(), native("auto", "allreduce", 1<<21, 0, nil)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", fault, err, says)
		}
	}
	t.Setenv("FAKE_FAULT", "no device")
	if _, err := here(t, nil).Describe(t.Context()); !errors.Is(err, executor.ErrUnavailable) || !strings.Contains(err.Error(), "AMD runtime: hipInit: error 100") {
		t.Errorf("no device: %v", err)
	}
}

// A communicator of one GPU runs every collective.
func TestLibraryOnOneDevice(t *testing.T) {
	fakeNCCL(t, "")
	t.Setenv("FAKE_DEVICES", "1")
	o := here(t, nil)
	for _, name := range supported() {
		spec := collective.Spec{Name: name, Ranks: 1, Chunks: 1}
		m, err := o.Run(t.Context(), executor.Trial{Native: &executor.Native{Algorithm: "auto"}, Collective: spec, Bytes: 4096, DType: "f32", Op: "sum", Iters: 2})
		if err != nil || m.Wrong != 0 || !m.Checked {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestDoctor(t *testing.T) {
	row := func() executor.Finding {
		all := Examine()
		if all[0].What != "libnccl or librccl" || len(all) != 4 {
			t.Fatalf("%+v", all)
		}
		return all[0]
	}
	fakeNCCL(t, "")
	if f := row(); !f.Found || f.Detail != "libnccl.so.2 2.27.7, CUDA 12.9, 4 × FAKE GPU" {
		t.Errorf("%+v", f)
	}
	// As Python's packages have it: nowhere that the linker looks.
	aside := filepath.Join(t.TempDir(), "libnccl.so.2")
	if err := os.Rename(filepath.Join(fakeLibrary.dir, "libnccl.so.2"), aside); err != nil {
		t.Fatal(err)
	}
	if f := row(); f.Found || f.Detail != "neither NCCL (libnccl.so.2) nor RCCL (librccl.so.1), of which COLLTUNE_EXECUTOR_LIBNCCL may name the file: shared library not found" {
		t.Errorf("%+v", f)
	}
	t.Setenv(LibraryVariable, aside)
	if f := row(); !f.Found || f.Detail != aside+" 2.27.7, CUDA 12.9, 4 × FAKE GPU" {
		t.Errorf("%+v", f)
	}
	t.Setenv(LibraryVariable, "")
	if err := os.Rename(aside, filepath.Join(fakeLibrary.dir, "libnccl.so.2")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_FAULT", "no device")
	if f := row(); !f.Found || !strings.Contains(f.Detail, "libnccl.so.2 2.27.7; no device: NVIDIA driver: cuInit: error 100") {
		t.Errorf("%+v", f)
	}
	t.Setenv("FAKE_FAULT", "old")
	if f := row(); f.Found || !strings.Contains(f.Detail, "want 2.7 or later") {
		t.Errorf("%+v", f)
	}
}

func TestLibraryHeldToSettings(t *testing.T) {
	calls := fakeNCCL(t, "")
	o := here(t, nil)
	trial := func(algorithm string, proto topologies.Proto, settings map[string]string) executor.Trial {
		r := native(algorithm, "allgather", 4096, proto, settings)
		r.Collective.InPlace = false
		return r
	}
	if m, err := o.Run(t.Context(), trial("ring", topologies.LL, map[string]string{"channels": "8"})); err != nil || m.Wrong != 0 || m.Note != "" {
		t.Errorf("%+v, %v", m, err)
	}
	for says, bad := range map[string]executor.Trial{
		"pat Simple had no effect: the library ran ring simple":  trial("pat", topologies.Simple, nil),
		"the library has no such algorithm and protocol here":    trial("nvls", topologies.Simple, nil),
		`channels "0": want 1 to 64, or default`:                 trial("ring", topologies.LL, map[string]string{"channels": "0"}),
		"the library runs no programs without nccl-tests":        {Program: around(false), Bytes: 4096, DType: "f32", Op: "sum"},
		`operation "xor": want one of sum, prod`:                 {Native: &executor.Native{Algorithm: "auto"}, Collective: collective.Spec{Name: "allgather", Ranks: 4, Chunks: 1}, Bytes: 4096, DType: "f32", Op: "xor"},
		"6 ranks: this host has 4 GPUs, and the library gives e": {Native: &executor.Native{Algorithm: "auto"}, Collective: collective.Spec{Name: "allgather", Ranks: 6, Chunks: 1}, Bytes: 4096, DType: "f32", Op: "sum"},
	} {
		if _, err := o.Run(t.Context(), bad); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	// What was confirmed is measured in a process that logs nothing.
	text, _ := os.ReadFile(calls)
	if n := strings.Count(string(text), "ncclCommInitAll"); n != 5 { // describe; ring twice; pat; nvls
		t.Errorf("%d sets of communicators", n)
	}
}

func TestLibraryFails(t *testing.T) {
	for fault, says := range map[string]string{
		"old":       "version 2.6.4: want 2.7 or later",
		"no device": "cuInit: error 100 (no CUDA-capable device is detected)",
		"init":      "ncclCommInitAll: error 3 (internal error)",
	} {
		t.Run(fault, func(t *testing.T) {
			fakeNCCL(t, fault)
			_, err := here(t, nil).Describe(t.Context())
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
		})
	}
	for fault, says := range map[string]string{
		"unhandled":     "ncclGroupEnd: error 1 (unhandled cuda error",
		"asynchronous":  "asynchronous: error 6 (remote process exited",
		"device lost":   "cuStreamQuery: error 700 (an illegal memory access",
		"out of memory": "2097152 bytes of device memory: cuMemAlloc_v2: error 2 (out of memory)",
		"dies":          "the library's process: child nccl ended",
	} {
		t.Run(fault, func(t *testing.T) {
			fakeNCCL(t, "")
			o := here(t, nil)
			if _, err := o.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Setenv("FAKE_FAULT", fault)
			_, err := o.Run(t.Context(), native("auto", "allreduce", 1<<21, 0, nil))
			if err == nil || !strings.Contains(err.Error(), says) || errors.Is(err, executor.ErrUnsupported) {
				t.Errorf("%v, want %q", err, says)
			}
			// The next trial has a process of its own.
			t.Setenv("FAKE_FAULT", "")
			if m, err := o.Run(t.Context(), native("auto", "allreduce", 1<<21, 0, nil)); err != nil || m.Wrong != 0 {
				t.Errorf("afterwards: %+v, %v", m, err)
			}
		})
	}
	t.Run("wrong", func(t *testing.T) {
		fakeNCCL(t, "wrong")
		if m, err := here(t, nil).Run(t.Context(), native("auto", "allreduce", 4096, 0, nil)); err != nil || m.Wrong != 1 {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("hang", func(t *testing.T) {
		fakeNCCL(t, "")
		o := here(t, nil)
		if _, err := o.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Setenv("FAKE_FAULT", "hang")
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := o.Run(ctx, native("auto", "allreduce", 4096, 0, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if o.worker != nil {
			t.Error("the process that hangs is kept")
		}
	})
	t.Run("missing", func(t *testing.T) {
		_, err := here(t, map[string]string{"library": filepath.Join(t.TempDir(), "libnccl.so.2")}).Describe(t.Context())
		if err == nil || !strings.Contains(err.Error(), "not found") || !strings.Contains(err.Error(), "tests in [executor.nccl]") {
			t.Errorf("%v", err)
		}
	})
}

// The ranks' calls match: each send has a receive, in the same order and of the same
// length.
func TestCallsMeet(t *testing.T) {
	type end struct{ from, to int }
	for _, name := range supported() {
		c, err := collective.New(collective.Spec{Name: name, Ranks: 5, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		layout, err := data.NewLayout(c, 1000, data.F32)
		if err != nil {
			t.Fatal(err)
		}
		sent, received := map[end][]int64{}, map[end][]int64{}
		for rank := range c.Ranks {
			for _, call := range callsOf(c, layout, rank) {
				switch call.function {
				case "ncclSend":
					k := end{rank, call.peer}
					sent[k] = append(sent[k], call.count)
				case "ncclRecv":
					k := end{call.peer, rank}
					received[k] = append(received[k], call.count)
				}
			}
		}
		if len(sent) != len(received) {
			t.Errorf("%s: %d ways sent over, %d received from", name, len(sent), len(received))
		}
		for k, counts := range sent {
			if !slices.Equal(counts, received[k]) {
				t.Errorf("%s from %d to %d: sent %v, received %v", name, k.from, k.to, counts, received[k])
			}
		}
	}
}
