//go:build unix

package executortest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/wire"
)

// State is the environment variable with a folder in which an executor leaves files for
// later ones of its test.
const State = "COLLTUNE_EXECUTOR_STATE"

// Silence is the environment variable that sets ending.Silence.
const Silence = "COLLTUNE_EXECUTOR_TEST_SILENCE"

// first reports whether this is the first process of its test to ask.
func first() bool {
	f, err := os.OpenFile(filepath.Join(os.Getenv(State), "first"), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		f.Close()
	}
	return err == nil
}

func leave(name string, pid int) {
	_ = os.WriteFile(filepath.Join(os.Getenv(State), name), []byte(strconv.Itoa(pid)), 0o600)
}

// said reports whether a file was left.
func said(name string) bool {
	_, err := os.Stat(filepath.Join(os.Getenv(State), name))
	return err == nil
}

// grandchild starts a process that outlives its parent unless someone Minds;
// one in a session of its own is no member of its parent's group.
func grandchild(name string, session bool) {
	c := exec.Command("sleep", "7200")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if err := c.Start(); err != nil {
		panic(err)
	}
	leave(name, c.Process.Pid)
}

type fault struct {
	early func() // before the handshake
	none  error  // Describe's answer
	run   func(ctx context.Context, t executor.Trial) (executor.Measurement, error)
}

func right(_ context.Context, t executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{TimesUS: []float64{float64(t.Bytes)}, Checked: true, Note: t.Program.Name}, nil
}

// MemoryCap is the cap of the executors "eats" and "child-eats", in bytes.
const MemoryCap = 256 << 20

// eat allocates three times the tests' cap and keeps it: without an end, the
// system's memory could be gone before a busy host looks.
func eat() (executor.Measurement, error) {
	kept := make([]byte, 3*MemoryCap)
	for i := 0; i < len(kept); i += 4096 {
		kept[i] = 1
	}
	for {
		time.Sleep(time.Hour)
		runtime.KeepAlive(kept)
	}
}

func hang(context.Context, executor.Trial) (executor.Measurement, error) {
	select {} // deaf to its context, as a kernel that spins is
}

var lost bool

