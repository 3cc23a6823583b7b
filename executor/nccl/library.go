package nccl

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/internal/dynlib"
)

// library is NCCL or RCCL, loaded into this process for one host's GPUs, with a
// communicator for each.
type library struct {
	lib       *dynlib.Library
	kind      string // nccl or rccl
	code      int
	functions map[string]dynlib.Symbol
}

// leastVersion is the first with ncclSend and ncclRecv.
const leastVersion = 2700

var libraryFunctions = []string{
	"ncclGetVersion", "ncclGetErrorString", "ncclCommInitAll", "ncclCommAbort", "ncclCommGetAsyncError",
	"ncclGroupStart", "ncclGroupEnd",
	"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast", "ncclReduce", "ncclSend", "ncclRecv",
}

// libraryNames are the libraries' file names, NVIDIA's first.
var libraryNames = []string{"libnccl.so.2", "librccl.so.1", "libnccl.so", "librccl.so"}

// LibraryVariable is the environment variable with the library's path, if the settings have
// none.
const LibraryVariable = "COLLTUNE_EXECUTOR_LIBNCCL"

// openLibrary loads the library at path or, if that is empty, the one that
// LibraryVariable names, or else the first of libraryNames that the system's
// linker finds.
func openLibrary(path string) (*library, error) {
	path = cmp.Or(path, os.Getenv(LibraryVariable))
	names := libraryNames
	if path != "" {
		names = []string{path}
	}
	lib, err := dynlib.Open(names...)
	if err != nil {
		return nil, missing(err, path)
	}
	l := &library{lib: lib, kind: "nccl", functions: map[string]dynlib.Symbol{}}
	if strings.Contains(programName("/"+lib.Name), "rccl") {
		l.kind = "rccl"
	}
	version, err := lib.Symbol("ncclGetVersion")
	if err != nil {
		return nil, err
	}
	var code int32
	if r := int32(dynlib.Call(version, uintptr(unsafe.Pointer(&code)))); r != 0 {
		return nil, fmt.Errorf("%s: ncclGetVersion: error %d", lib.Name, r)
	}
	l.code = int(code)
	if l.code < leastVersion {
		return nil, fmt.Errorf("%s: version %s: want 2.7 or later", lib.Name, l.version())
	}
	for _, f := range libraryFunctions {
		if l.functions[f], err = lib.Symbol(f); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// missing returns the error of a library that was not found, in one line, or of one that
// can't be loaded.
func missing(err error, path string) error {
	var tried *dynlib.NotFoundError
	if path != "" || !errors.As(err, &tried) {
		return err
	}
	if len(tried.Hindrances()) > 0 {
		return err
	}
	return fmt.Errorf("neither NCCL (libnccl.so.2) nor RCCL (librccl.so.1), of which %s may name the file: %w", LibraryVariable, dynlib.ErrNotFound)
}

// version returns the library's version: "2.30.7".
func (l *library) version() string {
	if l.code < 10000 {
		return fmt.Sprintf("%d.%d.%d", l.code/1000, l.code/100%10, l.code%100)
	}
	return fmt.Sprintf("%d.%d.%d", l.code/10000, l.code/100%100, l.code%100)
}

// call calls a function and returns its result as an error.
//
//go:uintptrescapes
func (l *library) call(function string, args ...uintptr) error {
	return l.result(function, int32(dynlib.Call(l.functions[function], args...)))
}

// Results that are no errors.
const (
	ncclSuccess    = 0
	ncclInProgress = 7
)

func (l *library) result(function string, code int32) error {
	if code == ncclSuccess || code == ncclInProgress {
		return nil
	}
	text := dynlib.GoString(dynlib.Call(l.functions["ncclGetErrorString"], uintptr(code)), 400)
	return fmt.Errorf("%s: error %d (%s)", function, code, text)
}

// communicators returns one for each of the first n devices.
func (l *library) communicators(n int) ([]uintptr, error) {
	comms := make([]uintptr, n)
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	err := l.call("ncclCommInitAll", uintptr(unsafe.Pointer(&comms[0])), uintptr(n), uintptr(unsafe.Pointer(&list[0])))
	return comms, err
}

// asyncError returns the asynchronous error of a communicator, if it has one.
func (l *library) asyncError(comm uintptr) error {
	var code int32
	if err := l.call("ncclCommGetAsyncError", comm, uintptr(unsafe.Pointer(&code))); err != nil {
		return err
	}
	return l.result("asynchronous", code)
}

// libraryOps are the library's numbers of reductions.
var libraryOps = map[data.Op]uintptr{data.Sum: 0, data.Prod: 1, data.Max: 2, data.Min: 3, data.Avg: 4}
