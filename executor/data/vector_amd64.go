//go:build !race

package data

// Sums and products in 16-byte vector instructions. n is in bytes, a multiple of
// 64. They are left out of builds with the race detector, which can't see what
// assembly reads and writes.

//go:noescape
func addF32(dst, a, b *byte, n int)

//go:noescape
func addF64(dst, a, b *byte, n int)

//go:noescape
func add8(dst, a, b *byte, n int)

//go:noescape
func add32(dst, a, b *byte, n int)

//go:noescape
func add64(dst, a, b *byte, n int)

//go:noescape
func multiplyF32(dst, a, b *byte, n int)

//go:noescape
func multiplyF64(dst, a, b *byte, n int)

func init() {
	for _, v := range []struct {
		d      DType
		op     Op
		vector func(dst, a, b *byte, n int)
	}{
		{I8, Sum, add8}, {U8, Sum, add8}, {I32, Sum, add32}, {U32, Sum, add32}, {I64, Sum, add64}, {U64, Sum, add64},
		{F32, Sum, addF32}, {F64, Sum, addF64}, {F32, Prod, multiplyF32}, {F64, Prod, multiplyF64},
	} {
		rest := reducers[v.d][v.op]
		reducers[v.d][v.op] = func(dst, a, b []byte) {
			n := len(dst) &^ 63
			if n > 0 {
				a, b := a[:len(dst)], b[:len(dst)]
				v.vector(&dst[0], &a[0], &b[0], n)
			}
			rest(dst[n:], a[n:], b[n:])
		}
	}
}
