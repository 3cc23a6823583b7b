package data

import "unsafe"

// Reducer combines two runs of elements: dst = a ⊕ b, element by element. All
// three have the same length, a whole number of elements; dst may be a or b.
type Reducer func(dst, a, b []byte)

// Reduction is the reducer of a type and a reduction; avg's is sum's, since its
// division comes last (Divider).
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

// number is an element type that Go has.
type number interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// elements is b as elements of a type.
func elements[T number | uint16](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// triple is a reducer's arguments as elements, cut so that the compiler sees
// them to be of one length.
func triple[T number | uint16](dst, a, b []byte) (x, y, z []T) {
	x = elements[T](dst)
	return x, elements[T](a)[:len(x)], elements[T](b)[:len(x)]
}

// of are the reducers of a type. The least and the most of two bytes are looked
// for in a wider type, for which the processor chooses without a jump.
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

// Divide divides every element by n, as avg does with a sum of n terms.
func Divide(d DType, b []byte, n int) { dividers[d](b, n) }

// dividers work in 64 bits: n may be more than an element can hold.
var dividers = [...]func(b []byte, n int){
	I8: divide[int8, int64], U8: divide[uint8, int64], I32: divide[int32, int64], U32: divide[uint32, int64],
	I64: divide[int64, int64], U64: divide[uint64, uint64], F32: divide[float32, float32], F64: divide[float64, float64],
	F16: func(b []byte, n int) { divideHalf(b, n, FromF16, ToF16) }, BF16: func(b []byte, n int) { divideHalf(b, n, FromBF16, ToBF16) },
}

// divide divides in another type, which holds every element and n.
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
