//go:build !unix

package nccl

import (
	"os"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func killGroup(*os.Process) {}
