//go:build !linux

package child

import (
	"os"
	"os/exec"
)

func self() (string, error) { return os.Executable() }

func spawn(cmd *exec.Cmd) error {
	ownGroup(cmd)
	return cmd.Start()
}

// awaitEnd reaps the child too: there is no waiting without it here.
func awaitEnd(cmd *exec.Cmd) { _ = cmd.Wait() }
