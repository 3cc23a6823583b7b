package memory

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

func TestLimitFiles(t *testing.T) {
	for groups, want := range map[string][]string{
		"":        nil,
		"0::/\n":  {"/sys/fs/cgroup/memory.max"},
		"0::/a/b": {"/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max", "/sys/fs/cgroup/memory.max"},
		"12:cpuset:/x\n5:memory:/job\n1:name=systemd:/y\n": {
			"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		"garbage": nil,
	} {
		if got := limitFiles(groups); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}

// What a process of Spawn's uses is counted with its parent's; what a child uses that
// Spawn did not start, such as one from before an exec, is not.
func TestInUse(t *testing.T) {
	// Two shells hold 64 MB of text in a variable each, and wait.
	shell := func(start func(*exec.Cmd) error) *exec.Cmd {
		cmd := exec.Command("sh", "-c", `x=$(head -c 64000000 /dev/zero | tr '\0' x); echo; read y; echo "${#x}"`)
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := start(cmd); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { in.Close() })
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	ours, foreign := shell(child.Spawn), shell((*exec.Cmd).Start)
	own, others := inUse()
	if own < 1<<18 || others < 64_000_000 || others > 120_000_000 || OfTree(os.Getpid()) < own/2+128_000_000 {
		t.Errorf("%d B of this process, %d B of others, %d B in all: want the 64 MB of Spawn's child among the others, and 128 MB in all", own, others, OfTree(os.Getpid()))
	}
	for _, cmd := range []*exec.Cmd{ours, foreign} {
		pid := cmd.Process.Pid
		if some, known := descendants(os.Getpid(), nil), allChildren()[os.Getpid()]; !slices.Contains(some, pid) || !slices.Contains(known, pid) {
			t.Errorf("the child %d is not among %d, or %d", pid, some, known)
		}
		if got := slices.Contains(descendants(os.Getpid(), child.Ours), pid); got != (cmd == ours) {
			t.Errorf("the child %d is counted: %v, want %v", pid, got, cmd == ours)
		}
	}
	_ = ours.Process.Kill()
	_ = child.Reap(ours)
	_ = foreign.Process.Kill()
	_ = foreign.Wait()
}
