//go:build !linux && !darwin && !freebsd

package memory

// Machine returns 0: on this system the memory is not known.
func Machine() int64 { return 0 }
