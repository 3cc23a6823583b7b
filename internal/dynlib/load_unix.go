//go:build (linux || darwin || freebsd || netbsd) && !android

package dynlib

import "github.com/ebitengine/purego"

func open(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(handle uintptr, name string) (uintptr, error) {
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
