package nccl

import (
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// hip is AMD's runtime, whose current device is the thread's.
type hip struct{ *driver }

var hipFunctions = []string{
	"hipInit", "hipDriverGetVersion", "hipGetDeviceCount", "hipDeviceGetName", "hipSetDevice",
	"hipMalloc", "hipFree", "hipMemcpy", "hipDeviceSynchronize",
	"hipStreamCreateWithFlags", "hipStreamQuery", "hipEventCreate", "hipEventRecord", "hipEventElapsedTime", "hipGetErrorString",
}

const hipErrorNotReady = 600

func openHIP() (devices, error) {
	d, err := openDriver(hipFunctions, hipErrorNotReady, "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")
	if err != nil {
		return nil, fmt.Errorf("AMD runtime: %w", err)
	}
	d.text = func(code int32) string {
		return dynlib.GoString(dynlib.Call(d.functions["hipGetErrorString"], uintptr(code)), 200)
	}
	if err := d.call("hipInit", 0); err != nil {
		return nil, fmt.Errorf("AMD runtime: %w", err)
	}
	return &hip{d}, nil
}

func (h *hip) count() (int, error) {
	var n int32
	err := h.call("hipGetDeviceCount", uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

func (h *hip) name(device int) (string, error) {
	var text [256]byte
	if err := h.call("hipDeviceGetName", uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), uintptr(device)); err != nil {
		return "", err
	}
	return cText(text[:]), nil
}

func (h *hip) version() string {
	var v int32
	if h.call("hipDriverGetVersion", uintptr(unsafe.Pointer(&v))) != nil {
		return ""
	}
	return fmt.Sprintf("HIP %d.%d", v/10000000, v/100000%100)
}

func (h *hip) use(device int) error { return h.call("hipSetDevice", uintptr(device)) }

func (h *hip) alloc(bytes int64) (at uintptr, err error) {
	err = h.call("hipMalloc", uintptr(unsafe.Pointer(&at)), uintptr(max(bytes, 1)))
	return at, err
}

func (h *hip) free(at uintptr) { _ = h.call("hipFree", at) }

// The directions of hipMemcpy.
const (
	hipToDevice   = 1
	hipFromDevice = 2
)

func (h *hip) toDevice(to uintptr, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	if err := h.call("hipMemcpy", to, uintptr(unsafe.Pointer(&from[0])), uintptr(len(from)), hipToDevice); err != nil {
		return err
	}
	return h.call("hipDeviceSynchronize")
}

func (h *hip) fromDevice(to []byte, from uintptr) error {
	if len(to) == 0 {
		return nil
	}
	return h.call("hipMemcpy", uintptr(unsafe.Pointer(&to[0])), from, uintptr(len(to)), hipFromDevice)
}

func (h *hip) newStream() (s uintptr, err error) {
	const nonBlocking = 1
	err = h.call("hipStreamCreateWithFlags", uintptr(unsafe.Pointer(&s)), nonBlocking)
	return s, err
}

func (h *hip) idle(stream uintptr) (bool, error) { return h.done(h.call("hipStreamQuery", stream)) }

func (h *hip) newEvent() (e uintptr, err error) {
	err = h.call("hipEventCreate", uintptr(unsafe.Pointer(&e)))
	return e, err
}

func (h *hip) record(event, stream uintptr) error { return h.call("hipEventRecord", event, stream) }

func (h *hip) elapsed(from, to uintptr) (float64, error) {
	var ms float32
	err := h.call("hipEventElapsedTime", uintptr(unsafe.Pointer(&ms)), from, to)
	return float64(ms) * 1e3, err
}
