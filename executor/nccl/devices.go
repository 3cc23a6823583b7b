package nccl

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/colltune/colltune/internal/dynlib"
)

// devices are the functions of a GPU driver that bench needs. All calls come from one
// thread, which has one current device.
type devices interface {
	count() (int, error)
	name(device int) (string, error)
	version() string
	use(device int) error
	alloc(bytes int64) (uintptr, error)
	free(address uintptr)
	// toDevice copies to the device, and waits until the bytes are there: the driver's own
	// call returns while the last of them are in its staging memory, where streams that do
	// not block overtake them.
	toDevice(to uintptr, from []byte) error
	fromDevice(to []byte, from uintptr) error
	newStream() (uintptr, error)
	// idle reports whether all work on a stream is done.
	idle(stream uintptr) (bool, error)
	newEvent() (uintptr, error)
	record(event, stream uintptr) error
	// elapsed returns the microseconds between two events that have passed.
	elapsed(from, to uintptr) (float64, error)
}

// driver is a loaded driver library.
type driver struct {
	lib       *dynlib.Library
	functions map[string]dynlib.Symbol
	notReady  int32                   // the result of a query while work goes on
	text      func(code int32) string // of an error
}

func openDriver(functions []string, notReady int32, names ...string) (*driver, error) {
	lib, err := dynlib.Open(names...)
	if err != nil {
		return nil, err
	}
	d := &driver{lib: lib, functions: map[string]dynlib.Symbol{}, notReady: notReady}
	for _, f := range functions {
		if d.functions[f], err = lib.Symbol(f); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// call calls a function and returns a driverError for a result other than 0.
//
//go:uintptrescapes
func (d *driver) call(function string, args ...uintptr) error {
	if code := int32(dynlib.Call(d.functions[function], args...)); code != 0 {
		return &driverError{function, code, d.text(code)}
	}
	return nil
}

type driverError struct {
	call string
	code int32
	text string
}

func (e *driverError) Error() string {
	return fmt.Sprintf("%s: error %d (%s)", e.call, e.code, e.text)
}

// done reports whether a query, which returned err, found its work done.
func (d *driver) done(err error) (bool, error) {
	var failed *driverError
	if errors.As(err, &failed) && failed.code == d.notReady {
		return false, nil
	}
	return err == nil, err
}

func cText(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
