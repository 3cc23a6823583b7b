package executor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/colltune/colltune/executor"
)

// escapes is how many processes of each kind an executor of these tests leaves: 96
// in all.
const escapes = 24

// An executor leaves processes that nothing shows to be its own: each has a session
// of its own and an empty environment. Of the first kind are its children; of the
// second, children of a process that has ended; of the third, a pair.
func init() {
	run := func(then func()) func(context.Context, executor.Trial) (executor.Measurement, error) {
		return func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
			dir := os.Getenv(state)
			leave("executor", os.Getpid())
			for i := range escapes {
				escape(dir, fmt.Sprintf("child-%d", i), "sleep", "7200")
				if err := escaped(os.Args[0], "escape-and-end", dir, fmt.Sprintf("daemon-%d", i)).Run(); err != nil {
					panic(err)
				}
				escape(dir, fmt.Sprintf("pair-%d", i), "sh", "-c", "sleep 7200 & echo $! >"+filepath.Join(dir, fmt.Sprintf("other-%d", i))+"; wait")
			}
			for i := range escapes {
				for b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("other-%d", i))); err != nil || len(b) == 0; b, err = os.ReadFile(filepath.Join(dir, fmt.Sprintf("other-%d", i))) {
					time.Sleep(time.Millisecond)
				}
			}
			then()
			return right(ctx, t)
		}
	}
	faults["escapes"] = fault{run: run(func() {})}
	faults["escapes-and-dies"] = fault{run: run(func() { os.Exit(1) })}
	faults["escapes-and-is-killed"] = fault{run: run(func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	})}
	escaping["escape-and-end"] = func(dir, name string) { escape(dir, name, "sleep", "7200") }
	escaping["escape-host"] = func(dir, name string) {
		h, err := executor.Start(context.Background(), name, executor.HostOptions{Env: []string{state + "=" + dir}, Quarantine: new(executor.Quarantine)})
		if err == nil {
			_, err = h.Run(context.Background(), trial(&testing.T{}, 8))
		}
		if _, killed := os.LookupEnv("ESCAPE_HOST_WAITS"); killed {
			leave2(dir, "ready")
			select {}
		}
		fmt.Println(err)
		_ = h.Close()
	}
}

func escaped(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Env = []string{"PATH=/usr/bin:/bin"}
	return c
}

func escape(dir, name string, command string, args ...string) {
	c := escaped(command, args...)
	if err := c.Start(); err != nil {
		panic(err)
	}
	_ = os.WriteFile(filepath.Join(dir, name), fmt.Appendln(nil, c.Process.Pid), 0o600)
}

// However an executor or its host ends, none of what it has started is left, not even
// what has dropped its environment, its group and its session.
func TestNothingEscapes(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MSGQUEUE, &limit); err != nil || limit.Max < 4096 {
		t.Skip("no room for the mark by which the host knows its own")
	}
	for _, how := range []string{"escapes", "escapes-and-dies", "escapes-and-is-killed", "its host is killed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			name, killed := strings.CutPrefix(how, "its host is killed")
			if killed {
				name = "escapes"
			}
			host := exec.Command(os.Args[0], "escape-host", dir, name)
			host.Stderr = os.Stderr
			if killed {
				host.Env = append(os.Environ(), "ESCAPE_HOST_WAITS=1")
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				within(t, 100*time.Second, func() bool {
					_, err := os.Stat(filepath.Join(dir, "ready"))
					return err == nil
				})
				_ = host.Process.Kill()
				_ = host.Wait()
			} else if err := host.Run(); err != nil {
				t.Fatal(err)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) < 4*escapes {
				t.Fatalf("%d processes were started: %v", len(left), err)
			}
			for _, e := range left {
				if e.Name() != "ready" {
					gone(t, dir, e.Name())
				}
			}
		})
	}
}
