package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/executor/cpu/mpi/mpitest"
)

// TestMain is also what the processes run that the tests launch.
func TestMain(m *testing.M) {
	if os.Getenv("COLLTUNE_EXECUTOR_TEST") != "" {
		if err := around(os.Getenv("COLLTUNE_EXECUTOR_TEST")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// around passes messages round the processes: each sends its rank to the next,
// in one byte and in a message too long to be sent unasked.
func around(what string) error {
	w, err := Join()
	if err != nil {
		return err
	}
	next, before := (w.Rank+1)%w.Size, (w.Rank+w.Size-1)%w.Size
	for tag, n := range []int{1, 3 << 20, 0} {
		out, in := make([]byte, n), make([]byte, n)
		for i := range out {
			out[i] = byte(w.Rank + i)
		}
		r, err := w.Receive(in, before, 100+tag)
		if err != nil {
			return err
		}
		s, err := w.Send(out, next, 100+tag)
		if err != nil {
			return err
		}
		// What was sent is held by its request alone, and lost memory is used again.
		out = nil
		runtime.GC()
		var others [][]byte
		for range 8 {
			others = append(others, bytes.Repeat([]byte{0x50}, max(n, 1)))
		}
		for _, q := range []*Request{r, s} {
			for {
				done, err := w.Done(q)
				if err != nil {
					return err
				}
				if done {
					break
				}
				runtime.Gosched()
			}
		}
		for i, b := range in {
			if b != byte(before+i) {
				return fmt.Errorf("process %d: byte %d from %d is %d", w.Rank, i, before, b)
			}
		}
		runtime.KeepAlive(others)
	}
	r, err := w.Receive(make([]byte, 8), before, 7)
	if err != nil {
		return err
	}
	if err := w.Cancel(r); err != nil {
		return err
	}
	if _, err := w.Send(nil, w.Size+5, 0); err == nil {
		return errors.New("a send to nobody was taken")
	}
	if what == "dies" && w.Rank == 1 {
		os.Exit(3)
	}
	if what == "dies" {
		time.Sleep(10 * time.Minute) // unless the launch is ended
	}
	// The collector and its signals must do no harm.
	for range 3 {
		runtime.GC()
	}
	fmt.Printf("process %d of %d, %s\n", w.Rank, w.Size, w.Version)
	return w.Leave()
}

func TestMessages(t *testing.T) {
	for _, l := range mpitest.Launchers {
		t.Run(l.Name, func(t *testing.T) {
			args, err := l.Command(4)
			if err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(args[0], append(args[1:], os.Args[0])...)
			cmd.Env = append(os.Environ(), "COLLTUNE_EXECUTOR_TEST=around")
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Count(string(out), " of 4, "+l.Says) != 4 {
				t.Errorf("%v\n%s", err, out)
			}
			cmd = exec.Command(args[0], append(args[1:], os.Args[0])...)
			cmd.Env = append(os.Environ(), "COLLTUNE_EXECUTOR_TEST=dies")
			begun := time.Now()
			if out, err := cmd.CombinedOutput(); err == nil || time.Since(begun) > 9*time.Minute {
				t.Errorf("a process died, and after %s: %v\n%s", time.Since(begun), err, out)
			}
		})
	}
}

func TestAlone(t *testing.T) {
	for _, l := range launchers {
		t.Setenv(l.size, "")
		t.Setenv(l.rank, "")
	}
	if n := Launched(); n != 1 {
		t.Errorf("launched as %d processes", n)
	}
	if _, err := Join(); !errors.Is(err, ErrAlone) {
		t.Errorf("joined: %v", err)
	}
	t.Setenv(libraryVariable, "/nowhere/libmpi.so")
	if _, _, err := Find(); err == nil || !strings.Contains(err.Error(), "/nowhere/libmpi.so") {
		t.Errorf("found: %v", err)
	}
}
