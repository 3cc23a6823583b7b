package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
)

// An executor that is launched runs at the other end of a command:
//
//	host ── go-plugin ──▶ this binary ── mpirun, srun, ssh … ──▶ colltune executor-serve-stdio
//	                      executor-launch    standard streams    the executor
//
// The process in the middle is an executor as any other to the host: in its
// group, under its deadlines, gone with it. It hands calls on and answers back,
// and ends when the launcher does. The process at the far end ends when its
// standard input does, whatever it is doing.

// launchGreeting is the first frame from the far end.
type launchGreeting struct {
	Protocol int    `json:"protocol"`
	Kind     string `json:"kind"`
}

// launch is the main of the process in the middle.
func launch(kind, command, settings string, launcher []string) {
	prepare()
	if hostLine == nil {
		fmt.Fprintln(os.Stderr, "this is for colltune itself: see colltune help")
		os.Exit(1)
	}
	l, err := startLauncher(kind, command, settings, launcher)
	if err != nil {
		fmt.Fprintln(os.Stderr, "launcher:", err)
		os.Exit(1)
	}
	serveHost(l)
	l.shutdown()
	os.Exit(0)
}

// relay serves the host, in the process in the middle, by calling the far end.
type relay struct {
	protocol.UnimplementedExecutorServer
	command []string // the launcher's
	far     protocol.ExecutorClient
	stdin   io.Closer
	ready   chan struct{} // closed once its greeting has come
	leaving atomic.Bool
	ended   chan struct{} // closed when the launcher has ended
	process *os.Process
}

// startLauncher starts the launcher, and copies its standard streams to and from a
// connection to the far end.
//
//	host ── grpc ──▶ near ═ far ── frames ──▶ standard input
//	                           ◀── frames ─── standard output
func startLauncher(kind, command, settings string, launcher []string) (*relay, error) {
	words := append(append([]string{}, launcher...), command, executor.StdioCommand, kind)
	if settings != "" {
		words = append(words, settings)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = launcherEnvironment(os.Environ())
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	inR.Close()
	outW.Close()

	near, far := net.Pipe()
	conn, err := dialOnce(near)
	if err != nil {
		return nil, err
	}
	l := &relay{
		command: launcher, far: protocol.NewExecutorClient(conn), stdin: inW, process: cmd.Process,
		ready: make(chan struct{}), ended: make(chan struct{}),
	}
	stderr := os.Stderr // taken now, because plugin.Serve replaces it
	go func() {
		_, err := io.Copy(&frameWriter{to: inW}, far)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) && !l.leaving.Load() {
			fmt.Fprintln(stderr, "launcher: its standard input:", err)
		}
	}()
	go func() {
		if err := l.read(newFrameReader(outR, stderr), kind, far); err != nil && !l.leaving.Load() {
			fmt.Fprintln(stderr, "launcher: its standard output:", err)
		}
		far.Close()
	}()
	go l.await(cmd, stderr)
	return l, nil
}

// launcherEnvironment is our environment without the variables that go-plugin set
// for us.
func launcherEnvironment(all []string) []string {
	return slices.DeleteFunc(all, func(kv string) bool {
		// The folder of sockets stays, because the host finds by it which
		// processes to end.
		name, _, _ := strings.Cut(kv, "=")
		return name == wire.Handshake.MagicCookieKey || strings.HasPrefix(name, "PLUGIN_") && name != plugin.EnvUnixSocketDir
	})
}

// dialOnce makes a client of a connection, and never dials again when that ends.
func dialOnce(near net.Conn) (*grpc.ClientConn, error) {
	var once sync.Once
	return grpc.NewClient("passthrough:launched",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithContextDialer(func(context.Context, string) (c net.Conn, err error) {
			err = errors.New("the launcher's connection has ended")
			once.Do(func() { c, err = near, nil })
			return c, err
		}))
}

// await waits for the launcher, and exits when it ends unless we ended it.
func (l *relay) await(cmd *exec.Cmd, stderr io.Writer) {
	err := cmd.Wait()
	close(l.ended)
	if l.leaving.Load() || dying.Load() {
		return
	}
	time.Sleep(100 * time.Millisecond) // for what is still in its pipes
	how := "it ended"
	if err != nil {
		how = err.Error()
	}
	select {
	case <-l.ready:
	default:
		how += ", before colltune answered at its other end"
	}
	fmt.Fprintf(stderr, "launcher %s: %s\n", strings.Join(l.command, " "), how)
	os.Exit(1)
}

// read checks the far end's greeting, and then copies its frames.
func (l *relay) read(frames *frameReader, kind string, to io.Writer) error {
	first, err := frames.read()
	if errors.Is(err, io.EOF) {
		return nil // await reports why
	}
	if err != nil {
		return err
	}
	var h launchGreeting
	if err := json.Unmarshal(first, &h); err != nil || h.Protocol != wire.Version || h.Kind != kind {
		return fmt.Errorf("executor %q of protocol %d answers: want %s of protocol %d", h.Kind, h.Protocol, kind, wire.Version)
	}
	close(l.ready)
	for {
		b, err := frames.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
}

// shutdown ends the far end by closing its input, and then by a signal to the
// launcher. What is left after that the host kills.
func (l *relay) shutdown() {
	l.leaving.Store(true)
	l.stdin.Close()
	select {
	case <-l.ended:
	case <-time.After(ending.RemoteShutdown / 5 * 3):
		_ = l.process.Signal(syscall.SIGTERM)
		select {
		case <-l.ended:
		case <-time.After(ending.RemoteShutdown / 5):
		}
	}
}

// awaitGreeting waits for the far end's greeting.
func (l *relay) awaitGreeting(ctx context.Context) error {
	select {
	case <-l.ready:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	} // if the launcher ends first, so does this process
}

// Describe forwards the call.
func (l *relay) Describe(ctx context.Context, r *protocol.DescribeRequest) (*protocol.Description, error) {
	if err := l.awaitGreeting(ctx); err != nil {
		return nil, err
	}
	return l.far.Describe(ctx, r)
}

// Load forwards a document, piece by piece.
func (l *relay) Load(in grpc.ClientStreamingServer[protocol.LoadRequest, protocol.LoadReply]) error {
	if err := l.awaitGreeting(in.Context()); err != nil {
		return err
	}
	out, err := l.far.Load(in.Context())
	if err != nil {
		return err
	}
	for {
		part, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := out.Send(part); err != nil {
			break // the answer says why it stopped listening
		}
	}
	reply, err := out.CloseAndRecv()
	if err != nil {
		return err
	}
	return in.SendAndClose(reply)
}

// Run forwards a trial, and its heartbeats back.
func (l *relay) Run(r *protocol.RunRequest, out grpc.ServerStreamingServer[protocol.RunEvent]) error {
	if err := l.awaitGreeting(out.Context()); err != nil {
		return err
	}
	in, err := l.far.Run(out.Context(), r)
	if err != nil {
		return err
	}
	for {
		event, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Send(event); err != nil {
			return err
		}
	}
}
