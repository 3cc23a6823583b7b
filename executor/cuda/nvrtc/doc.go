// Package nvrtc binds NVIDIA's run-time compiler for CUDA C++, libnvrtc, loaded at run
// time, without cgo.
//
//	l, err := nvrtc.Open()                  ErrMissing: no libnvrtc here
//	l.Compiles(90)                          true where it knows sm_90
//	code, err := l.Compile(nvrtc.Source{Name: "kernels.cu", Text: …, Headers: …}, "--std=c++17", "--gpu-architecture=sm_90")
//
// The output is machine code for one architecture, which the driver loads as it is. An
// error in the source is a *CompileError with the compiler's log.
//
// Invariants: no file is read, headers come from memory; no call keeps Go memory after it
// returns.
//
// It has no kernels and no devices: those are package cuda's, and driver's.
package nvrtc
