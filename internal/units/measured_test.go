package units

import (
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckTimeUS(t *testing.T) {
	for us, ok := range map[float64]bool{
		1e-6: true, 12.5: true, 1e12: true,
		0: false, -1: false, 5e-324: false, 9e-7: false, 1.1e12: false, 1e308: false,
		math.Inf(1): false, math.Inf(-1): false, math.NaN(): false,
	} {
		if err := CheckTimeUS(us); (err == nil) != ok {
			t.Errorf("%g us: %v", us, err)
		}
	}
}

// A product is that of whole numbers of any size, or refused.
func TestProduct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factors := rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 1<<20))).Draw(t, "factors")
		want, refused := big.NewInt(1), false
		for _, f := range factors {
			want.Mul(want, big.NewInt(f))
			refused = refused || f < 0 || want.Cmp(big.NewInt(MostBytes)) > 0
		}
		got, err := Product(factors...)
		if refused != (err != nil) || err == nil && big.NewInt(got).Cmp(want) != 0 {
			t.Fatalf("%v: %d, %v: want %v", factors, got, err, want)
		}
	})
	const want = "2305843009213693953 × 8: want factors from 0, and a product of at most 1125899906842624, a PiB"
	if _, err := Product(2305843009213693953, 8); err == nil || err.Error() != want {
		t.Errorf("%v: want %s", err, want)
	}
}

func TestCheckBytes(t *testing.T) {
	for n, ok := range map[int64]bool{1: true, 1 << 50: true, 0: false, -8: false, 1<<50 + 1: false, math.MaxInt64: false} {
		if err := CheckBytes(n); (err == nil) != ok {
			t.Errorf("%d: %v", n, err)
		}
	}
}

func TestParseDecimal(t *testing.T) {
	for _, s := range []string{"", " 1", "+5", "0x1p3", "1_000", "1,5", "NaN", "inf", "-Infinity", "1e", "1e400", "e", "1 000", "٣"} {
		if x, err := ParseDecimal(s); err == nil {
			t.Errorf("%q is %g", s, x)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64().Draw(t, "x")
		format := rapid.SampledFrom([]byte("efg")).Draw(t, "format")
		if got, err := ParseDecimal(strconv.FormatFloat(x, format, -1, 64)); err != nil || got != x {
			t.Fatalf("%g is read as %g: %v", x, got, err)
		}
	})
}
