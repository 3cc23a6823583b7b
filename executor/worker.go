package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor/protocol"
)

// worker is one executor process with its connection. It is used once: what
// comes after its death is another worker.
type worker struct {
	name    string
	depends map[string]string // what its settings add to its fingerprint
	leaves  time.Duration     // how long its goodbye may take
	process *process
	config  *plugin.ClientConfig
	client  *plugin.Client
	rpc     protocol.ExecutorClient
	loaded  map[string]bool // hashes it has been sent
	control plugin.ClientProtocol

	described Description // what it said when it was started
}

// How long an executor may take to end once it is told, and one that tells
// another at a launcher's far end; or twice as long as its start took, where that
// is more.
const (
	goodbyeTime    = 2 * time.Second
	farGoodbyeTime = 5 * time.Second
)

// pieceBytes is how much of a document travels in one message.
const pieceBytes = 256 << 10

// startWorker starts a process and asks it what it is.
func startWorker(ctx context.Context, cmd command, sockets string, o HostOptions) (*worker, Description, error) {
	said := newRing(o.StderrBytes)
	p := newProcess(cmd.path, cmd.args, said)
	p.memory, p.asked = o.Memory, cmd.launches
	c := &worker{name: cmd.name, depends: cmd.depends, leaves: goodbyeTime, process: p, loaded: map[string]bool{}}
	c.config = &plugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: versions(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     o.StartTimeout,
		Stderr:           said,
		SyncStdout:       said,
		SyncStderr:       said,
		Logger:           logger(o.Logger),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: sockets},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, dir string) (runner.Runner, error) {
			p.cmd.Env = append(environment(o.Env), spec.Env...)
			p.sockets = dir
			p.marker = plugin.EnvUnixSocketDir + "=" + dir // made for this run alone
			return p, nil
		},
	}
	c.client = plugin.NewClient(c.config)
	if cmd.remote {
		c.leaves = farGoodbyeTime
	}
	stopWatching := context.AfterFunc(ctx, func() { _ = p.Kill(ctx) })
	defer stopWatching()
	began := time.Now()
	d, err := c.connect(ctx, o.StartTimeout)
	c.leaves = max(c.leaves, 2*time.Since(began)) // a busy machine takes its time for both
	if err != nil {
		c.stop()
		if ctx.Err() != nil {
			return nil, Description{}, ctx.Err()
		}
		if errors.Is(err, ErrUnavailable) {
			return nil, Description{}, err // its own words say it all
		}
		if errors.As(err, new(answeredError)) {
			return nil, Description{}, fmt.Errorf("%w%s", err, quoted(said.String())) // that it ended then is our doing
		}
		late := ""
		if time.Since(began) >= o.StartTimeout {
			late = fmt.Sprintf(" in %s", o.StartTimeout)
		}
		return nil, Description{}, fmt.Errorf("%w%s (%s)%s", err, late, p.exit(), quoted(said.String()))
	}
	return c, d, nil
}

func (c *worker) connect(ctx context.Context, within time.Duration) (Description, error) {
	if err := c.greet(); err != nil {
		return Description{}, err
	}
	var err error
	if c.control, err = c.client.Client(); err != nil {
		return Description{}, err
	}
	raw, err := c.control.Dispense(service)
	if err != nil {
		return Description{}, err
	}
	c.rpc = raw.(protocol.ExecutorClient)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return c.describe(ctx)
}

// greet starts the process and reads its line. One without a certificate is
// spoken to in plain text: go-plugin would have taken it, but still shown its
// own. Then the socket must be one that nobody else can reach, in the folder
// made for it.
func (c *worker) greet() error {
	if _, err := c.client.Start(); err != nil {
		return err
	}
	parts := strings.Split(strings.TrimSpace(c.process.greeting()), "|")
	if len(parts) > 5 && parts[5] != "" {
		return nil
	}
	if network, path := parts[2], parts[3]; network != "unix" || filepath.Dir(filepath.Clean(path)) != filepath.Clean(c.process.sockets) {
		return fmt.Errorf("it shows no certificate, and listens at %s %s: want a Unix socket in the folder that %s names", network, path, plugin.EnvUnixSocketDir)
	}
	c.config.TLSConfig = nil
	return nil
}

// answeredError is what an executor itself says against describing itself.
type answeredError string

func (e answeredError) Error() string { return "describe: " + string(e) }

// describe asks the executor what it is, and adds what its settings say.
func (c *worker) describe(ctx context.Context) (Description, error) {
	d, err := c.rpc.Describe(ctx, &protocol.DescribeRequest{})
	if status.Code(err) == codes.FailedPrecondition {
		return Description{}, &UnavailableError{c.name, status.Convert(err).Message()}
	}
	if status.Code(err) == codes.Unknown {
		return Description{}, answeredError(status.Convert(err).Message())
	}
	if err != nil {
		return Description{}, fmt.Errorf("describe: %s", status.Convert(err).Message())
	}
	said := receiveDescription(d)
	for name, value := range c.depends {
		if said.Fingerprint == nil {
			said.Fingerprint = map[string]string{}
		}
		said.Fingerprint[name] = value
	}
	return said, nil
}

