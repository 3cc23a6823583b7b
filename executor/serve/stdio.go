package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/internal/child"
)

// launchVariables hold a process's rank in its launch and the number of processes. The
// innermost launcher's come first, because mpirun inside a Slurm job sees Slurm's too. PMIx
// has no variable of its own for the number.
var launchVariables = []struct{ rank, size string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}

// launchedRank returns this process's rank in its launch and the number of processes; 0
// where the launcher doesn't say.
func launchedRank() (rank, size int) {
	for _, v := range launchVariables {
		if n, err := strconv.Atoi(os.Getenv(v.rank)); err == nil {
			size, _ = strconv.Atoi(os.Getenv(v.size))
			return n, size
		}
	}
	return 0, 0
}

// singleProcessGuard stands in for an executor that was launched as several processes, and
// can only be one. It refuses every call with that error, before another process can end
// the launch with a less clear one.
type singleProcessGuard struct{ processes int }

func (g singleProcessGuard) refusal() error {
	return executor.Unavailable(fmt.Errorf("its launcher starts %d processes, and it can only be one: launch a single process, as with -np 1", g.processes))
}

func (g singleProcessGuard) Describe(context.Context) (executor.Description, error) {
	return executor.Description{}, g.refusal()
}
func (g singleProcessGuard) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, g.refusal()
}

// serveStdio serves an executor over standard input and output, and returns the
// exit code. The end of the input ends the process, whatever it is doing.
func serveStdio(kind, settings string) int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "executor %s: %v\n", kind, err)
		return 1
	}
	if err := executor.ReceiveSettings(settings); err != nil {
		return fail(err)
	}
	in, out, err := child.TakeStreams()
	if err != nil {
		return fail(err)
	}
	rank, size := launchedRank()
	if rank != 0 {
		if size > 1 {
			_, _ = io.Copy(io.Discard, in) // rank 0 reports this; if we ended now we might end it first
			return 0
		}
		return fail(fmt.Errorf("this is process %d of its launch, and it can only be one: launch a single process", rank))
	}
	var impl executor.Executor
	if size > 1 {
		impl = singleProcessGuard{size}
	} else if impl, err = newRemote(kind); err != nil {
		return fail(err)
	}
	if err := serveOver(kind, impl, in, out); err != nil {
		return fail(err)
	}
	return 0
}

// serveOver sends the greeting, and serves calls until the input ends.
func serveOver(kind string, impl executor.Executor, in io.Reader, out io.Writer) error {
	frames := &frameWriter{to: out}
	first, _ := json.Marshal(launchGreeting{wire.Version, kind}) // a number and a string: can't fail
	if _, err := frames.Write(first); err != nil {
		return err
	}
	mine, theirs := net.Pipe()
	server := wire.NewServer([]grpc.ServerOption{
		grpc.ConnectionTimeout(ending.Silence),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: ending.Silence / 2, Timeout: ending.Silence / 2}),
	})
	protocol.RegisterExecutorServer(server, newServer(impl))
	go func() { _ = server.Serve(&oneConn{conn: mine, over: make(chan struct{})}) }()
	go func() {
		_, _ = io.Copy(frames, theirs)
		// A connection that was cut does not end the input.
		fmt.Fprintf(os.Stderr, "executor %s: its host has not answered for %s\n", kind, ending.Silence)
		closeExecutor(impl)
		os.Exit(1)
	}()
	for reader := newFrameReader(in, os.Stderr); ; {
		b, err := reader.read()
		if err == nil {
			_, err = theirs.Write(b)
		}
		if err == nil {
			continue
		}
		closeExecutor(impl)
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// newRemote returns the executor to serve: a built-in of this binary, or a plugin of this
// machine behind a host of its own.
func newRemote(kind string) (executor.Executor, error) {
	if make := executor.Builtin(kind); make != nil {
		return make(), nil
	}
	// The near host decides how long a trial may take.
	return host.Start(context.Background(), kind, host.Options{TrialTimeout: 1000 * time.Hour})
}

// closeExecutor closes an executor that is an io.Closer, and waits at most a second.
func closeExecutor(e executor.Executor) {
	c, ok := e.(io.Closer)
	if !ok {
		return
	}
	done := make(chan struct{})
	go func() {
		_ = c.Close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// oneConn is a listener of a single connection.
type oneConn struct {
	conn net.Conn
	over chan struct{}
	once sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.over
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.over) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "standard streams", Net: "unix"} }
