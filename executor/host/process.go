package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/internal/units"
)

// process is one run of an executor's binary, in the form that go-plugin asks for.
// It differs from go-plugin's own in what happens at the end: everything that the
// process started is killed too, a grandchild that holds a pipe open makes nobody
// wait, and how the process ended is kept.
type process struct {
	group   *child.Group
	marker  string // a variable in its environment, different for every run
	sockets string // the folder for its socket
	stderr  *ring
	memory  int64 // its cap in bytes; 0: none
	asked   bool  // it launches others, and must be asked to end: see Kill

	out, err *os.File // our ends of its standard output and error
	first    *io.PipeReader
	exited   chan struct{}
	state    string // how it ended; read after exited is closed
	left     int    // how many processes it left behind

	mu   sync.Mutex
	line string // the first of its output
	over string // its end, if that was for its memory

	closePipes sync.Once
}

// hosted counts the executors that run. An orphan may be of any of them, so orphans are
// ended with the last.
var hosted struct {
	sync.Mutex
	n int
}

var _ runner.Runner = (*process)(nil)

// exitGrace is how long a pipe is read on after its process has ended.
const exitGrace = time.Second

func newProcess(path string, args []string, stderr *ring) *process {
	return &process{
		group:  &child.Group{Cmd: &exec.Cmd{Path: path, Args: append([]string{path}, args...)}},
		stderr: stderr,
		exited: make(chan struct{}),
	}
}

// Start starts the binary with nothing on its standard input.
func (p *process) Start(context.Context) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return err
	}
	p.group.Cmd.Stdout, p.group.Cmd.Stderr = outW, errW
	hosted.Lock()
	ending.Adopt()
	if err = p.group.Start(); err == nil {
		hosted.n++
	}
	hosted.Unlock()
	outW.Close()
	errW.Close()
	if err != nil {
		outR.Close()
		errR.Close()
		return err
	}
	p.mu.Lock()
	p.out, p.err = outR, errR
	p.mu.Unlock()
	r, w := io.Pipe()
	p.first = r
	go p.readStdout(w)
	go p.reap()
	child.PreferOOMKill(p.group.Cmd.Process.Pid)
	go p.watchMemory()
	return nil
}

// readStdout hands go-plugin the first line, and keeps the rest with the standard
// error. A line that never ends must neither block the executor nor fill our
// memory.
func (p *process) readStdout(first *io.PipeWriter) {
	b := bufio.NewReaderSize(p.out, 32<<10) // go-plugin takes no line longer than 64 KiB
	line, _ := b.ReadSlice('\n')
	p.mu.Lock()
	p.line = string(line)
	p.mu.Unlock()
	_, _ = first.Write(line)
	first.Close()
	_, _ = io.Copy(p.stderr, b)
}

func (p *process) reap() {
	p.group.AwaitEnd()
	// First the processes with its marker in any group, because they are asked; then its
	// group, for those that have hidden their environment; then our orphans, which have
	// left the group too. The process itself has no environment any more: it is dead,
	// though not yet reaped.
	p.left = child.EndMarked(p.marker, ending.Terminate)
	p.group.Kill()
	hosted.Lock()
	if hosted.n--; hosted.n == 0 {
		p.left = max(p.left, child.EndOrphans())
	}
	hosted.Unlock()
	err := p.group.Reap()
	if ended := p.group.Cmd.ProcessState; ended != nil {
		p.state = ended.String()
	} else {
		p.state = err.Error()
	}
	time.AfterFunc(exitGrace, p.close)
	close(p.exited)
}

// watchMemory ends the process and its group once they use more than their cap, before
// the system runs out and ends a process of its own choice.
func (p *process) watchMemory() {
	used := p.group.WatchMemory(p.memory, p.exited)
	if used == 0 || !p.alive() {
		return
	}
	p.mu.Lock()
	p.over = fmt.Sprintf("ended by its host: it used %s of memory, its cap is %s", units.Bytes(used>>20<<20), units.Bytes(p.memory))
	p.mu.Unlock()
	p.group.Kill()
}

func (p *process) close() {
	p.closePipes.Do(func() {
		p.out.Close()
		p.err.Close()
	})
}

// greeting returns the first line of its output.
func (p *process) greeting() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

// Kill ends the process and its group, and waits until it is gone. A process that
// launches others is asked first: its launcher must tell what it has
// started elsewhere, and could not if it were killed without warning.
func (p *process) Kill(context.Context) error {
	if p.ID() == "" {
		return nil // never started
	}
	if p.asked && p.group.Terminate() {
		p.endsWithin(ending.Terminate * 3 / 2)
	}
	p.group.Kill()
	if !p.endsWithin(5 * time.Second) { // it hangs in the kernel, where no signal reaches it
		p.close()
	}
	return nil
}

// Wait waits for the end of the process.
func (p *process) Wait(ctx context.Context) error {
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// alive reports whether the process is not yet known to have ended.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// endsWithin waits for the end of the process, at most d, and reports whether it came.
func (p *process) endsWithin(d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	case <-time.After(d):
		return false
	}
}

// exit describes how the process ended: "exit status 2", "still running".
func (p *process) exit() string {
	if p.alive() {
		return "still running"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over != "" {
		return p.over
	}
	return p.state
}

func (p *process) Stdout() io.ReadCloser { return p.first }
func (p *process) Stderr() io.ReadCloser { return p.err }
func (p *process) Name() string          { return p.group.Cmd.Path }

// ID returns the pid, even after the end; "" before the start.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return ""
	}
	return strconv.Itoa(p.group.Cmd.Process.Pid)
}

func (p *process) Diagnose(context.Context) string { return "" }

func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
