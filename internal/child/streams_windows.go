package child

import "os"

// DivertStdout points os.Stdout at standard error, and returns what it was.
func DivertStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}

// TakeStreams moves a protocol away from os.Stdin and os.Stdout. An error is that of
// opening the null device or of DivertStdout.
func TakeStreams() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	in, os.Stdin = os.Stdin, null
	out, err = DivertStdout()
	return in, out, err
}
