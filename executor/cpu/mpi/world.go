package mpi

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// World is the processes that were launched together.
type World struct {
	Rank, Size int
	Version    string // the library's
	library    *library
}

// Join finds the other processes of the launch. It locks the calling goroutine
// to its thread, and only from there may the world be used.
func Join() (*World, error) {
	if Launched() == 1 {
		return nil, ErrAlone
	}
	l, err := open(libraries()...)
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	l.configure()
	var provided int32
	if err := l.failed("MPI_Init_thread", dynlib.Call(l.init, 0, 0, funneled, uintptr(unsafe.Pointer(&provided)))); err != nil {
		return nil, err
	}
	if provided < funneled {
		return nil, fmt.Errorf("%s can't be used from a process with threads", l.version())
	}
	// Errors come back instead of ending the process.
	if err := l.failed("MPI_Comm_set_errhandler", dynlib.Call(l.errhandler, l.world, l.errorsReturn)); err != nil {
		return nil, err
	}
	w := &World{library: l, Version: l.version()}
	for _, f := range []struct {
		name string
		f    dynlib.Symbol
		to   *int
	}{{"MPI_Comm_size", l.size, &w.Size}, {"MPI_Comm_rank", l.rank, &w.Rank}} {
		var n int32
		if err := l.failed(f.name, dynlib.Call(f.f, l.world, uintptr(unsafe.Pointer(&n)))); err != nil {
			return nil, err
		}
		*f.to = int(n)
	}
	if w.Size != Launched() {
		return nil, fmt.Errorf("launched as one of %d processes, and %s sees %d: is it another MPI's library? %s names the right one", Launched(), l.file.Name, w.Size, libraryVariable)
	}
	return w, nil
}

// parameters are what Open MPI is told before it begins, where the user has not.
var parameters = []struct{ name, value string }{
	// Its handlers of signals would take those away that the Go runtime needs.
	{"OMPI_MCA_opal_signal", ""},
	// With more processes than processors it would yield in every question after
	// a message, of which there are many a round, and wait a turn of all that is
	// running each time. Who asks rests between the rounds.
	{"OMPI_MCA_mpi_yield_when_idle", "0"},
}

// configure sets Open MPI's parameters. It listens to the C library's
// environment only.
func (l *library) configure() {
	set, err := l.file.Symbol("setenv")
	if err != nil {
		return
	}
	for _, p := range parameters {
		if _, given := os.LookupEnv(p.name); !given {
			dynlib.Call(set, uintptr(unsafe.Pointer(dynlib.CString(p.name))), uintptr(unsafe.Pointer(dynlib.CString(p.value))), 1)
		}
	}
}

// Leave is the last call: no process may have anything under way.
func (w *World) Leave() error {
	return w.library.failed("MPI_Finalize", dynlib.Call(w.library.finalize))
}

// Abort ends all processes of the launch.
func (w *World) Abort(code int) { dynlib.Call(w.library.abort, w.library.world, uintptr(code)) }

// Request is a message under way. It is to be kept until it is done: with it the
// collector would take what the library still reads or writes.
type Request struct {
	handle uint64
	bytes  []byte
}

// mostBytes is the longest message: MPI counts in 32 bits.
const mostBytes = 1<<31 - 1

// Send begins to send b, which must stay as it is until the request is done.
func (w *World) Send(b []byte, to, tag int) (*Request, error) {
	return w.begin("MPI_Isend", w.library.isend, b, to, tag)
}

// Receive begins to receive at most len(b) bytes, in the order in which the
// other process sent them under the tag.
func (w *World) Receive(b []byte, from, tag int) (*Request, error) {
	return w.begin("MPI_Irecv", w.library.irecv, b, from, tag)
}

func (w *World) begin(name string, f dynlib.Symbol, b []byte, peer, tag int) (*Request, error) {
	if len(b) > mostBytes {
		return nil, fmt.Errorf("message of %d bytes: MPI takes at most %d", len(b), mostBytes)
	}
	r := &Request{bytes: b}
	err := w.library.failed(name, dynlib.Call(f, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), w.library.bytes,
		uintptr(peer), uintptr(tag), w.library.world, uintptr(unsafe.Pointer(&r.handle))))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Done tells whether a message has come, or whether what was sent may be
// changed again. Once it has said so, the request is not to be asked again.
func (w *World) Done(r *Request) (bool, error) {
	var flag int32
	err := w.library.failed("MPI_Test", dynlib.Call(w.library.test, uintptr(unsafe.Pointer(&r.handle)), uintptr(unsafe.Pointer(&flag)), w.library.ignoreStatus))
	return flag != 0, err
}

// Cancel takes back a receive that nothing was sent for.
func (w *World) Cancel(r *Request) error {
	if err := w.library.failed("MPI_Cancel", dynlib.Call(w.library.cancel, uintptr(unsafe.Pointer(&r.handle)))); err != nil {
		return err
	}
	return w.library.failed("MPI_Wait", dynlib.Call(w.library.wait, uintptr(unsafe.Pointer(&r.handle)), w.library.ignoreStatus))
}
