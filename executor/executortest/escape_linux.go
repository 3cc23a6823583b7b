package executortest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
)

// Escapes is the number of processes of each of four kinds that such an executor leaves.
const Escapes = 24

// An executor leaves processes that nothing shows to be its own: each has a session
// of its own and an empty environment. Of the first kind are its children; of the
// second, children of a process that has ended; of the third, a pair.
func init() {
	run := func(then func()) func(context.Context, executor.Trial) (executor.Measurement, error) {
		return func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
			dir := os.Getenv(State)
			leave("executor", os.Getpid())
			for i := range Escapes {
				escape(dir, fmt.Sprintf("child-%d", i), "sleep", "7200")
				if err := escaped(os.Args[0], "escape-and-end", dir, fmt.Sprintf("daemon-%d", i)).Run(); err != nil {
					panic(err)
				}
				escape(dir, fmt.Sprintf("pair-%d", i), "sh", "-c", "sleep 7200 & echo $! >"+filepath.Join(dir, fmt.Sprintf("other-%d", i))+"; wait")
			}
			for i := range Escapes {
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
		h, err := host.Start(context.Background(), name, host.Options{Env: []string{State + "=" + dir}})
		if err == nil {
			_, err = h.Run(context.Background(), Trial(&testing.T{}, 8))
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
