//go:build !linux

package child

import "os/exec"

// AdoptOrphans does nothing: this system gives all orphans to its first process.
func AdoptOrphans() {}

// Reap reaps a process that Spawn started, once AwaitEnd has returned. It returns the
// error of exec.Cmd.Wait.
func Reap(cmd *exec.Cmd) error { return cmd.Wait() }

// EndOrphans does nothing: there are none.
func EndOrphans() int { return 0 }

// EndDescendants does nothing: this system does not say who they are.
func EndDescendants() {}
