package libraries

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/suggest"
)

// dtypes are the element types, each with its size in bytes and the names that nccl-tests,
// MPI and PyTorch have for it.
var dtypes = []struct {
	name  string
	bytes int64
	also  []string
}{
	{"i8", 1, []string{"int8", "char", "mpi_char", "mpi_byte"}},
	{"u8", 1, []string{"uint8"}},
	{"f8e4m3", 1, []string{"fp8_e4m3"}},
	{"f8e5m2", 1, []string{"fp8_e5m2"}},
	{"f16", 2, []string{"half", "float16", "fp16"}},
	{"bf16", 2, []string{"bfloat16"}},
	{"i32", 4, []string{"int32", "int", "mpi_int"}},
	{"u32", 4, []string{"uint32"}},
	{"f32", 4, []string{"float", "float32", "fp32", "mpi_float"}},
	{"i64", 8, []string{"int64"}},
	{"u64", 8, []string{"uint64"}},
	{"f64", 8, []string{"double", "float64", "fp64", "mpi_double"}},
}

// dtypeName returns colltune's name of an element type.
func dtypeName(v string) (string, error) {
	var names []string
	v = strings.ToLower(v)
	for _, d := range dtypes {
		if d.name == v || slices.Contains(d.also, v) {
			return d.name, nil
		}
		names = append(names, d.name)
	}
	return "", fmt.Errorf("unknown dtype %.40q: want one of %s%s", v, strings.Join(names, ", "), suggest.DidYouMean(v, names))
}

// DTypeBytes is the size of an element; 0: the type is not stated.
func DTypeBytes(name string) int64 {
	for _, d := range dtypes {
		if d.name == name {
			return d.bytes
		}
	}
	return 0
}

// reducing are the collectives whose time depends on the elements: the others move bytes.
var reducing = func() (names []string) {
	for _, name := range collective.Names() {
		if c, err := collective.OfName(collective.Spec{Name: name, Ranks: 2, Chunks: 2}); err == nil && c.Reduces() {
			names = append(names, name)
		}
	}
	return names
}()

// widthOf is the size of a row's elements where they are reduced, so that 16-bit floats of
// both kinds meet; 0 elsewhere, and where the type is not stated.
func widthOf(r *Row) int64 {
	if !slices.Contains(reducing, r.Collective) {
		return 0
	}
	return DTypeBytes(r.Conditions[DType])
}
