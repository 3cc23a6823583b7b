package driver

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// ErrMissing: the driver's library cannot be loaded.
var ErrMissing = errors.New("no libcuda: NVIDIA driver not found")

// LibraryVariable names another library than the system's.
const LibraryVariable = "COLLTUNE_EXECUTOR_LIBCUDA"

// entry is a function of the library.
type entry int

// The functions used, all of CUDA 9 and later.
const (
	cuInit entry = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetAttribute
	cuDeviceTotalMem
	cuDeviceCanAccessPeer
	cuDeviceGetP2PAttribute
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuCtxEnablePeerAccess
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemcpyHtoD
	cuMemcpyDtoH
	cuMemcpyDtoDAsync
	cuMemsetD8Async
	cuMemHostAlloc
	cuMemHostGetDevicePointer
	cuMemFreeHost
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuOccupancyMaxActiveBlocksPerMultiprocessor
	cuLaunchKernel
	cuLaunchCooperativeKernel
	cuStreamCreate
	cuStreamDestroy
	cuStreamQuery
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventElapsedTime
	required // functions up to here; those below came with CUDA 11.4
)

// The functions for graphs, which older drivers lack.
const (
	cuStreamBeginCapture entry = iota + required + 1
	cuStreamEndCapture
	cuGraphInstantiateWithFlags
	cuGraphUpload
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphDestroy
)

// symbols are the functions' names in the library, which has several versions of
// some.
var symbols = [...]string{
	cuInit:                    "cuInit",
	cuDriverGetVersion:        "cuDriverGetVersion",
	cuGetErrorName:            "cuGetErrorName",
	cuGetErrorString:          "cuGetErrorString",
	cuDeviceGetCount:          "cuDeviceGetCount",
	cuDeviceGet:               "cuDeviceGet",
	cuDeviceGetName:           "cuDeviceGetName",
	cuDeviceGetAttribute:      "cuDeviceGetAttribute",
	cuDeviceTotalMem:          "cuDeviceTotalMem_v2",
	cuDeviceCanAccessPeer:     "cuDeviceCanAccessPeer",
	cuDeviceGetP2PAttribute:   "cuDeviceGetP2PAttribute",
	cuDevicePrimaryCtxRetain:  "cuDevicePrimaryCtxRetain",
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease",
	cuCtxSetCurrent:           "cuCtxSetCurrent",
	cuCtxEnablePeerAccess:     "cuCtxEnablePeerAccess",
	cuMemGetInfo:              "cuMemGetInfo_v2",
	cuMemAlloc:                "cuMemAlloc_v2",
	cuMemFree:                 "cuMemFree_v2",
	cuMemcpyHtoD:              "cuMemcpyHtoD_v2",
	cuMemcpyDtoH:              "cuMemcpyDtoH_v2",
	cuMemcpyDtoDAsync:         "cuMemcpyDtoDAsync_v2",
	cuMemsetD8Async:           "cuMemsetD8Async",
	cuMemHostAlloc:            "cuMemHostAlloc",
	cuMemHostGetDevicePointer: "cuMemHostGetDevicePointer_v2",
	cuMemFreeHost:             "cuMemFreeHost",
	cuModuleLoadDataEx:        "cuModuleLoadDataEx",
	cuModuleUnload:            "cuModuleUnload",
	cuModuleGetFunction:       "cuModuleGetFunction",
	cuFuncGetAttribute:        "cuFuncGetAttribute",
	cuOccupancyMaxActiveBlocksPerMultiprocessor: "cuOccupancyMaxActiveBlocksPerMultiprocessor",
	cuLaunchKernel:            "cuLaunchKernel",
	cuLaunchCooperativeKernel: "cuLaunchCooperativeKernel",
	cuStreamCreate:            "cuStreamCreate",
	cuStreamDestroy:           "cuStreamDestroy_v2",
	cuStreamQuery:             "cuStreamQuery",
	cuEventCreate:             "cuEventCreate",
	cuEventDestroy:            "cuEventDestroy_v2",
	cuEventRecord:             "cuEventRecord",
	cuEventElapsedTime:        "cuEventElapsedTime",

	cuStreamBeginCapture:        "cuStreamBeginCapture_v2",
	cuStreamEndCapture:          "cuStreamEndCapture",
	cuGraphInstantiateWithFlags: "cuGraphInstantiateWithFlags",
	cuGraphUpload:               "cuGraphUpload",
	cuGraphLaunch:               "cuGraphLaunch",
	cuGraphExecDestroy:          "cuGraphExecDestroy",
	cuGraphDestroy:              "cuGraphDestroy",
}

// renamed are the names that CUDA 13's header has for functions with the same
// parameters, in case a library drops the older ones.
var renamed = map[entry]string{
	cuDevicePrimaryCtxRelease: "cuDevicePrimaryCtxRelease_v2",
	cuEventElapsedTime:        "cuEventElapsedTime_v2",
}

