package driver

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Module is kernels, compiled for a context's device. It lives until Unload, or until the
// context is released.
type Module struct {
	c      *Context
	handle uintptr
}

// Function is a kernel. It lives as long as its module. A method's error is an *Error.
type Function struct {
	Name   string
	c      *Context
	handle uintptr
}

// Load loads machine code, or compiles PTX for the context's device. The error has the
// compiler's log; see CannotCompile.
func (c *Context) Load(code []byte) (*Module, error) {
	const errorLog, errorLogBytes = 5, 6
	logText := make([]byte, 8<<10)
	// C reads the buffer's address from values, where the collector does not see
	// it; on the stack the buffer could move before the call.
	var held runtime.Pinner
	defer held.Unpin()
	held.Pin(&logText[0])
	options := []int32{errorLog, errorLogBytes}
	values := []uintptr{uintptr(unsafe.Pointer(&logText[0])), uintptr(len(logText))}
	text := append(append([]byte{}, code...), 0)
	m := &Module{c: c}
	err := c.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&text[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options[0])), uintptr(unsafe.Pointer(&values[0])))
	if err != nil {
		log, _, _ := strings.Cut(string(logText), "\x00")
		if log = strings.TrimSpace(log); log != "" {
			err = fmt.Errorf("%w\n%s", err, log)
		}
		return nil, err
	}
	return m, nil
}

// Unload unloads the module.
func (m *Module) Unload() error { return m.c.call(cuModuleUnload, m.handle) }

// Function returns the kernel called name. An error names it and wraps an *Error.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{Name: name, c: m.c}
	text := append([]byte(name), 0)
	if err := m.c.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(&text[0]))); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	return f, nil
}

// Threads returns the most threads of a block of the kernel.
func (f *Function) Threads() (int, error) { return f.attribute(0) }

// Registers returns the registers of a thread.
func (f *Function) Registers() (int, error) { return f.attribute(4) }

// Local returns the bytes of local memory of a thread: its stack and spilled registers.
func (f *Function) Local() (int, error) { return f.attribute(3) }

func (f *Function) attribute(a uintptr) (int, error) {
	var n int32
	err := f.c.call(cuFuncGetAttribute, uintptr(unsafe.Pointer(&n)), a, f.handle)
	return int(n), err
}

// Resident returns how many blocks of the given threads are resident on a multiprocessor.
func (f *Function) Resident(threads int) (int, error) {
	var n int32
	err := f.c.call(cuOccupancyMaxActiveBlocksPerMultiprocessor, uintptr(unsafe.Pointer(&n)), f.handle, uintptr(threads), 0)
	return int(n), err
}

// Launch starts a kernel with one parameter, the bytes of a struct, in stream order. If
// cooperative, all its blocks are resident or the error is CooperativeTooLarge.
func (c *Context) Launch(f *Function, blocks, threads int, s Stream, parameter []byte, cooperative bool) error {
	held := append([]uint64(nil), make([]uint64, (len(parameter)+7)/8+1)...) // aligned as a struct must be
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&held[0])), len(parameter)), parameter)
	parameters := []unsafe.Pointer{unsafe.Pointer(&held[0])}
	var err error
	if cooperative {
		err = c.call(cuLaunchCooperativeKernel, f.handle, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, uintptr(s), uintptr(unsafe.Pointer(&parameters[0])))
	} else {
		err = c.call(cuLaunchKernel, f.handle, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, uintptr(s), uintptr(unsafe.Pointer(&parameters[0])), 0)
	}
	runtime.KeepAlive(held)
	if err != nil {
		return fmt.Errorf("kernel %s of %d blocks of %d threads: %w", f.Name, blocks, threads, err)
	}
	return nil
}