// run runs one trial, loading what it needs first. Its errors are a CrashError,
// a TimeoutError, the context's, or the executor's own answer.
func (c *worker) run(ctx context.Context, t Trial, program, topology string, o HostOptions) (Measurement, error) {
	request := sendTrial(t, program, topology)
	// Two rounds more than one: an executor may forget either document while
	// the other is sent.
	for round := 0; ; round++ {
		if err := c.load(ctx, t, program, topology, o); err != nil {
			return Measurement{}, err
		}
		m, err := c.call(ctx, request, o)
		if status.Code(err) != codes.NotFound || round == 2 {
			return m, c.told(ctx, err)
		}
		clear(c.loaded)
	}
}

// load sends the documents that this executor hasn't been sent yet.
func (c *worker) load(ctx context.Context, t Trial, program, topology string, o HostOptions) error {
	ctx, cancel := context.WithTimeout(ctx, o.TrialTimeout)
	defer cancel()
	for _, d := range []struct {
		kind   protocol.DocumentKind
		hash   string
		encode func() ([]byte, error)
	}{
		{protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, topology, func() ([]byte, error) { return t.Topology.Encode(), nil }},
		{protocol.DocumentKind_DOCUMENT_KIND_PROGRAM, program, func() ([]byte, error) { return encodeProgram(t.Program) }},
	} {
		if c.loaded[d.hash] || d.kind == protocol.DocumentKind_DOCUMENT_KIND_PROGRAM && t.Program == nil {
			continue
		}
		b, err := d.encode()
		if err != nil {
			return err
		}
		if err := c.send(ctx, d.kind, d.hash, b, len(b), pieceBytes); err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &TimeoutError{After: o.TrialTimeout, Stuck: true, Why: "the executor does not take its program", Stderr: c.process.stderr.String()}
			}
			return c.told(ctx, err)
		}
		c.loaded[d.hash] = true
	}
	return nil
}

// send sends a document under a header that announces so many bytes, piece by
// piece.
func (c *worker) send(ctx context.Context, kind protocol.DocumentKind, hash string, b []byte, announced, piece int) error {
	out, err := c.rpc.Load(ctx)
	if err != nil {
		return err
	}
	part := &protocol.LoadRequest{Part: &protocol.LoadRequest_Header{Header: &protocol.LoadHeader{Kind: kind, Hash: hash, Bytes: int64(announced)}}}
	for {
		if err := out.Send(part); err != nil {
			if errors.Is(err, io.EOF) {
				break // the answer says why it stopped listening
			}
			return err
		}
		if len(b) == 0 {
			break
		}
		n := min(len(b), piece)
		part = &protocol.LoadRequest{Part: &protocol.LoadRequest_Chunk{Chunk: b[:n]}}
		b = b[n:]
	}
	_, err = out.CloseAndRecv()
	return err
}

// told turns what came over the connection into the errors of run.
func (c *worker) told(ctx context.Context, err error) error {
	var crash *CrashError
	var late *TimeoutError
	if err == nil || errors.As(err, &crash) || errors.As(err, &late) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s, ok := status.FromError(err)
	if !ok {
		return fmt.Errorf("executor %s: %w", c.name, err)
	}
	switch s.Code() {
	case codes.Unavailable, codes.Internal, codes.Canceled:
		// A connection that broke: most often, a process that has died.
		if c.process.endsWithin(endAfter(err, time.Second)) || s.Code() == codes.Unavailable {
			return c.crash()
		}
	case codes.Aborted:
		c.stop()
		return &CrashError{Executor: c.name, Exit: s.Message(), Stderr: c.process.stderr.String()}
	case codes.Unimplemented:
		// It says so itself where it wraps the same error.
		return fmt.Errorf("executor %s: %s: %w", c.name, strings.TrimPrefix(s.Message(), ErrUnsupported.Error()+": "), ErrUnsupported)
	}
	return fmt.Errorf("executor %s: %s", c.name, s.Message())
}

// endAfter is how long the end of a process may come after an error of its
// connection. One that is gone was the process's: it has ended, or is about to,
// and on a busy machine that takes a while to be seen.
func endAfter(err error, otherwise time.Duration) time.Duration {
	if status.Code(err) == codes.Unavailable {
		return 10 * time.Second
	}
	return otherwise
}

// crash reports the end of the process; it waits for the last of its output.
func (c *worker) crash() error {
	how := "connection lost"
	if !c.process.alive() {
		how = c.process.exit()
	}
	c.stop()
	return &CrashError{Executor: c.name, Exit: how, Stderr: c.process.stderr.String()}
}

// stop ends the process at once.
func (c *worker) stop() {
	_ = c.process.Kill(context.Background())
	c.client.Kill() // nothing is left to kill: this collects the library's goroutines
}

// farewell tells the process to go, waits a while for its end, and gives what
// sockets it has left behind.
func (c *worker) farewell() ([]string, error) {
	go c.control.Close() // says goodbye; the answer may be the end of the connection
	if !c.process.endsWithin(c.leaves) {
		return nil, fmt.Errorf("still there %s after its goodbye", c.leaves)
	}
	left, _ := filepath.Glob(filepath.Join(c.process.sockets, "*"))
	return left, nil
}

// leave lets the process end by itself, for a moment.
func (c *worker) leave() {
	_, _ = c.farewell()
	c.stop()
}
