//go:build (linux || darwin) && !android

package dynlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// open and symbol lock their thread: the linker keeps its last error per thread,
// and purego fetches it in a second call.

func open(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// Call calls a C function with integer or pointer arguments and returns its result
// register. Convert a 32-bit result to int32 or uint32: the register's upper half
// is undefined. A Go pointer among the arguments stays valid during the call.
//
//go:uintptrescapes
func Call(f Symbol, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(f), args...)
	return r
}

// Callback makes a C function of a Go function, which takes and returns a uintptr
// each. It is there until the process ends.
func Callback(f any) Symbol { return Symbol(purego.NewCallback(f)) }
