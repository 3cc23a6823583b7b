package units

import "fmt"

// The range of measured times in microseconds: a picosecond to eleven days. No message
// takes less and no trial more, and sums and ratios of such times are finite.
const (
	LeastTimeUS = 1e-6
	MostTimeUS  = 1e12
)

// CheckTimeUS returns an error if us, in microseconds, is not between LeastTimeUS and
// MostTimeUS.
func CheckTimeUS(us float64) error {
	if us >= LeastTimeUS && us <= MostTimeUS {
		return nil
	}
	return fmt.Errorf("time of %g us: want %g to %g", us, LeastTimeUS, MostTimeUS)
}
