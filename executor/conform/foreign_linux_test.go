package conform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/colltune/colltune/executor/executortest"
)

// A shell starts two processes of sessions of their own and becomes the host. The
// first keeps running; the second starts a third when told to, and ends, so that the
// host adopts the third.
const beforeTheHost = `
setsid sleep 7200 </dev/null >/dev/null 2>&1 &
echo $! >before
setsid sh -c 'until [ -e go ]; do sleep 0.01; done; sleep 7200 & echo $! >adopted' </dev/null >/dev/null 2>&1 &
exec "$0" foreign-host . "$1"`

// Children of the host that no executor started, whether from before its exec or adopted
// since, keep running, and no case reports them.
func TestForeignChildrenGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shell := exec.Command("sh", "-c", beforeTheHost, os.Args[0], "sim")
	shell.Dir = dir
	out, err := shell.CombinedOutput()
	for _, name := range []string{"before", "adopted"} {
		b, _ := os.ReadFile(filepath.Join(dir, name))
		pid, bad := strconv.Atoi(strings.TrimSpace(string(b)))
		if bad != nil {
			t.Fatalf("%s: %v, %v: %s", name, bad, err, out)
		}
		if executortest.Ended(pid) {
			t.Errorf("the process %s has ended", name)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil || strings.Contains(string(out), "left") && strings.Contains(string(out), "processes behind") || !strings.Contains(string(out), "children: true true <nil>") {
		t.Errorf("%v: %s", err, out)
	}
}
