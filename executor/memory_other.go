//go:build !linux

package executor

// Only on Linux is another process's memory known. Elsewhere there is no cap.

func machineMemory() int64 { return 0 }

func preferred(int) {}

func usedBy(int) int64 { return 0 }

func usedByTree(int) int64 { return 0 }
