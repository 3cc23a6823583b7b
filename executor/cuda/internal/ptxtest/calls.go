package ptxtest

import (
	"bytes"
	"fmt"
	"unsafe"
)

// arguments are a call's, as many as the longest has.
type arguments [11]uintptr

// result is a CUresult.
type result uintptr

const (
	success            result = 0
	invalidValue       result = 1
	outOfMemory        result = 2
	invalidContext     result = 201
	invalidPTX         result = 218
	invalidHandle      result = 400
	notFound           result = 500
	notReady           result = 600
	launchFailed       result = 719
	tooLarge           result = 720
	captureUnsupported result = 900
)

// calls are the functions of the library that the executor's binding asks for.
var calls = map[string]func(d *driver, a arguments) result{
	"cuInit":             func(*driver, arguments) result { return success },
	"cuDriverGetVersion": func(_ *driver, a arguments) result { return put[int32](a[0], 12040) },
	"cuGetErrorName":     func(_ *driver, a arguments) result { return text(a[1], "CUDA_ERROR_%d", a[0]) },
	"cuGetErrorString":   (*driver).why,

	"cuDeviceGetCount":          func(d *driver, a arguments) result { return put(a[0], int32(d.m.Devices)) },
	"cuDeviceGet":               func(_ *driver, a arguments) result { return put(a[0], int32(a[1])) },
	"cuDeviceGetName":           (*driver).deviceName,
	"cuDeviceGetAttribute":      (*driver).deviceAttribute,
	"cuDeviceTotalMem_v2":       func(d *driver, a arguments) result { return put(a[0], d.m.Memory) },
	"cuDeviceCanAccessPeer":     func(_ *driver, a arguments) result { return put[int32](a[0], 1) },
	"cuDeviceGetP2PAttribute":   func(_ *driver, a arguments) result { return put[int32](a[0], 1) },
	"cuDevicePrimaryCtxRetain":  (*driver).retain,
	"cuDevicePrimaryCtxRelease": (*driver).release,
	"cuCtxSetCurrent":           (*driver).setCurrent,
	"cuCtxSynchronize":          inContext(func(d *driver, _ arguments) result { d.drain(); return success }),
	"cuCtxEnablePeerAccess":     inContext((*driver).reach),

	"cuMemGetInfo_v2":              inContext((*driver).memoryInfo),
	"cuMemAlloc_v2":                inContext((*driver).allocate),
	"cuMemFree_v2":                 inContext((*driver).free),
	"cuMemcpyHtoD_v2":              inContext((*driver).copyIn),
	"cuMemcpyDtoH_v2":              inContext((*driver).copyOut),
	"cuMemcpyDtoDAsync_v2":         inContext((*driver).copyOnDevice),
	"cuMemsetD8Async":              inContext((*driver).set),
	"cuMemHostAlloc":               inContext((*driver).allocateHost),
	"cuMemHostGetDevicePointer_v2": inContext((*driver).hostPointer),
	"cuMemFreeHost":                inContext((*driver).freeHost),

	"cuModuleLoadDataEx":                          inContext((*driver).load),
	"cuModuleUnload":                              inContext(func(d *driver, a arguments) result { return drop(d.modules, a[0]) }),
	"cuModuleGetFunction":                         inContext((*driver).find),
	"cuFuncGetAttribute":                          inContext((*driver).kernelAttribute),
	"cuOccupancyMaxActiveBlocksPerMultiprocessor": inContext((*driver).occupancy),
	"cuLaunchKernel":                              inContext((*driver).launch),
	"cuLaunchCooperativeKernel":                   inContext((*driver).launchTogether),

	"cuStreamCreate":     inContext(func(d *driver, a arguments) result { return give(d, d.streams, a[0], &stream{device: d.device()}) }),
	"cuStreamDestroy_v2": inContext(func(d *driver, a arguments) result { d.drain(); return drop(d.streams, a[0]) }),
	"cuStreamQuery":      inContext((*driver).query),
	"cuEventCreate":      inContext(func(d *driver, a arguments) result { return give(d, d.events, a[0], &event{}) }),
	"cuEventDestroy_v2":  inContext(func(d *driver, a arguments) result { return drop(d.events, a[0]) }),
	"cuEventRecord":      inContext((*driver).record),
	"cuEventQuery":       inContext((*driver).passed),
	"cuEventElapsedTime": inContext((*driver).elapsed),

	"cuStreamBeginCapture_v2":     inContext((*driver).beginCapture),
	"cuStreamEndCapture":          inContext((*driver).endCapture),
	"cuGraphInstantiateWithFlags": inContext(func(d *driver, a arguments) result { return give(d, d.graphs, a[0], d.graphs[a[1]]) }),
	"cuGraphUpload":               inContext(func(*driver, arguments) result { return success }),
	"cuGraphLaunch":               inContext((*driver).launchGraph),
	"cuGraphExecDestroy":          inContext(func(d *driver, a arguments) result { return drop(d.graphs, a[0]) }),
	"cuGraphDestroy":              inContext(func(d *driver, a arguments) result { return drop(d.graphs, a[0]) }),
}

// inContext is a call that needs a context whose device is not lost.
func inContext(f func(*driver, arguments) result) func(*driver, arguments) result {
	return func(d *driver, a arguments) result {
		switch {
		case d.m.lost:
			return launchFailed
		case d.contexts[d.current] == 0:
			return invalidContext
		}
		r := f(d, a)
		if d.m.lost {
			return launchFailed
		}
		return r
	}
}

