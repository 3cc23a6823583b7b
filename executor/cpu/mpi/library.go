package mpi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// libraryVariable is the environment variable with the library's path.
const libraryVariable = "COLLTUNE_EXECUTOR_MPI"

// launchers lists the variables in which launchers tell a process its launch's size and its
// rank, with the libraries of each.
var launchers = []struct {
	size, rank string
	libraries  []string
}{
	{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", openMPI},
	{"PMI_SIZE", "PMI_RANK", append(append([]string{}, mpich...), openMPI...)},
	{"SLURM_NTASKS", "PMIX_RANK", append(append([]string{}, openMPI...), mpich...)},
}

var (
	openMPI = []string{"libmpi.so.40", "libmpi.so.80"}
	mpich   = []string{"libmpich.so.12", "libmpi.so.12", "libmpich.so"}
)

// Launched returns the number of processes that MPI launched together with this one, itself
// included; 1 if it launched none.
func Launched() int {
	for _, l := range launchers {
		if n, err := strconv.Atoi(os.Getenv(l.size)); err == nil && n > 0 && os.Getenv(l.rank) != "" {
			return n
		}
	}
	return 1
}

// libraries returns the file names to try, best first.
func libraries() []string {
	if name := os.Getenv(libraryVariable); name != "" {
		return []string{name}
	}
	for _, l := range launchers {
		if os.Getenv(l.size) != "" && os.Getenv(l.rank) != "" {
			return l.libraries
		}
	}
	return append(append([]string{}, openMPI...), mpich...)
}

// Find opens the library that processes launched from here would use, and returns its file
// and version. It does not join a launch. The error wraps dynlib's.
func Find() (name, version string, err error) {
	lib, err := open(libraries()...)
	if err != nil {
		return "", "", err
	}
	return lib.file.Name, lib.version(), nil
}

// library is an MPI library with the handles of its kind.
type library struct {
	file                                                  *dynlib.Library
	init, finalize, abort, size, rank                     dynlib.Symbol
	isend, irecv, test, cancel, wait, errhandler, textOf  dynlib.Symbol
	versionOf                                             dynlib.Symbol
	world, bytes, errorsReturn, nullRequest, ignoreStatus uintptr
	requestBytes                                          int
}

// funneled is MPI_THREAD_FUNNELED: all calls come from the thread that joined.
const funneled = 1

func open(names ...string) (*library, error) {
	file, err := dynlib.Open(names...)
	if err != nil {
		return nil, err
	}
	l := &library{file: file}
	for _, f := range []struct {
		at   *dynlib.Symbol
		name string
	}{
		{&l.init, "MPI_Init_thread"}, {&l.finalize, "MPI_Finalize"}, {&l.abort, "MPI_Abort"},
		{&l.size, "MPI_Comm_size"}, {&l.rank, "MPI_Comm_rank"},
		{&l.isend, "MPI_Isend"}, {&l.irecv, "MPI_Irecv"}, {&l.test, "MPI_Test"},
		{&l.cancel, "MPI_Cancel"}, {&l.wait, "MPI_Wait"},
		{&l.errhandler, "MPI_Comm_set_errhandler"}, {&l.textOf, "MPI_Error_string"},
		{&l.versionOf, "MPI_Get_library_version"},
	} {
		if *f.at, err = file.Symbol(f.name); err != nil {
			return nil, err
		}
	}
	handles := [...]struct {
		at     *uintptr
		open   string
		number uintptr
	}{
		{&l.world, "ompi_mpi_comm_world", 0x44000000},
		{&l.bytes, "ompi_mpi_byte", 0x4c00010d},
		{&l.errorsReturn, "ompi_mpi_errors_return", 0x54000001},
		{&l.nullRequest, "ompi_request_null", 0x2c000000},
	}
	_, err = file.Symbol(handles[0].open)
	isOpen := err == nil
	for _, h := range handles {
		*h.at = h.number
		if isOpen {
			s, err := file.Symbol(h.open)
			if err != nil {
				return nil, err
			}
			*h.at = uintptr(s)
		}
	}
	l.requestBytes, l.ignoreStatus = 4, 1
	if isOpen {
		l.requestBytes, l.ignoreStatus = 8, 0
	}
	return l, nil
}

func (l *library) version() string {
	text := make([]byte, 8192)
	var n int32
	if int32(dynlib.Call(l.versionOf, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))) != 0 || n < 0 || int(n) > len(text) {
		return "of an unknown version"
	}
	return firstLine(text[:n])
}

// firstLine returns a version's first line: MPICH adds how it was built.
func firstLine(b []byte) string {
	for i, c := range b {
		if c == '\n' || c == ',' || c == 0 {
			b = b[:i]
			break
		}
	}
	out := make([]byte, 0, len(b))
	for _, c := range b {
		if c == '\t' {
			c = ' '
		}
		if c != ' ' || len(out) > 0 && out[len(out)-1] != ' ' {
			out = append(out, c)
		}
	}
	return string(out)
}

// failed returns the error of a call's result; nil for success.
func (l *library) failed(call string, result uintptr) error {
	code := int32(result)
	if code == 0 {
		return nil
	}
	text := make([]byte, 512)
	var n int32
	if int32(dynlib.Call(l.textOf, uintptr(code), uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(&n)))) != 0 || n <= 0 || int(n) > len(text) {
		return fmt.Errorf("%s: MPI error %d", call, code)
	}
	return fmt.Errorf("%s: %s", call, text[:n])
}

// ErrAlone is Join's error if there is only this process.
var ErrAlone = errors.New("not launched by MPI as several processes")
