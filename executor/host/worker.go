package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/internal/lists"
)

// Worker is one process of an executor with its connection. It is never reused: when it
// dies, another takes its place. It runs one trial at a time.
type Worker struct {
	Description executor.Description    // at its start
	RPC         protocol.ExecutorClient // for calls without a host's help

	name    string
	o       Options
	depends map[string]string // what its settings add to its fingerprint
	grace   time.Duration     // how long it may take to end
	process *process
	config  *plugin.ClientConfig
	client  *plugin.Client
	loaded  map[string]bool // hashes it has been sent
	control plugin.ClientProtocol
}

// Start starts a process and asks it for its description. The caller ends it with Stop or
// Disconnect. ErrUnavailable: this machine can't have the executor; else the error is
// ctx's, or quotes the last output.
func (s *Starter) Start(ctx context.Context) (*Worker, error) {
	cmd, o := s.command, s.Options
	said := newRing(o.StderrBytes)
	p := newProcess(cmd.Path, cmd.Args, said)
	p.memory, p.asked = o.Memory, cmd.Launches
	w := &Worker{name: cmd.Name, o: o, depends: cmd.Fingerprint, grace: ending.Shutdown, process: p, loaded: map[string]bool{}}
	w.config = &plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Versions(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         !cmd.Own() || runtime.GOOS == "windows", // its sockets are ports
		SkipHostEnv:      true,
		StartTimeout:     o.StartTimeout,
		Stderr:           said,
		SyncStdout:       said,
		SyncStderr:       said,
		Logger:           logger(o.Logger),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: s.sockets.dir},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, dir string) (runner.Runner, error) {
			p.group.Cmd.Env = append(environment(o.Env), spec.Env...)
			p.sockets = dir
			p.marker = plugin.EnvUnixSocketDir + "=" + dir // made for this run alone
			return p, nil
		},
	}
	w.client = plugin.NewClient(w.config)
	if cmd.Remote {
		w.grace = ending.RemoteShutdown
	}
	stopWatching := context.AfterFunc(ctx, func() { _ = p.Kill(ctx) })
	defer stopWatching()
	began := time.Now()
	d, err := w.connect(ctx)
	w.grace = max(w.grace, 2*time.Since(began)) // a busy machine is slow at both
	if err != nil {
		w.Stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, executor.ErrUnavailable) || errors.Is(err, executor.ErrSettings) {
			return nil, err // the error says all there is to say
		}
		if errors.As(err, new(answeredError)) {
			return nil, fmt.Errorf("%w%s", err, executor.QuoteOutput(said.String())) // it ended because we stopped it, so how doesn't matter
		}
		late := ""
		if time.Since(began) >= o.StartTimeout {
			late = fmt.Sprintf(" in %s", o.StartTimeout)
		}
		return nil, fmt.Errorf("%w%s (%s)%s", err, late, p.exit(), executor.QuoteOutput(said.String()))
	}
	w.Description = d
	return w, nil
}

func (w *Worker) connect(ctx context.Context) (executor.Description, error) {
	if err := w.greet(); err != nil {
		return executor.Description{}, err
	}
	var err error
	if w.control, err = w.client.Client(); err != nil {
		return executor.Description{}, err
	}
	raw, err := w.control.Dispense(wire.Service)
	if err != nil {
		return executor.Description{}, err
	}
	w.RPC = raw.(protocol.ExecutorClient)
	ctx, cancel := context.WithTimeout(ctx, w.o.StartTimeout)
	defer cancel()
	return w.Describe(ctx)
}

// greet starts the process and reads its first line. An executor without a certificate is
// spoken to in plain text; go-plugin would accept it, but would show a certificate of our
// own. Its socket must then be in the folder made for it, which no other user can reach.
// Our own binary is asked for none: two certificates are 50 ms of processor time a start.
func (w *Worker) greet() error {
	if _, err := w.client.Start(); err != nil {
		return err
	}
	parts := strings.Split(strings.TrimSpace(w.process.greeting()), "|")
	if len(parts) > 5 && parts[5] != "" {
		return nil
	}
	if network, path := parts[2], parts[3]; network != "unix" || filepath.Dir(filepath.Clean(path)) != filepath.Clean(w.process.sockets) {
		return fmt.Errorf("it shows no certificate, and listens at %s %s: want a Unix socket in the folder that %s names", network, path, plugin.EnvUnixSocketDir)
	}
	w.config.TLSConfig = nil
	return nil
}

// answeredError is an error that the executor itself returned from Describe.
type answeredError string

func (e answeredError) Error() string { return "describe: " + string(e) }

// Describe asks the executor for its description, and adds to its fingerprint the number
// of its devices and its settings. ErrUnavailable: this machine can't have it; ErrSettings:
// its settings are wrong.
func (w *Worker) Describe(ctx context.Context) (executor.Description, error) {
	d, err := w.RPC.Describe(ctx, &protocol.DescribeRequest{}, grpc.MaxCallRecvMsgSize(maxDescription))
	if tooLarge(err) {
		return executor.Description{}, answeredError(fmt.Sprintf("its description is larger than %d bytes", maxDescription))
	}
	if status.Code(err) == codes.FailedPrecondition {
		return executor.Description{}, &executor.UnavailableError{Executor: w.name, Why: status.Convert(err).Message()}
	}
	if status.Code(err) == codes.InvalidArgument {
		return executor.Description{}, executor.WrongSettings(fmt.Errorf("executor %s: %s", w.name, status.Convert(err).Message()))
	}
	if status.Code(err) == codes.Unknown {
		return executor.Description{}, answeredError(status.Convert(err).Message())
	}
	if err != nil {
		return executor.Description{}, fmt.Errorf("describe: %s", status.Convert(err).Message())
	}
	said := wire.DecodeDescription(d)
	if err := said.Validate(); err != nil {
		return executor.Description{}, answeredError(err.Error())
	}
	if said.Fingerprint == nil {
		said.Fingerprint = map[string]string{}
	}
	// Ranks that share a device run at other speeds than those that have their own.
	if n := len(said.Devices); n > 0 && said.Fingerprint["devices"] == "" {
		said.Fingerprint["devices"] = strconv.Itoa(n)
	}
	maps.Copy(said.Fingerprint, w.depends)
	return said, nil
}

// maxDescription is how many bytes a description may have.
const maxDescription = 4 << 20

// tooLarge reports whether an error is about a message above our limit.
func tooLarge(err error) bool {
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message larger than max")
}

// Stop kills the process and all that it started.
func (w *Worker) Stop() {
	_ = w.process.Kill(context.Background())
	w.client.Kill() // the process is dead: this ends the library's goroutines
}

// Shutdown tells the process to end, waits for that, and returns the names of the sockets
// and the number of processes that it left behind. The error is that it has not ended.
func (w *Worker) Shutdown() (sockets []string, processes int, err error) {
	go w.control.Close() // the connection may end before this is answered
	if !w.process.endsWithin(w.grace) {
		return nil, 0, fmt.Errorf("still there %s after its goodbye", w.grace)
	}
	left, err := os.ReadDir(w.process.sockets)
	if err != nil {
		return nil, w.process.left, ignoreNotExist(err)
	}
	return lists.Map(left, fs.DirEntry.Name), w.process.left, nil
}

// disconnect tells the process to end, and kills it if that takes too long.
func (w *Worker) disconnect() {
	_, _, _ = w.Shutdown()
	w.Stop()
}

func (w *Worker) alive() bool { return w.process.alive() }