// at is what a C pointer points to.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

func bytesAt(p uintptr, n uintptr) []byte { return unsafe.Slice(at[byte](p), n) }

func put[T any](to uintptr, v T) result {
	*at[T](to) = v
	return success
}

// texts keeps alive what C pointers point to.
var texts = map[string][]byte{}

func text(to uintptr, format string, args ...any) result {
	s := fmt.Sprintf(format, args...)
	if texts[s] == nil {
		texts[s] = append([]byte(s), 0)
	}
	return put(to, uintptr(unsafe.Pointer(&texts[s][0])))
}

// give returns a handle for an object; drop forgets it.
func give[T any](d *driver, all map[uintptr]T, to uintptr, v T) result {
	d.handles++
	all[d.handles] = v
	return put(to, d.handles)
}

func drop[T any](all map[uintptr]T, handle uintptr) result {
	if _, ok := all[handle]; !ok {
		return invalidHandle
	}
	delete(all, handle)
	return success
}

// why is cuGetErrorString: the text of an error or, if the device is lost, its fault.
func (d *driver) why(a arguments) result {
	if n := len(d.m.Faults); n > 0 && result(a[0]) == launchFailed {
		return text(a[1], "%s", d.m.Faults[n-1])
	}
	return text(a[1], "error %d", a[0])
}

func (d *driver) deviceName(a arguments) result {
	copy(bytesAt(a[0], a[1]), "Emulated\x00")
	return success
}

func (d *driver) deviceAttribute(a arguments) result {
	n, ok := map[uintptr]int{16: d.m.SMs, 19: 1, 38: 50 << 20, 75: 7, 76: 0, 95: 1}[a[1]]
	if !ok {
		return invalidValue
	}
	return put(a[0], int32(n))
}

// A context's handle is its device's number plus 1.
func (d *driver) device() int { return int(d.current) - 1 }

func (d *driver) retain(a arguments) result {
	d.contexts[a[1]+1]++
	return put(a[0], a[1]+1)
}

func (d *driver) release(a arguments) result {
	d.contexts[a[0]+1]--
	return success
}

func (d *driver) setCurrent(a arguments) result {
	d.current = a[0]
	return success
}

func (d *driver) reach(a arguments) result {
	d.m.reaches[[2]int{d.device(), int(a[0]) - 1}] = true
	return success
}

// left returns the bytes of the current device that are free.
func (d *driver) left() uint64 {
	left := d.m.Memory
	for _, r := range d.m.memory.regions {
		if r.device == d.device() {
			left -= r.size
		}
	}
	return left
}

func (d *driver) memoryInfo(a arguments) result {
	put(a[1], d.m.Memory)
	return put(a[0], d.left())
}

func (d *driver) allocate(a arguments) result {
	if a[1] == 0 {
		return invalidValue
	}
	if uint64(a[1]) > d.left() {
		return outOfMemory
	}
	return put(a[0], d.m.memory.alloc(uint64(a[1]), d.device()).at)
}

func (d *driver) free(a arguments) result {
	d.drain()
	if !d.m.memory.free(uint64(a[0])) {
		return invalidValue
	}
	return success
}

// copied returns a range of the device's memory, for copies; nil if it is not allocated.
func (d *driver) copied(p, n uintptr) []byte {
	r := d.m.memory.find(uint64(p), uint64(n))
	if r == nil {
		return nil
	}
	return r.bytes[uint64(p)-r.at:][:n]
}

func (d *driver) copyIn(a arguments) result {
	d.drain()
	b := d.copied(a[0], a[2])
	if b == nil {
		return invalidValue
	}
	copy(b, bytesAt(a[1], a[2]))
	return success
}

func (d *driver) copyOut(a arguments) result {
	d.drain()
	b := d.copied(a[1], a[2])
	if b == nil {
		return invalidValue
	}
	copy(bytesAt(a[0], a[2]), b)
	return success
}

func (d *driver) copyOnDevice(a arguments) result {
	to, from := d.copied(a[0], a[2]), d.copied(a[1], a[2])
	if to == nil || from == nil {
		return invalidValue
	}
	return d.push(a[3], work{does: "copy", begin: func() *grid { copy(to, from); return nil }})
}

func (d *driver) set(a arguments) result {
	b := d.copied(a[0], a[2])
	if b == nil {
		return invalidValue
	}
	return d.push(a[3], work{does: "set", begin: func() *grid { copy(b, bytes.Repeat([]byte{byte(a[1])}, len(b))); return nil }})
}

// The device knows memory of the host by another address than the host does.
func (d *driver) allocateHost(a arguments) result {
	r := d.m.memory.alloc(uint64(a[1]), -1)
	p := uintptr(unsafe.Pointer(&r.bytes[0]))
	d.host[p] = r
	return put(a[0], p)
}

func (d *driver) hostPointer(a arguments) result {
	r := d.host[a[1]]
	if r == nil {
		return invalidValue
	}
	return put(a[0], r.at)
}

func (d *driver) freeHost(a arguments) result {
	r := d.host[a[0]]
	if r == nil {
		return invalidValue
	}
	d.drain()
	d.m.memory.free(r.at)
	return drop(d.host, a[0])
}
