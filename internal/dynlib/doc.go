// Package dynlib opens shared libraries at run time, without cgo: libz3, and a GPU
// driver's libraries for an executor. The same binary runs where the library is
// missing, which is an ordinary error.
//
//	lib, err := dynlib.Open("libz3.so.4", "libz3.so")   first that loads
//	mk, err := lib.Symbol("Z3_mk_config")
//	r := dynlib.Call(mk)                                  integer and pointer arguments only
//
// Invariants: a symbol is never the null pointer; an error says which names were
// tried and what the system's linker said to each. Libraries are never closed:
// code that started threads or registered handlers can't be unmapped safely.
//
// It declares no library's functions and keeps no memory alive: a C function must not
// keep Go memory after it returns.
package dynlib
