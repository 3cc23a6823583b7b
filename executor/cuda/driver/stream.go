package driver

import (
	"errors"
	"unsafe"
)

// Stream is a device's queue of work.
type Stream uintptr

// Event is a mark in a stream, with its time.
type Event uintptr

// NewStream creates a stream. Read and Write wait for its work.
func (c *Context) NewStream() (Stream, error) {
	var s Stream
	err := c.call(cuStreamCreate, uintptr(unsafe.Pointer(&s)), 0)
	return s, err
}

// DestroyStream destroys a stream.
func (c *Context) DestroyStream(s Stream) error { return c.call(cuStreamDestroy, uintptr(s)) }

// Done reports whether a stream has done all its work. The error is the work's.
func (c *Context) Done(s Stream) (bool, error) {
	err := c.call(cuStreamQuery, uintptr(s))
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// NewEvent creates an event.
func (c *Context) NewEvent() (Event, error) {
	var e Event
	err := c.call(cuEventCreate, uintptr(unsafe.Pointer(&e)), 0)
	return e, err
}

// DestroyEvent destroys an event.
func (c *Context) DestroyEvent(e Event) error { return c.call(cuEventDestroy, uintptr(e)) }

// Record puts an event into a stream.
func (c *Context) Record(e Event, s Stream) error {
	return c.call(cuEventRecord, uintptr(e), uintptr(s))
}

// Passed reports whether a stream has reached an event.
func (c *Context) Passed(e Event) (bool, error) {
	err := c.call(cuEventQuery, uintptr(e))
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// Between returns the time between two events that have passed, in microseconds.
func (c *Context) Between(from, to Event) (float64, error) {
	var ms float32
	err := c.call(cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(from), uintptr(to))
	return float64(ms) * 1000, err
}
