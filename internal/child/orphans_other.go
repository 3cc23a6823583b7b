//go:build !linux

package child

import "os/exec"

// AdoptOrphans does nothing: this system gives all orphans to its first process.
func AdoptOrphans() {}

// EndOrphans does nothing: there are none.
func EndOrphans() int { return 0 }

// endDescendants does nothing: this system does not say who they are.
func endDescendants() {}

func reap(cmd *exec.Cmd) error { return cmd.Wait() }
