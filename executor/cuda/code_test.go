package cuda

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/internal/dynlib"
)

// fakeCompiler is testdata/libnvrtc.cc, loaded in place of NVIDIA's.
func fakeCompiler(t *testing.T, settings string) {
	t.Helper()
	if builds.compiler == "" {
		t.Skip("no C++ compiler found: there is no fake libnvrtc to test the binding with")
	}
	builds.Lock()
	defer builds.Unlock()
	out := filepath.Join(builds.folder, "libnvrtc.so")
	if builds.made[out] == "" {
		said, err := exec.Command(builds.compiler, "-x", "c++", "-std=c++17", "-O0", "-shared", "-fPIC", "-Wall", "-o", out, "testdata/libnvrtc.cc").CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", builds.compiler, err, said)
		}
		builds.made[out] = out
	}
	// A copy for each test: what a library says of itself is asked once.
	mine := filepath.Join(t.TempDir(), "libnvrtc.so")
	if err := os.WriteFile(mine, []byte(readText(t, out)), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(nvrtc.LibraryVariable, mine)
	// The library reads the C environment, which Setenv of Go does not reach.
	libc, err := dynlib.Open("libc.so.6")
	if err != nil {
		t.Skip(err)
	}
	setenv, err := libc.Symbol("setenv")
	if err != nil {
		t.Fatal(err)
	}
	set := func(to string) { callWithTexts(setenv, "COLLTUNE_EXECUTOR_FAKE_NVRTC", to) }
	set(settings)
	t.Cleanup(func() {
		set("")
		lib, err := dynlib.Open(mine)
		if err != nil {
			t.Fatal(err)
		}
		held, err := lib.Symbol("fakeHeld")
		if err != nil {
			t.Fatal(err)
		}
		if n := dynlib.Call(held); n != 0 {
			t.Errorf("%d programs were not given back", n)
		}
	})
}

// TestWhoCompiles checks which compiler is used, by the setting and by the libraries there
// are.
func TestWhoCompiles(t *testing.T) {
	const none = "/none/libnvrtc.so"
	for _, tc := range []struct {
		name        string
		asked       compiledBy
		cuda, nvrtc string // settings of the fakes; none: there is no such library
		kernels     string // of the fingerprint, its beginning
		says        []string
	}{
		{"the driver, as nothing else is asked for", byEither, "", "", "PTX ", nil},
		{"the driver, as asked for", byDriver, "", none, "PTX ", nil},
		{"NVRTC, as asked for", byNVRTC, "", "", "NVRTC 12.4 sm_90 ", nil},
		{"NVRTC, as the driver has no compiler", byEither, "fail=cuModuleLoadDataEx:1:221", "", "NVRTC 12.4 sm_90 ", nil},
		{"NVRTC, as the driver's is too old", byEither, "load=0", "", "NVRTC 12.4 sm_90 ", nil},
		{"nobody", byEither, "load=0", none, "", []string{"what is this?", "NVRTC can't take the driver's place: no libnvrtc", none}},
		{"the driver alone, in vain", byDriver, "load=0", "", "", []string{"device 0, Fake 0: cuModuleLoadDataEx", "what is this?"}},
		{"an error that no compiler mends", byEither, "fail=cuModuleGetFunction:3:500", "", "", []string{"kernel interpret_Simple: cuModuleGetFunction"}},
		{"NVRTC is not there", byNVRTC, "", none, "", []string{"compiler is nvrtc for executor cuda: no libnvrtc", none}},
		{"NVRTC knows another device", byNVRTC, "", "sm=80", "", []string{"NVRTC 12.4, does not compile for sm_90: it has [80]"}},
		{"NVRTC does not take the source", byNVRTC, "", "error=1", "", []string{"kernels of f32: nvrtcCompileProgram: NVRTC_ERROR_COMPILATION", "move.h(17): error: what is this?"}},
		{"NVRTC gives nothing", byNVRTC, "", "error=2", "", []string{"no machine code for --std=c++17 --gpu-architecture=sm_90"}},
		{"the driver does not take what NVRTC gives", byNVRTC, "image=0", "", "", []string{"device 0, Fake 0: cuModuleLoadDataEx: CUDA_ERROR_OF_THE_TEST (200)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(t, tc.cuda)
			if tc.nvrtc == none {
				t.Setenv(nvrtc.LibraryVariable, none)
			} else {
				fakeCompiler(t, tc.nvrtc)
			}
			s := defaults()
			s.compiler = tc.asked
			b := &gpuExecutor{settings: s}
			d, err := b.Describe(context.Background())
			if tc.kernels != "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := d.Fingerprint["kernels"]; !strings.HasPrefix(got, tc.kernels) {
					t.Errorf("kernels are %q, want %q", got, tc.kernels)
				}
				if m, err := b.Run(context.Background(), trialOfPair(t)); err != nil || m.Wrong != 0 {
					t.Errorf("%+v, %v", m, err)
				}
				closed(t, b)
				return
			}
			for _, want := range tc.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want one that says %q", err, want)
				}
			}
			if missing := tc.nvrtc == none; errors.Is(err, executor.ErrUnavailable) != missing {
				t.Errorf("%v: not available here: %v", err, !missing)
			}
			f.set("")
		})
	}
}

// TestCodeIsCompiledOnce: two devices of one kind share NVRTC's output.
func TestCodeIsCompiledOnce(t *testing.T) {
	f := newFake(t, "devices=2")
	fakeCompiler(t, "")
	s := defaults()
	s.compiler = byNVRTC
	b := &gpuExecutor{settings: s}
	if _, err := b.Run(context.Background(), trialOfPair(t)); err != nil {
		t.Fatal(err)
	}
	if n, loads := len(b.g.code.built), f.callsOf("cuModuleLoadDataEx"); n != 1 || loads != 2 {
		t.Errorf("%d builds, loaded %d times", n, loads)
	}
	closed(t, b)
}

// TestSourceForNVRTC compiles every element type with NVIDIA's library, where
// there is one: it needs no GPU.
func TestSourceForNVRTC(t *testing.T) {
	l, err := nvrtc.Open()
	if err != nil {
		t.Skip(err)
	}
	for i, name := range collective.DTypes() {
		if !long() && name != "f32" && name != "bf16" {
			continue // seconds each
		}
		major := l.Architectures[len(l.Architectures)-1] / 10
		minor := l.Architectures[len(l.Architectures)-1] % 10
		c := code{compiler: l}
		text, err := c.of(data.DType(i), &driver.Device{Major: major, Minor: minor})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, k := range kernelNames {
			if !strings.Contains(string(text), ".text."+k+"\x00") {
				t.Errorf("%s: no kernel %s in the machine code", name, k)
			}
		}
		t.Logf("%s, NVRTC %s, sm_%d%d: %d bytes of %s", l.Name, l.Version, major, minor, len(text), name)
	}
}
