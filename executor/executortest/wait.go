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

// Unhurried is a deadline within which even a machine with much else to do
// starts a trial and hears of its progress.
const Unhurried = 5 * time.Second

// gone checks that the process whose pid is in dir/name ends: within two seconds,
// it is promised, and in fifteen times that on a busy machine; those of the tests
// would live for hours.
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

// ended reports whether a process is gone, or a zombie nobody has buried.
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

// within waits for something to happen. It counts its own turns and no clock:
// on a machine with much else to do it is held up as what it waits for is.
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
