package memory

import (
	"os"
	"os/exec"
	"slices"
	"testing"
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

// What a child uses is counted with its parent's.
func TestInUse(t *testing.T) {
	// A shell holds 64 MB of text in a variable and waits.
	child := exec.Command("sh", "-c", `x=$(head -c 64000000 /dev/zero | tr '\0' x); echo; read y; echo "${#x}"`)
	in, _ := child.StdinPipe()
	out, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	one := make([]byte, 1)
	if _, err := out.Read(one); err != nil {
		t.Fatal(err)
	}
	own, others := inUse()
	if own < 1<<20 || others < 64_000_000 || OfTree(os.Getpid()) < own/2+64_000_000 {
		t.Errorf("%d B of this process, %d B of others, %d B in all: want the child's 64 MB among them", own, others, OfTree(os.Getpid()))
	}
	if some, known := descendants(os.Getpid()), allChildren()[os.Getpid()]; !slices.Contains(some, child.Process.Pid) || !slices.Contains(known, child.Process.Pid) {
		t.Errorf("the child %d is not among %d, or %d", child.Process.Pid, some, known)
	}
	in.Close()
	_ = child.Wait()
}
