//go:build !linux

package child

import "runtime"

// capAddressSpace sets no limit: this system does not say what address space is reserved
// already.
func capAddressSpace(int64) error { return nil }

// own returns the bytes that Go's heap and stacks of this process have of the system.
func own() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// Usage returns the memory of this process in bytes. Only on Linux is that of others
// known; others is 0.
func Usage() (int64, int64) { return own(), 0 }

// usage is 0: another process's memory is not known.
func usage(int) int64 { return 0 }

func treeUsage(int) int64 { return 0 }

// PreferOOMKill does nothing: only Linux lets a process say whom to kill.
func PreferOOMKill(int) {}
