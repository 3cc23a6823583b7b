package conform_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/conform"
	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

// The example in Python passes every case, and finds a wrong result.
func TestPythonExample(t *testing.T) {
	path := pythonExample(t)
	_, checks, err := conform.Run(t.Context(), path, executortest.Quick(t, host.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		switch {
		case c.OK:
		case slices.Contains([]string{"beats while it runs", "gives up when told", "goodbye"}, c.Name):
			t.Logf("late, on a busy machine? %s: %s", c.Name, c.Detail)
		default:
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	h := executortest.Start(t, path, host.Options{})
	run := func(change func(r0, r1 *ir.Threadblock)) (executor.Measurement, error) {
		t1 := executortest.Trial(t, 64)
		t1.DType = "i64"
		change(&t1.Program.GPUs[0].Threadblocks[0], &t1.Program.GPUs[1].Threadblocks[0])
		return h.Run(t.Context(), t1)
	}
	if m, err := run(func(_, _ *ir.Threadblock) {}); err != nil || !m.Checked || m.Wrong != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := run(func(_, r1 *ir.Threadblock) { r1.Steps[1].Dst.Buf = collective.In }); err != nil || m.Wrong != 8 {
		t.Errorf("one that never writes an output: %+v, %v", m, err)
	}
	if _, err := run(func(r0, r1 *ir.Threadblock) {
		slices.Reverse(r0.Steps)
		slices.Reverse(r1.Steps)
	}); err == nil || !strings.Contains(err.Error(), "deadlock: waiting at rank 0 threadblock 0 step 0") {
		t.Errorf("two that wait for each other: %v", err)
	}
}

// pythonExample returns the path of the example, with an interpreter that has its imports.
func pythonExample(t *testing.T) string {
	t.Helper()
	interpreter := ""
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import grpc, google.protobuf").Run() == nil {
			interpreter = path
			break
		}
	}
	if interpreter == "" {
		t.Skip("no python3 with grpcio and protobuf (Debian: python3-grpcio, python3-protobuf)")
	}
	dir := t.TempDir()
	if out, err := exec.Command("protoc", "-I", "../protocol", "--python_out="+dir, "executor.proto").CombinedOutput(); err != nil {
		t.Skipf("protoc: %v %s", err, out)
	}
	text, err := os.ReadFile("../examples/python/colltune-executor-python")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	path := filepath.Join(dir, "colltune-executor-python")
	if err := os.WriteFile(path, append([]byte("#!"+interpreter+"\n"), rest...), 0o755); err != nil {
		t.Fatal(err)
	}
	// Another process may have been started while the file was open for writing.
	for range 50 {
		if err := exec.Command(path, "--help").Run(); err == nil || !strings.Contains(err.Error(), "text file busy") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return path
}
