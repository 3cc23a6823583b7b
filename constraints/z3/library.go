package z3

import (
	"errors"
	"os"
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Variable is the environment variable that gives the path of libz3, or is "off" to
// do without it.
const Variable = "COLLTUNE_Z3"

// ErrOff is Open's error if the environment variable is "off".
var ErrOff = errors.New("libz3 is switched off by " + Variable)

// sonames are the file names of libz3, most specific first.
var sonames = []string{
	"libz3.so.4.8", "libz3.so.4", "libz3.so",
	"libz3.dylib", "/opt/homebrew/lib/libz3.dylib", "/usr/local/lib/libz3.dylib",
}

// api holds the functions used. Fields have the library's names without the leading
// Z3_, and with a capital, as reflection needs.
type api struct {
	Get_full_version, Global_param_set,
	Mk_config, Del_config,
	Mk_context, Del_context, Set_error_handler, Get_error_code, Get_error_msg,
	Mk_true, Mk_false, Mk_bool_sort, Mk_int_symbol, Mk_const,
	Mk_not, Mk_or, Mk_pbge, Mk_atleast,
	Mk_simple_solver, Solver_inc_ref, Solver_dec_ref,
	Mk_params, Params_inc_ref, Params_dec_ref, Params_set_bool, Params_set_uint, Mk_string_symbol,
	Solver_set_params, Solver_assert, Solver_push, Solver_pop,
	Solver_check_assumptions, Solver_get_reason_unknown, Solver_get_model,
	Solver_get_statistics, Stats_inc_ref, Stats_dec_ref, Stats_size, Stats_get_key, Stats_is_uint, Stats_get_uint_value,
	Model_inc_ref, Model_dec_ref, Model_eval, Get_bool_value,
	Interrupt dynlib.Symbol
}

// lib is valid after Open has succeeded.
var lib api

// Open loads libz3, once for the process. The error is ErrOff, or names the files
// that were tried. NewContext, Version and SetMemory call it.
func Open() error {
	_, err := opened()
	return err
}

// Version returns the library's version, such as "4.8.12.0", or the error of loading it.
func Version() (string, error) { return opened() }

var opened = sync.OnceValues(func() (version string, err error) {
	names := sonames
	switch path := os.Getenv(Variable); path {
	case "":
	case "off":
		return "", ErrOff
	default:
		names = []string{path}
	}
	library, err := dynlib.Open(names...)
	if err != nil {
		return "", err
	}
	fields := reflect.ValueOf(&lib).Elem()
	for i := range fields.NumField() {
		name := []byte(fields.Type().Field(i).Name)
		name[0] += 'a' - 'A'
		symbol, err := library.Symbol("Z3_" + string(name))
		if err != nil {
			return "", err
		}
		fields.Field(i).Set(reflect.ValueOf(symbol))
	}
	return dynlib.GoString(dynlib.Call(lib.Get_full_version), 200), nil
})

// SetMemory limits the memory that libz3 allocates in this process, in MiB. A query
// that needs more ends with an error. The limit applies to contexts made afterwards.
func SetMemory(mib int) error {
	if err := Open(); err != nil {
		return err
	}
	key, value := dynlib.CString("memory_max_size"), dynlib.CString(strconv.Itoa(mib))
	dynlib.Call(lib.Global_param_set, uintptr(unsafe.Pointer(key)), uintptr(unsafe.Pointer(value)))
	return nil
}
