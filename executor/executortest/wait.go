//go:build unix

package executortest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Unhurried is a deadline within which even a busy machine starts a trial and reports its
// progress.
const Unhurried = 5 * time.Second

// Gone checks that the process whose pid is in dir/name ends: within the two seconds that
// hosts promise, times fifteen for a busy machine. By itself it would live for hours.
func Gone(t *testing.T, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	Within(t, 30*time.Second, func() bool { return Ended(pid) })
}

// Ended reports whether a process is gone, or a zombie.
func Ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return os.IsNotExist(err)
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(after, "Z")
}

// Within polls done for d, and fails the test if it stays false. It counts its own turns
// instead of reading a clock: a busy machine delays it as much as the event.
func Within(t *testing.T, d time.Duration, done func() bool) {
	t.Helper()
	const turn = 10 * time.Millisecond
	for turns := d / turn; !done(); turns-- {
		if turns == 0 {
			t.Fatalf("not within %s", d)
		}
		time.Sleep(turn)
	}
}
