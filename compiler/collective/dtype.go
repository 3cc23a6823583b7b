package collective

import (
	"fmt"
	"strings"
)

// dtypes is the table of element types, in nccl-tests' order, with their bytes.
var dtypes = []struct {
	name  string
	bytes int64
}{
	{"i8", 1}, {"u8", 1}, {"i32", 4}, {"u32", 4}, {"i64", 8}, {"u64", 8},
	{"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2},
}

// DTypes lists the element types, in nccl-tests' order.
func DTypes() []string {
	names := make([]string, len(dtypes))
	for i, d := range dtypes {
		names[i] = d.name
	}
	return names
}

// ElemBytes returns the size in bytes of one element of a type, or an error for
// an unknown type.
func ElemBytes(dtype string) (int64, error) {
	for _, d := range dtypes {
		if d.name == dtype {
			return d.bytes, nil
		}
	}
	return 0, fmt.Errorf("unknown dtype %q: want one of %s", dtype, strings.Join(DTypes(), ", "))
}
