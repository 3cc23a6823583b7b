//go:build !linux && !darwin && !freebsd

package memory

// Machine is 0: this system's memory is not asked for.
func Machine() int64 { return 0 }
