// Package nvrtc compiles CUDA C++ on the machine it will run on: NVIDIA's
// run-time compiler, libnvrtc, loaded when it is asked for, without cgo.
//
//	l, err := nvrtc.Open()                  ErrMissing: no libnvrtc here
//	l.Compiles(90)                          true where it knows sm_90
//	code, err := l.Compile(nvrtc.Source{Name: "kernels.cu", Text: …, Headers: …}, "--std=c++17", "--gpu-architecture=sm_90")
//
// What comes out is machine code for that one architecture, which the driver
// loads as it is. An error of the source is a *CompileError with all that the
// compiler said.
//
// Invariants: no file is read, headers come from memory; what a call may keep
// after it returns is never Go memory.
//
// It knows no kernels and no devices: those are package cuda's, and driver's.
package nvrtc
