// Package units reads and prints the three quantities in colltune's files and flags:
// bytes, bandwidth and time. It bounds those that were measured.
//
//	units.ParseBytes("64K")          65536 B   (binary suffixes, as nccl-tests)
//	units.ParseBandwidth("300 GB/s") 300e9 B/s (decimal, as nccl-tests)
//	units.ParseDuration("0.7 us")    0.7 µs
//	units.Product(1024, 4, 8)        32768 B   (at most a PiB)
//
// Invariants: a bandwidth is a whole number of bytes a second, so that bounds can be
// exact fractions; a duration is microseconds in a float64, as in the simulator. A
// number without a unit is refused where the unit could be mistaken.
//
// Bus bandwidth factors are not here: package collective has them.
package units
