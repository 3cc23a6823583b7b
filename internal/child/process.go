package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Options describes a child process to start.
type Options struct {
	Name   string   // under which the work was registered
	Memory int64    // bytes the child may use beyond what it starts with; 0 means no cap
	Env    []string // NAME=VALUE, added to this process's environment
}

// Process is the parent's end of the connection to a child. One goroutine at a
// time may call Send, and one Receive. Kill, Tail and Alive are safe for any.
type Process struct {
	name  string
	group *Group
	in    *os.File
	w     *bufio.Writer
	tail  ring

	frames chan reply
	want   chan int      // longest frame that the Receive in progress accepts
	unread chan struct{} // closed by the first Kill: nobody receives any more
	kill   sync.Once

	ended chan struct{}
	state string // how it ended; read only after ended is closed
	code  int    // exit code; the same holds
}

type reply struct {
	frame []byte
	err   error
}

// Start starts a child. It returns an error inside a child, for a negative memory cap,
// and if the system can't start the process.
func Start(o Options) (*Process, error) {
	if os.Getenv(inside) != "" {
		return nil, fmt.Errorf("child %s not started from inside a child: call child.Dispatch(os.Args) first in main or TestMain", o.Name)
	}
	if o.Memory < 0 {
		return nil, fmt.Errorf("memory cap of %d bytes: want 0 or more", o.Memory)
	}
	path, err := Self()
	if err != nil {
		return nil, err
	}
	var theirs, ours [3]*os.File
	for fd := range theirs {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs[:fd], ours[:fd])
			return nil, err
		}
		theirs[fd], ours[fd] = w, r
		if fd == 0 {
			theirs[fd], ours[fd] = r, w
		}
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{path, hidden, o.Name, strconv.FormatInt(o.Memory, 10)},
		Env:   append(append(os.Environ(), o.Env...), inside+"="+o.Name),
		Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2],
	}
	group := &Group{Cmd: cmd}
	err = group.Start()
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, fmt.Errorf("child %s: %w", o.Name, err)
	}
	p := &Process{
		name: o.Name, group: group, in: ours[0], w: bufio.NewWriterSize(ours[0], 64<<10),
		frames: make(chan reply, 1), want: make(chan int, 1), unread: make(chan struct{}), ended: make(chan struct{}),
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.Copy(&p.tail, ours[2])
		ours[2].Close()
	}()
	go p.read(ours[1])
	go p.reap(said)
	return p, nil
}

func closeAll(sets ...[]*os.File) {
	for _, set := range sets {
		for _, f := range set {
			f.Close()
		}
	}
}

// read reads one frame for each Receive, until the first error.
func (p *Process) read(out *os.File) {
	defer out.Close()
	defer close(p.frames)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		select {
		case most := <-p.want:
			frame, err := readFrame(r, most)
			p.frames <- reply{frame, err}
			if err != nil {
				return
			}
		case <-p.unread:
			return
		}
	}
}

// lastWords is how long to wait for the rest of a dead child's standard error. A
// process that the child left behind may hold it open for ever.
const lastWords = time.Second

func (p *Process) reap(said <-chan struct{}) {
	p.group.AwaitEnd()
	p.group.Kill() // also what the child started
	err := p.group.Reap()
	p.state = fmt.Sprint(err)
	if ended := p.group.Cmd.ProcessState; ended != nil {
		p.state, p.code = ended.String(), ended.ExitCode()
	}
	select {
	case <-said:
	case <-time.After(lastWords):
	}
	p.in.Close()
	close(p.ended)
}

// ErrEnded is wrapped by errors about a child that ended before it answered.
var ErrEnded = errors.New("ended")

// endedError returns an error that wraps ErrEnded and describes how the child ended.
func (p *Process) endedError() error {
	p.Kill() // an error on a pipe means that the child is of no more use
	return fmt.Errorf("child %s %w (%s)", p.name, ErrEnded, p.state)
}

// Send sends a frame of at most MaxFrame bytes. It blocks while the child does not
// read; Kill unblocks it. After an error, the child should be killed.
func (p *Process) Send(frame []byte) error {
	err := writeFrame(p.w, frame)
	if err == nil {
		err = p.w.Flush()
	}
	var long *FrameError
	if err != nil && !errors.As(err, &long) {
		return p.endedError()
	}
	return err
}

// Receive waits for a frame of at most the given length in bytes, or until ctx is
// done. It returns what a child sent before it ended, too. The error is ctx's, a
// *FrameError, or wraps ErrEnded. After an error, the child should be killed.
func (p *Process) Receive(ctx context.Context, most int) ([]byte, error) {
	select {
	case p.want <- most:
	case <-p.unread:
		return nil, p.endedError()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var late <-chan time.Time
	for ended := p.ended; ; {
		select {
		case r, more := <-p.frames:
			var long *FrameError
			if !more || r.err != nil && !errors.As(r.err, &long) {
				return nil, p.endedError()
			}
			return r.frame, r.err
		case <-ended:
			ended, late = nil, time.After(lastWords) // a process that the child left behind may hold the pipe open
		case <-late:
			return nil, p.endedError()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Kill ends the child and everything it started, and waits until it is gone. It
// may be called more than once.
func (p *Process) Kill() {
	p.group.Kill()
	p.kill.Do(func() { close(p.unread) })
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second): // stuck in the kernel, where signals do not reach it
	}
}

// Alive reports whether the child has not been seen to end.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// State describes how the child ended, or says that it is running.
func (p *Process) State() string {
	if p.Alive() {
		return "running"
	}
	return p.state
}

// Tail returns the first and the last 8 KiB of the child's standard error.
func (p *Process) Tail() string { return p.tail.String() }
