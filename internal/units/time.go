package units

import "fmt"

// The microseconds that a measured time may have: from a picosecond to eleven days.
// No message takes less and no trial takes longer, and what is computed from such
// times is finite.
const (
	LeastTimeUS = 1e-6
	MostTimeUS  = 1e12
)

// CheckTimeUS is an error about a time in microseconds that no measurement can have.
func CheckTimeUS(us float64) error {
	if us >= LeastTimeUS && us <= MostTimeUS {
		return nil
	}
	return fmt.Errorf("time of %g us: want %g to %g", us, LeastTimeUS, MostTimeUS)
}
