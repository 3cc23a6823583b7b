package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// DType is an element type.
type DType uint8

// The element types, in the order of collective.DTypes.
const (
	I8 DType = iota
	U8
	I32
	U32
	I64
	U64
	F16
	F32
	F64
	BF16
)

// traits are the properties of an element type.
type traits struct {
	name      string
	bytes     int
	signed    bool
	precision int // bits of a float's significand, counting the hidden one; 0 for an integer
	exponents int // number of factors, each from 1/2 to 2, whose product is in the normal range
}

var dtypes = [...]traits{
	I8:   {"i8", 1, true, 0, 0},
	U8:   {"u8", 1, false, 0, 0},
	I32:  {"i32", 4, true, 0, 0},
	U32:  {"u32", 4, false, 0, 0},
	I64:  {"i64", 8, true, 0, 0},
	U64:  {"u64", 8, false, 0, 0},
	F16:  {"f16", 2, true, 11, 14},
	F32:  {"f32", 4, true, 24, 126},
	F64:  {"f64", 8, true, 53, 1022},
	BF16: {"bf16", 2, true, 8, 126},
}

// ParseDType returns the type of a name; "" is f32. The error lists the names.
func ParseDType(name string) (DType, error) {
	if name == "" {
		return F32, nil
	}
	for d := range dtypes {
		if dtypes[d].name == name {
			return DType(d), nil
		}
	}
	return 0, fmt.Errorf("unknown dtype %q: want one of %s", name, strings.Join(collective.DTypes(), ", "))
}

// String returns the type's name.
func (d DType) String() string { return dtypes[d].name }

// Bytes returns the size of an element.
func (d DType) Bytes() int { return dtypes[d].bytes }

// Float reports whether it is a floating-point type.
func (d DType) Float() bool { return dtypes[d].precision > 0 }

// Signed reports whether the type has negative values.
func (d DType) Signed() bool { return dtypes[d].signed }

// Op is a reduction.
type Op uint8

// The reductions.
const (
	Sum Op = iota
	Prod
	Min
	Max
	Avg
)

var operations = []string{Sum: "sum", Prod: "prod", Min: "min", Max: "max", Avg: "avg"}

// Operations lists the names of the reductions.
func Operations() []string { return slices.Clone(operations) }

// ParseOp returns the reduction of a name; "" is sum. The error lists the names.
func ParseOp(name string) (Op, error) {
	if name == "" {
		return Sum, nil
	}
	if i := slices.Index(operations, name); i >= 0 {
		return Op(i), nil
	}
	return 0, fmt.Errorf("unknown operation %q: want one of %s", name, strings.Join(operations, ", "))
}

// String returns the reduction's name.
func (o Op) String() string { return operations[o] }
