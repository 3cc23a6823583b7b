package data

import "unsafe"

// Reducer combines two runs of elements: dst = a ⊕ b, element by element. All
// three have the same length, a whole number of elements. dst may be a or b.
type Reducer func(dst, a, b []byte)

// Reduction returns the reducer of an element type and a reduction. For avg it is
// that of sum: Divide follows once, at the very end.
func Reduction(d DType, op Op) Reducer {
	if op == Avg {
		op = Sum
	}
	return reducers[d][op]
}

var reducers = [...][4]Reducer{
	I8: of[int8, int32](), U8: of[uint8, uint32](), I32: of[int32, int32](), U32: of[uint32, uint32](), I64: of[int64, int64](), U64: of[uint64, uint64](),
	F16: reducersF16, F32: of[float32, float32](), F64: of[float64, float64](), BF16: reducersBF16,
}

// number is an element type that Go supports natively.
type number interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// elements views b as a slice of elements.
func elements[T number | uint16](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// triple views a reducer's arguments as elements. Slicing all to the same length
// lets the compiler drop the bounds checks in the loops.
func triple[T number | uint16](dst, a, b []byte) (x, y, z []T) {
	x = elements[T](dst)
	return x, elements[T](a)[:len(x)], elements[T](b)[:len(x)]
}

// of makes the reducers of a type. Min and max compare in the type Wide: for
// elements of a byte, a wider type lets the processor select without a branch.
func of[T, Wide number]() [4]Reducer {
	return [4]Reducer{
		Sum: func(dst, a, b []byte) {
			d, x, y := triple[T](dst, a, b)
			for i := range d {
				d[i] = x[i] + y[i]
			}
		},
		Prod: func(dst, a, b []byte) {
			d, x, y := triple[T](dst, a, b)
			for i := range d {
				d[i] = x[i] * y[i]
			}
		},
		Min: func(dst, a, b []byte) {
			d, x, y := triple[T](dst, a, b)
			for i := range d {
				d[i] = T(min(Wide(x[i]), Wide(y[i])))
			}
		},
		Max: func(dst, a, b []byte) {
			d, x, y := triple[T](dst, a, b)
			for i := range d {
				d[i] = T(max(Wide(x[i]), Wide(y[i])))
			}
		},
	}
}

// Divide divides every element by n, which turns a sum of n terms into their avg.
func Divide(d DType, b []byte, n int) { dividers[d](b, n) }

// dividers compute in 64-bit types, because n may not fit an element.
var dividers = [...]func(b []byte, n int){
	I8: divide[int8, int64], U8: divide[uint8, int64], I32: divide[int32, int64], U32: divide[uint32, int64],
	I64: divide[int64, int64], U64: divide[uint64, uint64], F32: divide[float32, float32], F64: divide[float64, float64],
	F16: func(b []byte, n int) { divideHalf(b, n, FromF16, ToF16) }, BF16: func(b []byte, n int) { divideHalf(b, n, FromBF16, ToBF16) },
}

// divide converts to the type In, which can represent every element and n, and
// divides there.
func divide[T, In number](b []byte, n int) {
	v := elements[T](b)
	for i := range v {
		v[i] = T(In(v[i]) / In(n))
	}
}

func divideHalf(b []byte, n int, from func(uint16) float32, to func(float32) uint16) {
	v := elements[uint16](b)
	for i := range v {
		v[i] = to(from(v[i]) / float32(n))
	}
}
