//go:build !((linux || darwin) && !android)

package dynlib

import "errors"

var errSystem = errors.New("loading shared libraries is not supported on this system")

func open(string) (uintptr, error) { return 0, errSystem }

func symbol(uintptr, string) (uintptr, error) { return 0, errSystem }

// Call is never reached: on this system no library can be opened.
func Call(Symbol, ...uintptr) uintptr { panic(errSystem) }

// Callback panics: on this system no C function could call it.
func Callback(any) Symbol { panic(errSystem) }
