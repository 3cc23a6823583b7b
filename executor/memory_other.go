//go:build !linux

package executor

func preferred(int) {}
