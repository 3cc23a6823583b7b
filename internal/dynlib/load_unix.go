//go:build (linux || darwin || freebsd || netbsd) && !android

package dynlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// open and symbol stay on their thread: the linker keeps the words of a failure
// for the thread that it happened on, and purego asks for them in a second call.

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

// Call calls a C function with integer or pointer arguments and returns what it
// left in the result register: a 32-bit result must be cut to int32 or uint32,
// its upper half is noise. A pointer to Go memory stays valid for the call.
//
//go:uintptrescapes
func Call(f Symbol, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(uintptr(f), args...)
	return r
}
