package mpi

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// World is the processes that were launched together: MPI_COMM_WORLD.
type World struct {
	Rank, Size int
	Version    string // the library's
	library    *library
}

// Join initializes MPI and connects to the other processes of the launch. It locks the
// calling goroutine to its thread; only that goroutine may use the world. The error is
// ErrAlone if MPI launched only this process.
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
	// Errors are to be returned, rather than to end the process.
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

// parameters are set for Open MPI before it starts, unless the user has set them.
var parameters = []struct{ name, value string }{
	// Its signal handlers would replace those of the Go runtime.
	{"OMPI_MCA_opal_signal", ""},
	// With more processes than processors it would yield in every MPI_Test. There are
	// many in a round, and each yield waits for everything else that runs. The caller
	// rests between rounds instead.
	{"OMPI_MCA_mpi_yield_when_idle", "0"},
}

// configure sets Open MPI's parameters, in the C library's environment because it
// reads only that.
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

// Leave finalizes MPI; it is the last call. No process may have a message under way. An
// error names the MPI function, with MPI's text.
func (w *World) Leave() error {
	return w.library.failed("MPI_Finalize", dynlib.Call(w.library.finalize))
}

// Abort ends all processes of the launch with an exit code.
func (w *World) Abort(code int) { dynlib.Call(w.library.abort, w.library.world, uintptr(code)) }

// Request is a message under way. Keep it until it is done: it keeps the memory that the
// library reads or writes alive.
type Request struct {
	handle uint64
	bytes  []byte
}

// maxBytes is the longest message, because MPI counts in 32 bits.
const maxBytes = 1<<31 - 1

// Send begins to send b, which must not change until the request is done. 2 GiB or more
// are an error; others are as those of Leave.
func (w *World) Send(b []byte, to, tag int) (*Request, error) {
	return w.begin("MPI_Isend", w.library.isend, b, to, tag)
}

// Receive begins to receive at most len(b) bytes; 2 GiB or more are an error. Messages of
// one tag from one process arrive in the order in which they were sent.
func (w *World) Receive(b []byte, from, tag int) (*Request, error) {
	return w.begin("MPI_Irecv", w.library.irecv, b, from, tag)
}

func (w *World) begin(name string, f dynlib.Symbol, b []byte, peer, tag int) (*Request, error) {
	if len(b) > maxBytes {
		return nil, fmt.Errorf("message of %d bytes: MPI takes at most %d", len(b), maxBytes)
	}
	r := &Request{bytes: b}
	err := w.library.failed(name, dynlib.Call(f, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), w.library.bytes,
		uintptr(peer), uintptr(tag), w.library.world, uintptr(unsafe.Pointer(&r.handle))))
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Done reports whether a message has arrived, or has been sent so that its bytes may change
// again. A request that is done must not be used again. An error is as that of Leave.
func (w *World) Done(r *Request) (bool, error) {
	var flag int32
	err := w.library.failed("MPI_Test", dynlib.Call(w.library.test, uintptr(unsafe.Pointer(&r.handle)), uintptr(unsafe.Pointer(&flag)), w.library.ignoreStatus))
	return flag != 0, err
}

// Cancel cancels a receive for which no message was sent. An error is as that of Leave.
func (w *World) Cancel(r *Request) error {
	if err := w.library.failed("MPI_Cancel", dynlib.Call(w.library.cancel, uintptr(unsafe.Pointer(&r.handle)))); err != nil {
		return err
	}
	return w.library.failed("MPI_Wait", dynlib.Call(w.library.wait, uintptr(unsafe.Pointer(&r.handle)), w.library.ignoreStatus))
}
