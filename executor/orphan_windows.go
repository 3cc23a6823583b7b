package executor

import (
	"os"

	"github.com/colltune/colltune/internal/child"
)

// divertStdout points os.Stdout at standard error, and returns what it was.
func divertStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}

// takeStreams moves the protocol away from os.Stdin and os.Stdout.
func takeStreams() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	in, os.Stdin = os.Stdin, null
	out, err = divertStdout()
	return in, out, err
}

// dieWithHost ends this process when the host is gone.
func dieWithHost() {
	go func() {
		child.AwaitEnd(os.Getppid())
		dying.Store(true)
		removeSockets()
		os.Exit(1)
	}()
}
