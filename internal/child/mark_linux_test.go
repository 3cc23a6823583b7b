package child

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A group carries the mark from its first instruction, and through setsid and an empty
// environment; this process does not, nor does what it starts otherwise.
func TestMark(t *testing.T) {
	if mark() == 0 {
		t.Skip("the hard limit leaves no room for a mark")
	}
	read := func(start func(*exec.Cmd) error, wait func(*exec.Cmd) error) bool {
		cmd := exec.Command("setsid", "env", "-i", "/bin/cat")
		in, _ := cmd.StdinPipe()
		if err := start(cmd); err != nil {
			t.Skip(err)
		}
		marked := markOf(cmd.Process.Pid) == mark()
		if isOurs(cmd.Process.Pid) != marked {
			t.Errorf("the process is ours: %v, and marked: %v", !marked, marked)
		}
		in.Close()
		_ = wait(cmd)
		return marked
	}
	for range 20 {
		var group Group
		if !read(func(cmd *exec.Cmd) error { group.Cmd = cmd; return group.Start() }, func(*exec.Cmd) error { return group.Reap() }) {
			t.Error("the head of a group has no mark")
		}
		if read((*exec.Cmd).Start, (*exec.Cmd).Wait) {
			t.Error("a process of somebody else's has our mark")
		}
	}
	if markOf(0) != inherited {
		t.Errorf("this process's mark is %d after the start of groups, and was %d", markOf(0), inherited)
	}
}

// A process is killed, and no other of its number, where the system opens no
// descriptor of it.
func TestKillWithoutPidfd(t *testing.T) {
	defer func() { pidfdOpen = unix.PidfdOpen }()
	pidfdOpen = func(int, int) (int, error) { return -1, unix.ENOSYS }
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	p, ok := statOf(cmd.Process.Pid)
	if !ok {
		t.Fatal("no such process")
	}
	other := p
	other.began += "0"
	other.kill()
	if now, ok := statOf(p.pid); !ok || now.state == 'Z' {
		t.Fatal("a process that began later was killed")
	}
	p.kill()
	awaitEnd(p.pid)
}