var faults = map[string]fault{
	"well": {run: right},
	"tells-settings": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		note := fmt.Sprint(executor.Setting("tests"), " ", executor.Launcher(), " ", os.Getenv("COLLTUNE_EXECUTOR_EXTRA"), executor.Setting("note"))
		return executor.Measurement{TimesUS: []float64{1}, Note: note}, nil
	}},
	"panics": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		panic("the device is on fire")
	}},
	"panics-once": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		if first() {
			panic("once")
		}
		return right(ctx, t)
	}},
	"exits": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		os.Exit(7)
		return executor.Measurement{}, nil
	}},
	"killed": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}},
	"hangs": {run: hang},
	"stands-still": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		executor.Progress(ctx, 1)
		return hang(ctx, t)
	}},
	"freezes": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return hang(ctx, t)
	}},
	"slow": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		for i := int64(1); ; i++ {
			executor.Progress(ctx, i)
			time.Sleep(time.Millisecond)
			if t.Bytes > 0 && i > t.Bytes {
				return right(ctx, t)
			}
		}
	}},
	"launches": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		words := executor.Launcher()
		c := exec.Command(words[0], words[1:]...)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
		return hang(ctx, t)
	}},
	"eats": {run: func(context.Context, executor.Trial) (executor.Measurement, error) { return eat() }},
	"child-eats": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		c := exec.Command(os.Args[0], "eat")
		if err := c.Start(); err != nil {
			panic(err)
		}
		return hang(ctx, t)
	}},
	"loses-its-device": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		if lost || first() {
			lost = true // and stays so in this process
			return executor.Measurement{}, fmt.Errorf("illegal address: %w", executor.ErrDeviceLost)
		}
		return right(ctx, t)
	}},
	"never-finds-its-device": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{}, fmt.Errorf("illegal address: %w", executor.ErrDeviceLost)
	}},
	"never-keeps-its-device": {run: func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		if t.Bytes == 4 {
			return executor.Measurement{TimesUS: []float64{1}}, nil
		}
		return executor.Measurement{}, fmt.Errorf("illegal address: %w", executor.ErrDeviceLost)
	}},
	"panics-at-length": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		fmt.Fprintln(os.Stderr, strings.Repeat("before\n", 1000))
		for range 100 {
			go func() { select {} }()
		}
		debug.SetTraceback("all")
		time.Sleep(10 * time.Millisecond)
		panic("the first line of a long report")
	}},
	"floods": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		line := strings.Repeat("x", 1<<20) // no newline: a line without end
		for range 32 {
			fmt.Fprint(os.Stderr, line)
			fmt.Fprint(os.Stdout, line)
			_, _ = syscall.Write(1, []byte(line[:1<<16])) // as a C library would
			_, _ = syscall.Write(2, []byte(line[:1<<16]))
		}
		return right(ctx, t)
	}},
	"prints-early": {early: func() { fmt.Println("NCCL version 2.28.3+cuda13.0") }, run: right},
	"prints-from-c": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		_, _ = syscall.Write(1, []byte("printf of a library\n"))
		panic("after it")
	}},
	"dies-at-start": {early: func() {
		fmt.Fprintln(os.Stderr, "no such device")
		os.Exit(3)
	}, run: right},
	"dies-at-start-once": {early: func() {
		if first() {
			os.Exit(3)
		}
	}, run: right},
	"not-here":        {none: executor.Unavailable(errors.New("no driver")), run: right},
	"set-wrongly":     {none: executor.WrongSettings(errors.New("no such file")), run: right},
	"sleeps-at-start": {early: func() { time.Sleep(time.Hour) }, run: right},
	"leaves-a-child": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		leave("executor", os.Getpid())
		grandchild("grandchild", false)
		grandchild("escaped", true)
		return right(ctx, t)
	}},
	"leaves-a-child-and-dies": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		grandchild("grandchild", false)
		os.Exit(1)
		return executor.Measurement{}, nil
	}},
	"wrong": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		m, err := right(ctx, t)
		m.Wrong = 17
		return m, err
	}},
	"no-time":  {run: func(context.Context, executor.Trial) (m executor.Measurement, err error) { return }},
	"nan-time": {run: timed(math.NaN())},
	"negative": {run: timed(-1)},
	"refuses": {run: func(_ context.Context, t executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{}, fmt.Errorf("dtype %s: %w", t.DType, executor.ErrUnsupported)
	}},
	"answers-error": {run: func(context.Context, executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{}, errors.New("deadlock at gpu 3 tb 1 step 2")
	}},
	"exits-between": {run: func(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
		go func() {
			for !said("answered") {
				time.Sleep(time.Millisecond)
			}
			os.Exit(1)
		}()
		return right(ctx, t)
	}},
}

// escaping are processes that tests start by their first argument, with two more.
var escaping = map[string]func(a, b string){}

// strangers are executors that don't use serve.Main, as in another language.
var strangers = map[string]func(){
	"wrong-version": func() { serveOther(99) },
	"garbage-first": func() {
		fmt.Println("NCCL version 2.28.3+cuda13.0")
		serveOther(wire.Version)
	},
	"garbage-for-ever": func() {
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(1)
			}
		}
	},
}

func serveOther(version int) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: "COLLTUNE_EXECUTOR_COOKIE", MagicCookieValue: os.Getenv("COLLTUNE_EXECUTOR_COOKIE")},
		VersionedPlugins: map[int]plugin.PluginSet{version: {"executor": unspeaking{}}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
	os.Exit(0)
}

func timed(us float64) func(context.Context, executor.Trial) (executor.Measurement, error) {
	return func(context.Context, executor.Trial) (executor.Measurement, error) {
		return executor.Measurement{TimesUS: []float64{us}}, nil
	}
}

type unspeaking struct{ plugin.NetRPCUnsupportedPlugin }

func (unspeaking) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }
func (unspeaking) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type fake struct {
	run  func(context.Context, executor.Trial) (executor.Measurement, error)
	none error
}

func (f fake) Describe(context.Context) (executor.Description, error) {
	if f.none != nil {
		return executor.Description{}, f.none
	}
	return executor.Description{
		Name: "fake", Version: "1", Deterministic: true, MaxRanks: 4,
		Protocols: []string{"LL", "Simple"}, DTypes: []string{"f32"}, Operations: []string{"sum"},
		Fingerprint: map[string]string{"device": "none"},
	}, nil
}

func (f fake) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	return f.run(ctx, t)
}
