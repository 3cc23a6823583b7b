package main

import (
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakeCUDA is a libcuda whose GPUs are threads of this machine, which run the
// kernels themselves: package cuda's, built when a script first asks for it.
type fakeCUDA struct {
	once sync.Once
	file string
	err  error
	said []byte
}

// compiler is what could build it; "" where there is none.
func (*fakeCUDA) compiler() string {
	for _, name := range []string{"g++", "clang++", "clang++-16", "c++"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// command is `fakecuda SETTINGS`: from here on colltune finds such GPUs, as
// executor/cuda/testdata/libcuda.cc takes settings. Without a C++ compiler the
// script is skipped.
func (f *fakeCUDA) command(folder string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 1 {
			ts.Fatalf("usage: fakecuda [SETTINGS]")
		}
		f.once.Do(func() {
			f.file = filepath.Join(folder, "libcuda.so.1")
			f.said, f.err = exec.Command(f.compiler(), "-x", "c++", "-std=c++17", "-O0", "-shared", "-fPIC", "-pthread", "-Wno-unknown-pragmas",
				"-DELEMENT=ElementF32", "-o", f.file, filepath.Join("..", "..", "executor", "cuda", "testdata", "libcuda.cc")).CombinedOutput()
		})
		if f.err != nil {
			ts.Fatalf("%v\n%s", f.err, f.said)
		}
		ts.Setenv("COLLTUNE_EXECUTOR_LIBCUDA", f.file)
		ts.Setenv("COLLTUNE_EXECUTOR_FAKE_CUDA", append(args, "")[0])
	}
}
