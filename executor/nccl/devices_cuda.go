package nccl

import (
	"cmp"
	"fmt"
	"os"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// cuda is NVIDIA's driver API. The context is the device's primary one, as the
// library's is.
type cuda struct {
	*driver
	contexts map[int]uintptr
}

var cudaFunctions = []string{
	"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxSynchronize",
	"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
	"cuStreamCreate", "cuStreamQuery", "cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuGetErrorString",
}

const cudaErrorNotReady = 600

// driverVariable is the environment variable with the driver's path, as for the executor
// cuda.
const driverVariable = "COLLTUNE_EXECUTOR_LIBCUDA"

func openCUDA() (devices, error) {
	d, err := openDriver(cudaFunctions, cudaErrorNotReady, cmp.Or(os.Getenv(driverVariable), "libcuda.so.1"))
	if err != nil {
		return nil, fmt.Errorf("NVIDIA driver: %w", err)
	}
	d.text = func(code int32) string {
		var text uintptr
		dynlib.Call(d.functions["cuGetErrorString"], uintptr(code), uintptr(unsafe.Pointer(&text)))
		return dynlib.GoString(text, 200)
	}
	if err := d.call("cuInit", 0); err != nil {
		return nil, fmt.Errorf("NVIDIA driver: %w", err)
	}
	return &cuda{d, map[int]uintptr{}}, nil
}

func (c *cuda) count() (int, error) {
	var n int32
	err := c.call("cuDeviceGetCount", uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

func (c *cuda) handle(device int) (h int32, err error) {
	err = c.call("cuDeviceGet", uintptr(unsafe.Pointer(&h)), uintptr(device))
	return h, err
}

func (c *cuda) name(device int) (string, error) {
	h, err := c.handle(device)
	if err != nil {
		return "", err
	}
	var text [256]byte
	if err := c.call("cuDeviceGetName", uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), uintptr(h)); err != nil {
		return "", err
	}
	return cText(text[:]), nil
}

func (c *cuda) version() string {
	var v int32
	if c.call("cuDriverGetVersion", uintptr(unsafe.Pointer(&v))) != nil {
		return ""
	}
	return fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10)
}

func (c *cuda) use(device int) error {
	ctx, ok := c.contexts[device]
	if !ok {
		h, err := c.handle(device)
		if err != nil {
			return err
		}
		if err := c.call("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&ctx)), uintptr(h)); err != nil {
			return err
		}
		c.contexts[device] = ctx
	}
	return c.call("cuCtxSetCurrent", ctx)
}

func (c *cuda) alloc(bytes int64) (at uintptr, err error) {
	err = c.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&at)), uintptr(max(bytes, 1)))
	return at, err
}

func (c *cuda) free(at uintptr) { _ = c.call("cuMemFree_v2", at) }

func (c *cuda) toDevice(to uintptr, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	if err := c.call("cuMemcpyHtoD_v2", to, uintptr(unsafe.Pointer(&from[0])), uintptr(len(from))); err != nil {
		return err
	}
	return c.call("cuCtxSynchronize")
}

func (c *cuda) fromDevice(to []byte, from uintptr) error {
	if len(to) == 0 {
		return nil
	}
	return c.call("cuMemcpyDtoH_v2", uintptr(unsafe.Pointer(&to[0])), from, uintptr(len(to)))
}

func (c *cuda) newStream() (s uintptr, err error) {
	const nonBlocking = 1
	err = c.call("cuStreamCreate", uintptr(unsafe.Pointer(&s)), nonBlocking)
	return s, err
}

func (c *cuda) idle(stream uintptr) (bool, error) { return c.done(c.call("cuStreamQuery", stream)) }

func (c *cuda) newEvent() (e uintptr, err error) {
	err = c.call("cuEventCreate", uintptr(unsafe.Pointer(&e)), 0)
	return e, err
}

func (c *cuda) record(event, stream uintptr) error { return c.call("cuEventRecord", event, stream) }

func (c *cuda) elapsed(from, to uintptr) (float64, error) {
	var ms float32
	err := c.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), from, to)
	return float64(ms) * 1e3, err
}
