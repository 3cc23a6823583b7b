// Package driver binds the part of NVIDIA's driver library that runs kernels: libcuda,
// loaded at run time, without cgo and without the toolkit.
//
//	d, err := driver.Open()                  ErrMissing: no libcuda here
//	devices, err := d.Devices()
//	c, err := devices[0].Retain()            its primary context
//	m, err := c.Load(ptx)                    compiled for the device; errors have the log
//	f, err := m.Function("interpret_LL")
//	err = c.Launch(f, grid, block, stream, parameter, true)
//
// Every method of a Context makes it current on the calling thread for the call, so any
// goroutine may call it.
//
// Invariants: a handle is never 0. Unless its comment says otherwise, the error of a
// method is an *Error: the first CUDA call that failed, with CUDA's name and text of the
// failure. No call keeps Go memory after it returns.
//
// It decides nothing: that is package cuda.
package driver
