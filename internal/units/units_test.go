package units

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "8": 8, "8B": 8, "64K": 64 << 10, "64k": 64 << 10, "4KiB": 4 << 10, "1M": 1 << 20,
		"1.5G": 3 << 29, "0.5K": 512, " 2 MB ": 2 << 20, "1T": 1 << 40, "9223372036854775807": math.MaxInt64,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range []string{"0 ranks", "1 rank", "2 ranks"} {
		if got := Count(n, "rank"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestParseBandwidth(t *testing.T) {
	for text, want := range map[string]Bandwidth{
		"300 GB/s": 300e9, "300GB/s": 300e9, "200 Gb/s": 25e9, "23 GiB/s": 23 << 30, "0.5 kB/s": 500,
		"1 B/s": 1, "4.8 TB/s": 48e11, "8 Mb/s": 1e6,
	} {
		if got, err := ParseBandwidth(text); err != nil || got != want {
			t.Errorf("%q is %d (%v), want %d", text, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]Duration{
		"0.7 us": 0.7, "0.7µs": 0.7, "0.7 \u03bcs": 0.7, "700 ns": 0.7, "1 ms": 1000, "2 s": 2e6, "500000 ps": 0.5, "0 us": 0,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
}

// What could be mistaken is refused: no unit, a unit of another quantity, a
// number no one writes by hand, a part of a byte.
func TestRefused(t *testing.T) {
	readers := map[string]func(string) error{
		"size":      func(s string) error { _, err := ParseBytes(s); return err },
		"bandwidth": func(s string) error { _, err := ParseBandwidth(s); return err },
		"time":      func(s string) error { _, err := ParseDuration(s); return err },
	}
	for kind, texts := range map[string][]string{
		"size": {
			"", "K", "-1", "+1", "1e3", "0x10", "1_000", "1/2", ".", "1..5", "0.3", "1 us", "1K1", "1 K B",
			"9223372036854775808", "99999999T", "000000000000000000000000000000001", "NaN", "Inf", "１",
		},
		"bandwidth": {"", "300", "0 GB/s", "-1 GB/s", "300 gb/s", "300 GB", "0.1 B/s", "1 b/s", "99999999 TB/s", "1e3 GB/s", "GB/s"},
		"time":      {"", "7", "-1 us", "1 US", "1 m", "1e3 us", "us", "Inf us", "1 h"},
	} {
		for _, text := range texts {
			if readers[kind](text) == nil {
				t.Errorf("%q was read as a %s", text, kind)
			}
		}
	}
}

// A size or rate that is printed is read back as itself.
func TestPrintedIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := Bytes(rapid.Int64Min(0).Draw(t, "size") >> rapid.IntRange(0, 62).Draw(t, "shift"))
		if got, err := ParseBytes(size.String()); err != nil || got != size {
			t.Fatalf("%d prints as %v, which is %d (%v)", int64(size), size, got, err)
		}
		// 15 digits are what a float64, in which a rate is printed, always keeps.
		rate := Bandwidth(rapid.Int64Range(1, 1e15-1).Draw(t, "rate"))
		if rate.GBps() < 1e-3 || rate.GBps() >= 1e21 {
			t.Skip("printed with an exponent")
		}
		if got, err := ParseBandwidth(rate.String()); err != nil || got != rate {
			t.Fatalf("%d prints as %v, which is %d (%v)", int64(rate), rate, got, err)
		}
	})
}

// FuzzParse holds the readers to arithmetic that is not theirs: what is read of
// a number and a unit is their product.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"64K", "1.5G", "300 GB/s", "200 Gb/s", "0.7 us", "", "1e9", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if size, err := ParseBytes(text); err == nil && size < 0 {
			t.Errorf("%q is %d bytes", text, int64(size))
		}
		if rate, err := ParseBandwidth(text); err == nil && rate <= 0 {
			t.Errorf("%q is %d bytes a second", text, int64(rate))
		}
		if d, err := ParseDuration(text); err == nil && !(d >= 0 && !math.IsInf(float64(d), 0)) {
			t.Errorf("%q is %v us", text, float64(d))
		}
		number, _ := split(text)
		rate, err := ParseBandwidth(number + " GB/s")
		if err != nil {
			return
		}
		// The same number without its point, over 10 to the digits behind it.
		before, after, _ := strings.Cut(number, ".")
		digits, ok := new(big.Int).SetString(before+after, 10)
		ten := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
		left := new(big.Int).Mul(big.NewInt(int64(rate)), ten(len(after)))
		if !ok || left.Cmp(digits.Mul(digits, ten(9))) != 0 {
			t.Errorf("%q GB/s is %d bytes a second", number, int64(rate))
		}
	})
}
