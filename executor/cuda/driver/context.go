package driver

import (
	"runtime"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Context is a device's primary context, to which its memory, modules and streams
// belong. A method's error is an *Error; where Fatal holds for it, all later calls fail too.
type Context struct {
	Device *Device
	d      *Driver
	handle uintptr
}

// Retain returns the device's primary context, which all users in the process share. The
// caller releases it.
func (v *Device) Retain() (*Context, error) {
	c := &Context{Device: v, d: v.d}
	if err := v.d.check(cuDevicePrimaryCtxRetain, dynlib.Call(v.d.entries[cuDevicePrimaryCtxRetain], uintptr(unsafe.Pointer(&c.handle)), uintptr(v.handle))); err != nil {
		return nil, err
	}
	return c, nil
}

// Release releases the context. Its memory, modules and streams must not be used after
// that.
func (c *Context) Release() error {
	return c.d.check(cuDevicePrimaryCtxRelease, dynlib.Call(c.d.entries[cuDevicePrimaryCtxRelease], uintptr(c.Device.handle)))
}

// call calls a function with the context current.
//
//go:uintptrescapes
func (c *Context) call(e entry, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.d.check(cuCtxSetCurrent, dynlib.Call(c.d.entries[cuCtxSetCurrent], c.handle)); err != nil {
		return err
	}
	return c.d.check(e, dynlib.Call(c.d.entries[e], args...))
}

// Reach gives this context's kernels access to the memory of another's. The error is
// PeerAlreadyEnabled the second time.
func (c *Context) Reach(other *Context) error {
	return c.call(cuCtxEnablePeerAccess, other.handle, 0)
}

// Address is an address in a device's memory, or in the host's as devices see it.
type Address uint64

// Free returns the bytes of memory left on the device.
func (c *Context) Free() (int64, error) {
	var free, total uint64
	err := c.call(cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return int64(free), err
}

// Alloc allocates memory of the device. The error is OutOfMemory if there is too little.
func (c *Context) Alloc(bytes int64) (Address, error) {
	var at Address
	err := c.call(cuMemAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes))
	return at, err
}

// FreeMemory frees memory of Alloc.
func (c *Context) FreeMemory(at Address) error { return c.call(cuMemFree, uintptr(at)) }

// Write copies to the device, and waits until all that the device does is done: the copy's
// own call returns once the bytes are in the driver's staging memory, and streams that do
// not block would overtake the rest.
func (c *Context) Write(at Address, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if err := c.call(cuMemcpyHtoD, uintptr(at), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b))); err != nil {
		return err
	}
	return c.call(cuCtxSynchronize)
}

// Read copies from the device, and waits until it is done.
func (c *Context) Read(at Address, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return c.call(cuMemcpyDtoH, uintptr(unsafe.Pointer(&b[0])), uintptr(at), uintptr(len(b)))
}

// Copy copies on the device, in stream order.
func (c *Context) Copy(to, from Address, bytes int64, s Stream) error {
	return c.call(cuMemcpyDtoDAsync, uintptr(to), uintptr(from), uintptr(bytes), uintptr(s))
}

// Set fills memory with a byte, in stream order.
func (c *Context) Set(at Address, value byte, bytes int64, s Stream) error {
	if bytes == 0 {
		return nil
	}
	return c.call(cuMemsetD8Async, uintptr(at), uintptr(value), uintptr(bytes), uintptr(s))
}

// Host is memory of the host to which kernels of all contexts have access.
type Host struct {
	Device Address // as kernels see it
	c      *Context
	host   uintptr
	bytes  int
}

// AllocHost allocates memory of the host for kernels of all contexts. The caller frees it.
func (c *Context) AllocHost(bytes int) (*Host, error) {
	const portable, mapped = 1, 2
	h := &Host{c: c, bytes: bytes}
	if err := c.call(cuMemHostAlloc, uintptr(unsafe.Pointer(&h.host)), uintptr(bytes), portable|mapped); err != nil {
		return nil, err
	}
	return h, c.call(cuMemHostGetDevicePointer, uintptr(unsafe.Pointer(&h.Device)), h.host, 0)
}

// Words returns the memory as words. Access them atomically, because kernels may write
// them.
func (h *Host) Words() []uint32 {
	// The address came from C, where the collector moves nothing.
	p := *(**uint32)(unsafe.Pointer(&h.host))
	return unsafe.Slice(p, h.bytes/4)
}

// Free frees the memory.
func (h *Host) Free() error { return h.c.call(cuMemFreeHost, h.host) }
