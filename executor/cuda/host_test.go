package cuda

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/internal/ptxtest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/executor/serve"
)

// hostMachine is the host build of the kernels, in a process of its own: what a
// GPU would be handed runs there, on threads.
type hostMachine struct {
	t        *testing.T
	count    int
	threads  int
	variant  string
	process  *exec.Cmd
	in       *bufio.Writer
	out      *bufio.Reader
	errors   *os.File
	dtype    data.DType
	at       uint64 // of the status
	resident int
	memory   int64
}

// newHostMachine has n devices and at most the given threads a block.
func newHostMachine(t *testing.T, devices, threads int, variant string) *hostMachine {
	m := &hostMachine{t: t, count: devices, threads: threads, variant: variant, resident: 1 << 20, memory: 1 << 30}
	t.Cleanup(m.close)
	hostProgram(t, data.F32, variant) // not in a trial's time
	return m
}

func (m *hostMachine) close() {
	if said := m.say(); said != "" {
		m.t.Errorf("the host build says:\n%.6000s", said)
	}
}

// say ends the process and tells what it said.
func (m *hostMachine) say() string {
	if m.process == nil {
		return ""
	}
	_ = m.process.Process.Kill()
	_ = m.process.Wait()
	m.process = nil
	said, _ := os.ReadFile(m.errors.Name())
	m.errors.Close()
	return string(said)
}

func (m *hostMachine) devices() int        { return m.count }
func (m *hostMachine) wholeLines(int) bool { return true }

func (m *hostMachine) use(_ int, d data.DType) error {
	if m.process != nil && m.dtype == d {
		return nil
	}
	m.close()
	m.dtype = d
	program := hostProgram(m.t, d, m.variant)
	m.process = exec.Command(program)
	m.process.Env = append(os.Environ(), "TSAN_OPTIONS=exitcode=66 halt_on_error=1")
	errors, err := os.CreateTemp(m.t.TempDir(), "stderr")
	if err != nil {
		return err
	}
	m.errors, m.process.Stderr = errors, errors
	in, err := m.process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := m.process.StdoutPipe()
	if err != nil {
		return err
	}
	m.in, m.out = bufio.NewWriter(in), bufio.NewReader(out)
	if err := m.process.Start(); err != nil {
		return err
	}
	if m.at, err = m.alloc(0, 32); err != nil {
		return err
	}
	return m.resetStatus()
}

func (m *hostMachine) limits(_ int, k kernel, _ int) (traits, error) {
	if k >= fillKernel {
		return traits{2, m.threads}, nil // threads of a system are no GPU's
	}
	return traits{m.resident, m.threads}, nil
}
func (m *hostMachine) free(int) (int64, error) { return m.memory, nil }

func (m *hostMachine) ask(command byte, numbers ...uint64) error {
	if err := m.in.WriteByte(command); err != nil {
		return err
	}
	return binary.Write(m.in, binary.LittleEndian, numbers)
}

func (m *hostMachine) answer(b []byte) error {
	if err := m.in.Flush(); err != nil {
		return err
	}
	_, err := io.ReadFull(m.out, b)
	return err
}

func (m *hostMachine) alloc(_ int, bytes int64) (uint64, error) {
	if err := m.ask('A', uint64(bytes)); err != nil {
		return 0, err
	}
	var b [8]byte
	err := m.answer(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (m *hostMachine) write(_ int, address uint64, b []byte) error {
	if err := m.ask('W', address, uint64(len(b))); err != nil {
		return err
	}
	_, err := m.in.Write(b)
	return err
}

func (m *hostMachine) read(_ int, address uint64, b []byte) error {
	if err := m.ask('R', address, uint64(len(b))); err != nil {
		return err
	}
	return m.answer(b)
}

func (m *hostMachine) set(_ int, address uint64, bytes int64, value byte) error {
	return m.ask('M', address, uint64(bytes), uint64(value))
}

func (m *hostMachine) releaseAll() error { return nil }

func (m *hostMachine) launch(device int, l launch) error {
	if err := m.ask('L', uint64(device), uint64(l.kernel), uint64(l.blocks), uint64(l.threads), uint64(len(l.parameter))); err != nil {
		return err
	}
	_, err := m.in.Write(l.parameter)
	return err
}

func (m *hostMachine) recorded(_ int, start func() error) (func() error, error) { return start, nil }
func (m *hostMachine) launches() string                                         { return "launches" }

func (m *hostMachine) wait(context.Context) error {
	if err := m.ask('S'); err != nil {
		return err
	}
	var b [8]byte
	return m.answer(b[:])
}

func (m *hostMachine) timed(ctx context.Context, _ int, start func() error) (float64, error) {
	begin := time.Now()
	if err := start(); err != nil {
		return 0, err
	}
	err := m.wait(ctx)
	return float64(time.Since(begin).Nanoseconds()) / 1e3, err
}

func (m *hostMachine) queuedLate() int { return 0 }

func (m *hostMachine) status() uint64 { return m.at }
func (m *hostMachine) readStatus() (s statusRecord, err error) {
	b := make([]byte, 32)
	if err := m.read(0, m.at, b); err != nil {
		return s, err
	}
	_, err = binary.Decode(b, binary.LittleEndian, &s)
	return s, err
}
func (m *hostMachine) resetStatus() error { return m.set(0, m.at, 32, 0) }

// builds are the host builds made so far, in a folder that TestMain removes.
var builds struct {
	sync.Mutex
	folder   string
	compiler string
	made     map[string]string
}

func TestMain(m *testing.M) {
	Register()
	serve.Dispatch(os.Args)                                   // does not return in the executor's process
	if os.Getenv(driver.LibraryVariable) == ptxtest.Library { // the tests for GPUs, without one
		if err := driver.Provide(ptxtest.Library, ptxtest.Symbol); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		(&ptxtest.Machine{SMs: 132, Memory: 8 << 30, Tick: 1e7}).Use()
	}
	folder, err := os.MkdirTemp("", "colltune-cuda")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	builds.folder, builds.made = folder, map[string]string{}
	for _, name := range []string{"clang++-16", "clang++", "g++", "c++"} {
		if path, err := exec.LookPath(name); err == nil {
			builds.compiler = path
			break
		}
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// variants are the ways to build for the host.
var variants = map[string][]string{
	"plain":  {"-O0"},
	"thread": {"-O1", "-g", "-fsanitize=thread"},
}

// hostProgram is the host build for an element type.
func hostProgram(t *testing.T, d data.DType, variant string) string {
	t.Helper()
	if builds.compiler == "" {
		t.Skip("no C++ compiler found: the host build of the kernels is not run")
	}
	builds.Lock()
	defer builds.Unlock()
	out := filepath.Join(builds.folder, variant+"-"+d.String())
	if builds.made[out] == "" {
		args := append([]string{"-x", "c++", "-std=c++17", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-DELEMENT=" + elementStruct(d), "-o", out}, variants[variant]...)
		said, err := exec.Command(builds.compiler, append(args, "kernel/host/main.cc")...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%.2000s", builds.compiler, err, said)
		}
		builds.made[out] = out
	}
	return out
}
