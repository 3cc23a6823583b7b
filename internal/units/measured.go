package units

import (
	"fmt"
	"strconv"
	"strings"
)

// The range of measured times in microseconds: a picosecond to eleven days. No message
// takes less and no trial more, and sums and ratios of such times are finite.
const (
	LeastTimeUS = 1e-6
	MostTimeUS  = 1e12
)

// MostBytes is the largest size of a call, a PiB.
const MostBytes = 1 << 50

// CheckTimeUS returns an error if us, in microseconds, is not between LeastTimeUS and
// MostTimeUS.
func CheckTimeUS(us float64) error {
	if us >= LeastTimeUS && us <= MostTimeUS {
		return nil
	}
	return fmt.Errorf("time of %g us: want %g to %g", us, LeastTimeUS, MostTimeUS)
}

// CheckBytes returns an error if a call's size is not between a byte and MostBytes.
func CheckBytes(n int64) error {
	if n >= 1 && n <= MostBytes {
		return nil
	}
	return fmt.Errorf("%d: want 1 to %d, a PiB", n, int64(MostBytes))
}

// Product multiplies what makes a size: elements, their width, ranks. It returns an error
// where a factor is below 0, or the product of the factors so far above MostBytes.
func Product(factors ...int64) (int64, error) {
	product := int64(1)
	for _, f := range factors {
		if f < 0 || product > 0 && f > MostBytes/product {
			var text []string
			for _, f := range factors {
				if f != 1 {
					text = append(text, strconv.FormatInt(f, 10))
				}
			}
			return 0, fmt.Errorf("%s: want factors from 0, and a product of at most %d, a PiB", strings.Join(text, " × "), int64(MostBytes))
		}
		product *= f
	}
	return product, nil
}

// ParseDecimal reads a number as programs print it, in decimal digits, such as 12.5, -3 or
// 1.2e+07. Unlike strconv it takes no 0x1p3, 1_000, +5, NaN or Inf.
func ParseDecimal(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || s[0] == '+' || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, fmt.Errorf("%.40q: want a number in decimal digits such as 12.5 or 1.2e+07", s)
	}
	return x, nil
}