// Driver is the loaded library.
type Driver struct {
	Library string // as it was found
	entries [len(symbols)]dynlib.Symbol
}

var loaded struct {
	sync.Mutex
	by map[string]*Driver
}

// Load loads the library, but does not start the driver.
func Load() (*Driver, error) {
	name := os.Getenv(LibraryVariable)
	names := []string{"libcuda.so.1", "libcuda.so"}
	if name != "" {
		names = []string{name}
	}
	loaded.Lock()
	defer loaded.Unlock()
	if d := loaded.by[name]; d != nil {
		return d, nil
	}
	lib, err := dynlib.Open(names...)
	var none *dynlib.NotFoundError
	switch {
	case name == "" && errors.As(err, &none) && len(none.Hindrances()) == 0:
		return nil, ErrMissing // says all there is to say
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return bind(name, lib.Name, lib.Symbol)
}

// Provide makes Load find functions of this process if LibraryVariable is name. An
// emulated GPU has no file to load.
func Provide(name string, symbol func(name string) (dynlib.Symbol, error)) error {
	loaded.Lock()
	defer loaded.Unlock()
	_, err := bind(name, name, symbol)
	return err
}

// bind looks the functions up, and keeps them for the next time.
func bind(name, found string, lookUp func(string) (dynlib.Symbol, error)) (*Driver, error) {
	d := &Driver{Library: found}
	for i, symbol := range symbols {
		if symbol == "" {
			continue
		}
		var err error
		if d.entries[i], err = lookUp(symbol); err != nil && renamed[entry(i)] != "" {
			d.entries[i], _ = lookUp(renamed[entry(i)])
		}
		if d.entries[i] == 0 && entry(i) < required {
			return nil, err
		}
	}
	if loaded.by == nil {
		loaded.by = map[string]*Driver{}
	}
	loaded.by[name] = d
	return d, nil
}

// Open loads the library and starts the driver.
func Open() (*Driver, error) {
	d, err := Load()
	if err != nil {
		return nil, err
	}
	return d, d.check(cuInit, dynlib.Call(d.entries[cuInit], 0))
}

// Version is the version of CUDA that the driver supports: 12040 is 12.4.
func (d *Driver) Version() (int, error) {
	var v int32
	err := d.check(cuDriverGetVersion, dynlib.Call(d.entries[cuDriverGetVersion], uintptr(unsafe.Pointer(&v))))
	return int(v), err
}

// Code is a result of a call.
type Code int32

// The codes that callers tell apart.
const (
	Success             Code = 0
	OutOfMemory         Code = 2
	NoDevice            Code = 100
	PeerAlreadyEnabled  Code = 704
	NotReady            Code = 600
	CooperativeTooLarge Code = 720
)

// Error is a call that did not succeed.
type Error struct {
	Call       string
	Code       Code
	Name, Text string // CUDA's
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
}

// Is compares codes: errors.Is(err, driver.OutOfMemory).
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int32(c)) }

// Fatal tells whether an error leaves the context unusable, so that every later
// call fails, too.
func Fatal(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 4, 46, 214, 220, 226, 304, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 810, 999:
		// deinitialized, device unavailable, ECC, NVLink, memory contained, operating
		// system, illegal address, timeout, context destroyed, assertion, stack,
		// instruction, misaligned, address space, program counter, launch failed,
		// MPS client terminated, unknown
		return true
	}
	return false
}

// Absent tells whether an error means that this machine, as it is, has no GPU or
// no working driver, so that asking again changes nothing.
func Absent(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return errors.Is(err, ErrMissing)
	}
	switch e.Code {
	case 34, NoDevice, 803, 804:
		// a toolkit's stub in the library's place, no device, a library of another
		// version than the kernel's module, a device that forward compatibility
		// does not know
		return true
	}
	return false
}

// CannotCompile tells whether an error of Context.Load is the driver compiler's
// fault, whatever the PTX: there is none, it may not be used, or it is too old for
// the PTX or the device.
func CannotCompile(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 209, 218, 221, 222, 223:
		// no binary for the device, invalid PTX, compiler not found, unsupported
		// PTX version, compilation disabled
		return true
	}
	return false
}

// check turns a call's result into an error.
func (d *Driver) check(e entry, result uintptr) error {
	code := Code(int32(result))
	if code == Success {
		return nil
	}
	text := func(e entry) string {
		var p uintptr
		if Code(int32(dynlib.Call(d.entries[e], uintptr(uint32(code)), uintptr(unsafe.Pointer(&p))))) != Success {
			return "unknown"
		}
		return dynlib.GoString(p, 400)
	}
	return &Error{Call: symbols[e], Code: code, Name: text(cuGetErrorName), Text: text(cuGetErrorString)}
}
