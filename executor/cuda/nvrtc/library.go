package nvrtc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// ErrMissing: the compiler's library cannot be loaded.
var ErrMissing = errors.New("no libnvrtc")

// LibraryVariable is the environment variable with the library's path, instead of the
// system's.
const LibraryVariable = "COLLTUNE_EXECUTOR_LIBNVRTC"

// libraryNames are tried in order. The name without a number belongs to a
// toolkit's development files, and leads to the newest.
var libraryNames = []string{
	"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
	"/usr/local/cuda/lib64/libnvrtc.so", "/opt/cuda/lib64/libnvrtc.so",
}

// entry is a function of the library.
type entry int

// The functions used, all of NVRTC 11.2 and later.
const (
	nvrtcVersion entry = iota
	nvrtcGetErrorString
	nvrtcGetNumSupportedArchs
	nvrtcGetSupportedArchs
	nvrtcCreateProgram
	nvrtcDestroyProgram
	nvrtcCompileProgram
	nvrtcGetProgramLogSize
	nvrtcGetProgramLog
	nvrtcGetCUBINSize
	nvrtcGetCUBIN
)

var symbols = [...]string{
	nvrtcVersion:              "nvrtcVersion",
	nvrtcGetErrorString:       "nvrtcGetErrorString",
	nvrtcGetNumSupportedArchs: "nvrtcGetNumSupportedArchs",
	nvrtcGetSupportedArchs:    "nvrtcGetSupportedArchs",
	nvrtcCreateProgram:        "nvrtcCreateProgram",
	nvrtcDestroyProgram:       "nvrtcDestroyProgram",
	nvrtcCompileProgram:       "nvrtcCompileProgram",
	nvrtcGetProgramLogSize:    "nvrtcGetProgramLogSize",
	nvrtcGetProgramLog:        "nvrtcGetProgramLog",
	nvrtcGetCUBINSize:         "nvrtcGetCUBINSize",
	nvrtcGetCUBIN:             "nvrtcGetCUBIN",
}

// Library is the loaded compiler.
type Library struct {
	Name          string // the file that was loaded
	Version       string // "12.4"
	Architectures []int  // that it can compile for: 90 is sm_90
	entries       [len(symbols)]dynlib.Symbol
}

var loaded struct {
	sync.Mutex
	by map[string]*Library
}

// Open loads NVRTC, from LibraryVariable if it is set, and asks for its version and
// architectures. A library that was opened before is returned again. The error is
// ErrMissing if there is no such library or it lacks a function, as before 11.2;
// any other is that of a call that fails.
func Open() (*Library, error) {
	name := os.Getenv(LibraryVariable)
	names := libraryNames
	if name != "" {
		names = []string{name}
	}
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.by[name]; l != nil {
		return l, nil
	}
	lib, err := dynlib.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	l := &Library{Name: lib.Name}
	for i, symbol := range symbols {
		if l.entries[i], err = lib.Symbol(symbol); err != nil {
			return nil, fmt.Errorf("%w of 11.2 or later: %w", ErrMissing, err)
		}
	}
	if err := l.describe(); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	if loaded.by == nil {
		loaded.by = map[string]*Library{}
	}
	loaded.by[name] = l
	return l, nil
}

func (l *Library) describe() error {
	var major, minor, n int32
	if err := l.call(nvrtcVersion, uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor))); err != nil {
		return err
	}
	l.Version = fmt.Sprintf("%d.%d", major, minor)
	if err := l.call(nvrtcGetNumSupportedArchs, uintptr(unsafe.Pointer(&n))); err != nil {
		return err
	}
	if n < 1 || n > 1<<10 {
		return fmt.Errorf("it says that it compiles for %d architectures", n)
	}
	all := make([]int32, n)
	if err := l.call(nvrtcGetSupportedArchs, uintptr(unsafe.Pointer(&all[0]))); err != nil {
		return err
	}
	for _, a := range all {
		l.Architectures = append(l.Architectures, int(a))
	}
	return nil
}

