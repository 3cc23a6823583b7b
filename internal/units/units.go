package units

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Bytes is a size in bytes.
type Bytes int64

// Bandwidth is a rate in bytes a second. It is an integer so that ratios of
// bandwidths are exact.
type Bandwidth int64

// Duration is a time in microseconds.
type Duration float64

// suffix is a unit's spelling and its factor.
type suffix struct {
	name  string
	scale int64
}

// byteSuffixes are binary, as nccl-tests reads them.
var byteSuffixes = []suffix{
	{"", 1}, {"b", 1},
	{"k", 1 << 10}, {"kb", 1 << 10}, {"kib", 1 << 10},
	{"m", 1 << 20}, {"mb", 1 << 20}, {"mib", 1 << 20},
	{"g", 1 << 30}, {"gb", 1 << 30}, {"gib", 1 << 30},
	{"t", 1 << 40}, {"tb", 1 << 40}, {"tib", 1 << 40},
}

// rateSuffixes are decimal. Case matters: b is a bit and B a byte; a unit of bits
// has an eighth of the factor.
var rateSuffixes = []suffix{
	{"B/s", 1}, {"kB/s", 1e3}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12},
	{"KiB/s", 1 << 10}, {"MiB/s", 1 << 20}, {"GiB/s", 1 << 30},
	{"Mb/s", 1e6 / 8}, {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
}

// timeSuffixes give factors in picoseconds. The letter mu occurs as two
// characters: the micro sign, and the Greek letter, which many keyboards and pages
// produce.
var timeSuffixes = []suffix{
	{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"μs", 1e6}, {"ms", 1e9}, {"s", 1e12},
}

// split cuts "300 GB/s" into its number and its unit.
func split(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexAny(s, "0123456789.")
	return s[:i+1], strings.TrimSpace(s[i+1:])
}

// scaled is number × scale as an exact rational, or nil if number is not a plain
// decimal. It takes up to 32 characters: no file needs more, and the arithmetic
// stays small.
func scaled(number string, scale int64) *big.Rat {
	if len(number) == 0 || len(number) > 32 || strings.Trim(number, "0123456789.") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil
	}
	return r.Mul(r, new(big.Rat).SetInt64(scale))
}

// whole is r as an int64, if it is an integer that fits one.
func whole(r *big.Rat) (int64, bool) {
	if r == nil || !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	return r.Num().Int64(), true
}

// ParseBytes reads a size in bytes such as 8, 64K, 1M, 1.5G or 4KiB: binary suffixes,
// case ignored. It returns an error for anything else, and for a part of a byte.
func ParseBytes(s string) (Bytes, error) {
	if n, err := strconv.ParseUint(s, 10, 63); err == nil && len(s) <= 19 { // most are
		return Bytes(n), nil
	}
	number, unit := split(s)
	for _, u := range byteSuffixes {
		if u.name == strings.ToLower(unit) {
			if n, ok := whole(scaled(number, u.scale)); ok {
				return Bytes(n), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not a size: want a number of bytes such as 8, 64K, 1M or 1G", s)
}

// ParseBandwidth reads a rate such as 300 GB/s, 200 Gb/s (bits) or 23 GiB/s. It returns
// an error if the unit is missing or unknown, or the rate is not a whole number of
// bytes a second above 0.
func ParseBandwidth(s string) (Bandwidth, error) {
	number, unit := split(s)
	for _, u := range rateSuffixes {
		if u.name == unit {
			if n, ok := whole(scaled(number, u.scale)); ok && n > 0 {
				return Bandwidth(n), nil
			}
			return 0, fmt.Errorf("%q is not a bandwidth: want more than 0, in whole bytes a second", s)
		}
	}
	return 0, fmt.Errorf("%q is not a bandwidth: want a number and a unit such as \"300 GB/s\" or \"200 Gb/s\"", s)
}

// ParseDuration reads a time such as 0.7 us, 700 ns or 1 ms. It returns an error if the
// unit is missing or unknown, or the number is not a plain decimal.
func ParseDuration(s string) (Duration, error) {
	number, unit := split(s)
	for _, u := range timeSuffixes {
		if u.name == unit {
			if r := scaled(number, u.scale); r != nil {
				us, _ := r.Quo(r, big.NewRat(1e6, 1)).Float64()
				return Duration(us), nil
			}
		}
	}
	return 0, fmt.Errorf("%q is not a time: want a number and a unit such as \"0.7 us\"", s)
}

// String prints the size as nccl-tests' options accept it: 64K, 1G, 1000.
func (b Bytes) String() string {
	for _, u := range []suffix{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}} {
		if b != 0 && int64(b)%u.scale == 0 {
			return strconv.FormatInt(int64(b)/u.scale, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// GBps is the rate in decimal GB/s.
func (w Bandwidth) GBps() float64 { return float64(w) / 1e9 }

// PerMicro is the rate in bytes a microsecond, the simulator's unit.
func (w Bandwidth) PerMicro() float64 { return float64(w) / 1e6 }

// String prints the rate as topology files write it.
func (w Bandwidth) String() string {
	return strconv.FormatFloat(w.GBps(), 'g', -1, 64) + " GB/s"
}

// String prints the time as topology files write it.
func (d Duration) String() string {
	return strconv.FormatFloat(math.Round(float64(d)*1e6)/1e6, 'g', -1, 64) + " us"
}

// Count prints a number with its noun: "1 rank", "3 ranks".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// Span names rising sizes in bytes by the first and the last: 1K to 4M bytes.
func Span(sizes []int64) string {
	first, last := Bytes(sizes[0]).String(), Bytes(sizes[len(sizes)-1]).String()
	if len(sizes) == 1 {
		return first + " bytes"
	}
	return first + " to " + last + " bytes"
}
