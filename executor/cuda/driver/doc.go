// Package driver is the part of NVIDIA's driver library that runs kernels:
// libcuda, loaded when it is asked for, without cgo and without the toolkit.
//
//	d, err := driver.Open()                  ErrMissing: no libcuda here
//	devices, err := d.Devices()
//	c, err := devices[0].Retain()            its primary context
//	m, err := c.Load(ptx)                    compiled for the device; errors bring the log
//	f, err := m.Function("interpret_LL")
//	err = c.Launch(f, grid, block, stream, parameter, true)
//
// Every method of a Context makes it current on a thread of its own for the
// time of the call, so that any goroutine may call it.
//
// Invariants: a handle is never 0; an error of a call names the call, CUDA's
// name of the error and its text. What a call may keep after it returns is
// never Go memory.
//
// It is as thin as it can be: what to run, and when, is package cuda's.
package driver
