package collective

import (
	"fmt"
	"slices"
	"strings"
)

// dtypes is the table of element types, in the order of NCCL's numbers, with their bytes and
// what others call them.
var dtypes = []struct {
	name  string
	bytes int64
	names names
}{
	{"i8", 1, names{NCCLTests: {"int8", "char"}, NumPy: {"int8"}, MPI: {"mpi_char", "mpi_byte"}}},
	{"u8", 1, names{NCCLTests: {"uint8"}, NumPy: {"uint8"}, PyTorch: {"byte", "bool"}}},
	{"i32", 4, names{NCCLTests: {"int32", "int"}, NumPy: {"int32"}, MPI: {"mpi_int"}}},
	{"u32", 4, names{NCCLTests: {"uint32"}, NumPy: {"uint32"}}},
	{"i64", 8, names{NCCLTests: {"int64"}, NumPy: {"int64"}, PyTorch: {"long"}}},
	{"u64", 8, names{NCCLTests: {"uint64"}, NumPy: {"uint64"}}},
	{"f16", 2, names{NCCLTests: {"half"}, NumPy: {"float16", "fp16"}}},
	{"f32", 4, names{NCCLTests: {"float"}, NumPy: {"float32", "fp32"}, MPI: {"mpi_float"}}},
	{"f64", 8, names{NCCLTests: {"double"}, NumPy: {"float64", "fp64"}, MPI: {"mpi_double"}}},
	{"bf16", 2, names{NCCLTests: {"bfloat16"}, NumPy: {"bfloat16"}}},
	// From here on they are of measured times alone: no program computes with them.
	{"f8e4m3", 1, names{NCCLTests: {"f8e4m3", "fp8_e4m3"}, PyTorch: {"float8_e4m3fn"}}},
	{"f8e5m2", 1, names{NCCLTests: {"f8e5m2", "fp8_e5m2"}, PyTorch: {"float8_e5m2"}}},
}

// computed are how many of the types programs compute with.
const computed = 10

// DTypes lists the element types that programs compute with, in the order of NCCL's numbers.
func DTypes() []string { return MeasuredDTypes()[:computed] }

// MeasuredDTypes lists the element types of measured times, in the order of NCCL's numbers:
// DTypes, and others.
func MeasuredDTypes() (names []string) {
	for _, d := range dtypes {
		names = append(names, d.name)
	}
	return names
}

// ElemBytes returns the size in bytes of one element of a type, or an error for
// an unknown type.
func ElemBytes(dtype string) (int64, error) {
	if !slices.Contains(DTypes(), dtype) {
		return 0, fmt.Errorf("unknown dtype %q: want one of %s", dtype, strings.Join(DTypes(), ", "))
	}
	return MeasuredBytes(dtype), nil
}

// MeasuredBytes is ElemBytes of MeasuredDTypes; 0 for others.
func MeasuredBytes(dtype string) int64 {
	for _, d := range dtypes {
		if d.name == dtype {
			return d.bytes
		}
	}
	return 0
}
