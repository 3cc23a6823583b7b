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
	I8: of[int8](), U8: of[uint8](), I32: of[int32](), U32: of[uint32](), I64: of[int64](), U64: of[uint64](),
	F16: ofHalf(widenF16, narrowF16), F32: of[float32](), F64: of[float64](), BF16: ofHalf(widenBF16, narrowBF16),
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

func of[T number]() [4]Reducer {
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
				d[i] = min(x[i], y[i])
			}
		},
		Max: func(dst, a, b []byte) {
			d, x, y := triple[T](dst, a, b)
			for i := range d {
				d[i] = max(x[i], y[i])
			}
		},
	}
}

// halfBlock is how many 16-bit floats are reduced at a time.
const halfBlock = 256

// ofHalf are the reducers of a 16-bit float: in f32, rounded back.
func ofHalf(widen func(to []float32, from []uint16), narrow func(to []uint16, from []float32)) (all [4]Reducer) {
	for op, reduce := range of[float32]() {
		all[op] = func(dst, a, b []byte) {
			d, x, y := triple[uint16](dst, a, b)
			var left, right [halfBlock]float32
			for len(d) > 0 {
				n := min(halfBlock, len(d))
				widen(left[:n], x)
				widen(right[:n], y)
				l, r := bytesOf(left[:n]), bytesOf(right[:n])
				reduce(l, l, r)
				narrow(d[:n], left[:n])
				d, x, y = d[n:], x[n:], y[n:]
			}
		}
	}
	return all
}

func widenF16(to []float32, from []uint16) {
	for i, b := range from[:len(to)] {
		to[i] = FromF16(b)
	}
}

func widenBF16(to []float32, from []uint16) {
	for i, b := range from[:len(to)] {
		to[i] = FromBF16(b)
	}
}

func narrowF16(to []uint16, from []float32) {
	for i, x := range from[:len(to)] {
		to[i] = ToF16(x)
	}
}

func narrowBF16(to []uint16, from []float32) {
	for i, x := range from[:len(to)] {
		to[i] = ToBF16(x)
	}
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// Divide divides every element by n, as avg does with a sum of n terms.
func Divide(d DType, b []byte, n int) {
	switch d {
	case I8:
		divide[int8](b, n)
	case U8:
		divide[uint8](b, n)
	case I32:
		divide[int32](b, n)
	case U32:
		divide[uint32](b, n)
	case I64:
		divide[int64](b, n)
	case U64:
		divide[uint64](b, n)
	case F32:
		divide[float32](b, n)
	case F64:
		divide[float64](b, n)
	case F16:
		divideHalf(b, n, FromF16, ToF16)
	case BF16:
		divideHalf(b, n, FromBF16, ToBF16)
	}
}

// divide works in 64 bits: n may be more than an element can hold.
func divide[T number](b []byte, n int) {
	v := elements[T](b)
	var zero T
	switch any(zero).(type) {
	case float32, float64:
		for i := range v {
			v[i] /= T(n)
		}
	case uint64:
		for i := range v {
			v[i] = T(uint64(v[i]) / uint64(n))
		}
	default:
		for i := range v {
			v[i] = T(int64(v[i]) / int64(n))
		}
	}
}

func divideHalf(b []byte, n int, from func(uint16) float32, to func(float32) uint16) {
	v := elements[uint16](b)
	for i := range v {
		v[i] = to(from(v[i]) / float32(n))
	}
}
