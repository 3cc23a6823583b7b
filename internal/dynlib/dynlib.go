package dynlib

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// ErrNotFound matches Open's error, in the sense of errors.Is.
var ErrNotFound = errors.New("shared library not found")

// NotFoundError reports that none of the named libraries could be loaded.
type NotFoundError struct {
	Tried   []string // the names given to Open, in order
	Reasons []string // the dynamic linker's message for each of Tried
}

// Error names the libraries, with Hindrances.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "shared library %s not found", strings.Join(e.Tried, " or "))
	sep := ": "
	for _, r := range e.Hindrances() {
		b.WriteString(sep + r)
		sep = "; "
	}
	return b.String()
}

// Hindrances returns the reasons other than a missing file: the library exists but
// can't be loaded.
func (e *NotFoundError) Hindrances() (all []string) {
	for i, r := range e.Reasons {
		if !strings.HasPrefix(r, e.Tried[i]+": cannot open shared object file: No such file") {
			all = append(all, r)
		}
	}
	return all
}

// Is makes errors.Is(err, ErrNotFound) hold.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// SymbolError reports a function that a library lacks, usually because it is another
// version.
type SymbolError struct {
	Library, Symbol string
}

// Error names the library and the function.
func (e *SymbolError) Error() string {
	return fmt.Sprintf("shared library %s has no function %s: another version?", e.Library, e.Symbol)
}

// Library is a loaded shared library.
type Library struct {
	Name   string // the candidate that loaded
	handle uintptr
}

// Symbol is the address of a C function.
type Symbol uintptr

// Open loads the first of the named libraries that can be loaded. A name with a
// slash is a path; any other is searched for where the system's linker searches.
// The error is a *NotFoundError.
func Open(names ...string) (*Library, error) {
	missing := &NotFoundError{Tried: names}
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return &Library{Name: name, handle: handle}, nil
		}
		missing.Reasons = append(missing.Reasons, err.Error())
	}
	return nil, missing
}

// Symbol looks up a function. The error is a *SymbolError.
func (l *Library) Symbol(name string) (Symbol, error) {
	address, err := symbol(l.handle, name)
	if err != nil || address == 0 {
		return 0, &SymbolError{Library: l.Name, Symbol: name}
	}
	return Symbol(address), nil
}

// GoString copies a C string, truncated to limit bytes; it is empty for a null pointer.
func GoString(address uintptr, limit int) string {
	if address == 0 {
		return ""
	}
	// Reading the bits of address as a pointer is safe: it is C memory, which the
	// garbage collector never moves.
	p := *(**byte)(unsafe.Pointer(&address))
	n := 0
	for n < limit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CString is a null-terminated copy of s for a C function to read during a call.
// Write uintptr(unsafe.Pointer(CString(s))) in the call's arguments, which keeps
// it alive until the call returns.
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
