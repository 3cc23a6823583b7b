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

// LibraryVariable is the environment variable with the library's path, instead of the
// system's.
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
	cuCtxSynchronize
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
	cuEventQuery
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
	cuCtxSynchronize:          "cuCtxSynchronize",
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
	cuEventQuery:              "cuEventQuery",
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

// Driver is the loaded library. It is never unloaded.
type Driver struct {
	Library string // its file
	entries [len(symbols)]dynlib.Symbol
}

var loaded struct {
	sync.Mutex
	by map[string]*Driver
}

// Load loads the library, but does not start the driver. The error wraps ErrMissing, or
// names a missing function.
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

// Provide makes Load use functions of this process if LibraryVariable is name: an emulated
// GPU has no file. The error is that a function is missing.
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

// Open loads the library and starts the driver (cuInit). Errors are Load's, or an *Error.
func Open() (*Driver, error) {
	d, err := Load()
	if err != nil {
		return nil, err
	}
	return d, d.check(cuInit, dynlib.Call(d.entries[cuInit], 0))
}

// Version returns the version of CUDA that the driver supports: 12040 is 12.4. An error is
// an *Error.
func (d *Driver) Version() (int, error) {
	var v int32
	err := d.check(cuDriverGetVersion, dynlib.Call(d.entries[cuDriverGetVersion], uintptr(unsafe.Pointer(&v))))
	return int(v), err
}
