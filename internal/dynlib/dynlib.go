package dynlib

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// ErrNotFound is behind the error of Open where no candidate could be loaded.
var ErrNotFound = errors.New("shared library not found")

// NotFoundError tells what was tried, in order.
type NotFoundError struct {
	Tried   []string
	Reasons []string // the linker's own words, one for each of Tried
}

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

// Hindrances are the reasons that say more than that there is no file of a name:
// one is there and can't be loaded.
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

// SymbolError is a function that the library does not have: most often one of
// another version.
type SymbolError struct {
	Library, Symbol string
}

func (e *SymbolError) Error() string {
	return fmt.Sprintf("shared library %s has no function %s: another version?", e.Library, e.Symbol)
}

// Library is a loaded shared library.
type Library struct {
	Name   string // as it was found
	handle uintptr
}

// Symbol is the address of a function of the library.
type Symbol uintptr

// Open loads the first of the names that can be loaded. A name with a slash is
// a path, any other is looked for where the system's linker looks. The error is
// a *NotFoundError.
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

// Symbol looks a function up. The error is a *SymbolError.
func (l *Library) Symbol(name string) (Symbol, error) {
	address, err := symbol(l.handle, name)
	if err != nil || address == 0 {
		return 0, &SymbolError{Library: l.Name, Symbol: name}
	}
	return Symbol(address), nil
}

// GoString copies a C string that is at most limit bytes long; a longer one is
// cut. The null pointer is the empty string.
func GoString(address uintptr, limit int) string {
	if address == 0 {
		return ""
	}
	// The address came from C, where the collector moves nothing.
	p := *(**byte)(unsafe.Pointer(&address))
	n := 0
	for n < limit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// CString is a null-terminated copy of s for a C function to read while it
// runs: pass uintptr(unsafe.Pointer(CString(s))) in the call itself.
func CString(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}
