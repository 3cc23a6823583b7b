//go:build !linux

package executor

// sweep needs other processes' environments, which only Linux shows.
func sweep(string) int { return 0 }
