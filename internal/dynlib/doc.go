// Package dynlib opens shared libraries at run time: libz3, and whatever an
// executor needs of a GPU's driver. No cgo: the same binary runs where the library is
// missing, which is an ordinary state with an ordinary error.
//
//	lib, err := dynlib.Open("libz3.so.4", "libz3.so")   first that loads
//	mk, err := lib.Symbol("Z3_mk_config")
//	r := dynlib.Call(mk)                                  integer and pointer arguments only
//
// Invariants: a symbol is never the null pointer; an error says which names were
// tried and what the system's linker said to each. Libraries are never closed:
// code that started threads or registered handlers can't be unmapped safely.
//
// It knows no library's functions and keeps no memory alive: what a C function
// keeps after it returns must not be Go memory.
package dynlib
