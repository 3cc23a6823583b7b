package child

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// A group's memory is counted with its parent's; that of a child that heads no group,
// such as one from before an exec, is not.
func TestUsage(t *testing.T) {
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
	var group Group
	ours, foreign := shell(func(cmd *exec.Cmd) error { group.Cmd = cmd; return group.Start() }), shell((*exec.Cmd).Start)
	own, others := Usage()
	if own < 1<<18 || others < 64_000_000 || others > 120_000_000 || treeUsage(os.Getpid()) < own/2+128_000_000 {
		t.Errorf("%d B of this process, %d B of others, %d B in all: want the 64 MB of the group among the others, and 128 MB in all", own, others, treeUsage(os.Getpid()))
	}
	for _, cmd := range []*exec.Cmd{ours, foreign} {
		pid := cmd.Process.Pid
		if some, known := descendants(os.Getpid(), nil), allChildren()[os.Getpid()]; !slices.Contains(some, pid) || !slices.Contains(known, pid) {
			t.Errorf("the child %d is not among %d, or %d", pid, some, known)
		}
		if got := slices.Contains(descendants(os.Getpid(), isOurs), pid); got != (cmd == ours) {
			t.Errorf("the child %d is counted: %v, want %v", pid, got, cmd == ours)
		}
	}
	group.Kill()
	_ = group.Reap()
	_ = foreign.Process.Kill()
	_ = foreign.Wait()
}

// A Go program has megabytes in use, and more address space; no process has none.
func TestStatm(t *testing.T) {
	sizes, ok := statm(os.Getpid())
	if space, used := sizes[0], sizes[1]; !ok || used < 1<<20 || used > space || used > 1<<36 {
		t.Errorf("%d B in use of %d B of address space", used, space)
	}
	if sizes, ok := statm(1 << 30); ok {
		t.Errorf("a process that is not there: %d", sizes)
	}
}
