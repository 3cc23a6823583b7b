//go:build !linux

package executor

func preferOOMKill(int) {}