// Compiles reports whether it makes machine code for an architecture.
func (l *Library) Compiles(architecture int) bool {
	return slices.Contains(l.Architectures, architecture)
}

// Source is a program: one file, and headers by the names under which they are
// included.
type Source struct {
	Name, Text string
	Headers    map[string]string
}

// CompileError is the compiler's refusal of a source.
type CompileError struct {
	Text string // the library's, of the failure
	Log  string // the compiler's
}

// Error contains the compiler's log, over several lines.
func (e *CompileError) Error() string {
	if e.Log == "" {
		return "nvrtcCompileProgram: " + e.Text
	}
	return "nvrtcCompileProgram: " + e.Text + "\n" + e.Log
}

// mostCode limits the memory that a library can make us reserve.
const mostCode = 1 << 28

// Compile makes machine code. An option must name a real architecture, as in
// --gpu-architecture=sm_90, because there is no code for a virtual one. If the compiler
// refuses the source, the error is a *CompileError.
func (l *Library) Compile(s Source, options ...string) ([]byte, error) {
	var held runtime.Pinner // strings that C reads through the lists
	defer held.Unpin()
	list := func(texts []string) (first uintptr) {
		if len(texts) == 0 {
			return 0
		}
		all := make([]uintptr, len(texts))
		for i, text := range texts {
			c := dynlib.CString(text)
			held.Pin(c)
			all[i] = uintptr(unsafe.Pointer(c))
		}
		held.Pin(&all[0])
		return uintptr(unsafe.Pointer(&all[0]))
	}
	var names, texts []string
	for name, text := range s.Headers {
		names, texts = append(names, name), append(texts, text)
	}
	var program uintptr
	if err := l.call(nvrtcCreateProgram, uintptr(unsafe.Pointer(&program)), uintptr(unsafe.Pointer(dynlib.CString(s.Text))), uintptr(unsafe.Pointer(dynlib.CString(s.Name))),
		uintptr(len(names)), list(texts), list(names)); err != nil {
		return nil, err
	}
	defer func() { _ = l.call(nvrtcDestroyProgram, uintptr(unsafe.Pointer(&program))) }()
	if err := l.call(nvrtcCompileProgram, program, uintptr(len(options)), list(options)); err != nil {
		log, e := l.bytes(program, nvrtcGetProgramLogSize, nvrtcGetProgramLog)
		if e != nil {
			return nil, errors.Join(err, e)
		}
		text, _, _ := strings.Cut(string(log), "\x00")
		var failed *callError
		errors.As(err, &failed)
		return nil, &CompileError{Text: failed.text, Log: strings.TrimSpace(text)}
	}
	code, err := l.bytes(program, nvrtcGetCUBINSize, nvrtcGetCUBIN)
	if err == nil && len(code) == 0 {
		err = fmt.Errorf("no machine code for %s", strings.Join(options, " "))
	}
	return code, err
}

// bytes asks for the size of something, and then for the thing itself.
func (l *Library) bytes(program uintptr, size, get entry) ([]byte, error) {
	var n uint64
	if err := l.call(size, program, uintptr(unsafe.Pointer(&n))); err != nil {
		return nil, err
	}
	if n > mostCode {
		return nil, fmt.Errorf("%s says %d bytes: want at most %d", symbols[size], n, mostCode)
	}
	if n == 0 {
		return nil, nil
	}
	b := make([]byte, n)
	return b, l.call(get, program, uintptr(unsafe.Pointer(&b[0])))
}

// callError is a call that did not succeed.
type callError struct{ call, text string }

func (e *callError) Error() string { return e.call + ": " + e.text }

// call calls a function and turns its result into an error.
//
//go:uintptrescapes
func (l *Library) call(e entry, args ...uintptr) error {
	r := int32(dynlib.Call(l.entries[e], args...))
	if r == 0 {
		return nil
	}
	return &callError{symbols[e], dynlib.GoString(dynlib.Call(l.entries[nvrtcGetErrorString], uintptr(r)), 400)}
}
