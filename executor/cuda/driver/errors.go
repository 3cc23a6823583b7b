package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Code is a CUresult. It is an error for errors.Is.
type Code int32

// The codes that callers distinguish.
const (
	Success             Code = 0
	OutOfMemory         Code = 2
	NoDevice            Code = 100
	PeerUnsupported     Code = 217
	PeerAlreadyEnabled  Code = 704
	TooManyPeers        Code = 711
	NotReady            Code = 600
	CooperativeTooLarge Code = 720
)

// Error reports a call that failed.
type Error struct {
	Call       string
	Code       Code
	Name, Text string // CUDA's
}

// Error names the call and CUDA's error, and often its usual cause.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
	if hint := hints[e.Code]; hint != "" {
		text += ": " + hint
	}
	return text
}

// hints are the usual causes of errors whose own text does not name them.
var hints = map[Code]string{
	46:  "another process has the device to itself, or its compute mode lets none have it (nvidia-smi -q -d COMPUTE)",
	214: "its memory is damaged (nvidia-smi -q -d ECC,ROW_REMAPPER)",
	802: "GPUs behind NVSwitches wait for nvidia-fabricmanager",
	803: "the driver's library and its kernel module are of different versions: the module was not reloaded after an update, or the container brings a library of its own",
	804: "a library of CUDA's compatibility package, which this GPU does not run with: take its folder out of LD_LIBRARY_PATH",
	999: "the kernel's log may say why (dmesg, lines of NVRM: Xid); after a suspend the module nvidia_uvm needs to be reloaded",
}

// Is reports whether target is the error's code: errors.Is(err, driver.OutOfMemory).
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// Error returns the number; *Error has CUDA's name of it.
func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int32(c)) }

// Fatal reports whether an error leaves the context unusable, so that every later
// call fails, too.
func Fatal(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 4, 46, 214, 220, 226, 304, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 999:
		// deinitialized, device unavailable, ECC, NVLink, memory contained, operating
		// system, illegal address, timeout, context destroyed, assertion, stack,
		// instruction, misaligned, address space, program counter, launch failed, leak
		// of tensor memory, MPS client terminated, unknown
		return true
	}
	return false
}

// Unavailable reports whether an error means that this machine, as it is, has no GPU or
// no working driver, so that asking again changes nothing.
func Unavailable(err error) bool {
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

// CannotCompile reports whether an error of Context.Load is the driver compiler's
// fault, whatever the PTX: there is none, it may not be used, or it is too old for
// the PTX or the device.
func CannotCompile(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 200, 209, 218, 221, 222, 223:
		// invalid image, no binary for the device, invalid PTX, compiler not found, unsupported
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
