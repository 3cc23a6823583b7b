package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor/protocol"
)

// worker is one executor process with its connection. It is never reused: when it
// dies, another worker takes its place.
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

	described Description // when it was started
}

// How long an executor may take to end when it is told to. One at a launcher's far
// end has longer, because it has another to tell. Both have at least twice as long
// as their start took.
var shutdownGrace = 2 * time.Second

const remoteShutdownGrace = 5 * time.Second

// pieceBytes is how much of a document one message carries.
const pieceBytes = 256 << 10

// startWorker starts a process and asks it what it is.
func startWorker(ctx context.Context, cmd command, sockets string, o HostOptions) (*worker, Description, error) {
	said := newRing(o.StderrBytes)
	p := newProcess(cmd.path, cmd.args, said)
	p.memory, p.asked = o.Memory, cmd.launches
	c := &worker{name: cmd.name, depends: cmd.depends, leaves: shutdownGrace, process: p, loaded: map[string]bool{}}
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
		c.leaves = remoteShutdownGrace
	}
	stopWatching := context.AfterFunc(ctx, func() { _ = p.Kill(ctx) })
	defer stopWatching()
	began := time.Now()
	d, err := c.connect(ctx, o.StartTimeout)
	c.leaves = max(c.leaves, 2*time.Since(began)) // a busy machine is slow at both
	if err != nil {
		c.stop()
		if ctx.Err() != nil {
			return nil, Description{}, ctx.Err()
		}
		if errors.Is(err, ErrUnavailable) {
			return nil, Description{}, err // the error says all there is to say
		}
		if errors.As(err, new(answeredError)) {
			return nil, Description{}, fmt.Errorf("%w%s", err, quoted(said.String())) // it ended because we stopped it, so how doesn't matter
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

// greet starts the process and reads its first line. An executor without a
// certificate is spoken to in plain text; go-plugin would accept it, but would
// show a certificate of our own. Its socket must then be in the folder made for
// it, where nobody else can reach it.
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

// answeredError is an executor's own answer to Describe, if that is an error.
type answeredError string

func (e answeredError) Error() string { return "describe: " + string(e) }

// describe asks the executor what it is, and adds to its fingerprint the number of
// its devices and what its settings say.
func (c *worker) describe(ctx context.Context) (Description, error) {
	d, err := c.rpc.Describe(ctx, &protocol.DescribeRequest{}, grpc.MaxCallRecvMsgSize(maxDescription))
	if tooLarge(err) {
		return Description{}, answeredError(fmt.Sprintf("its description is larger than %d bytes", maxDescription))
	}
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
	if err := said.validate(); err != nil {
		return Description{}, answeredError(err.Error())
	}
	if said.Fingerprint == nil {
		said.Fingerprint = map[string]string{}
	}
	// Ranks that share a device run at other speeds than those that have their own.
	if n := len(said.Devices); n > 0 && said.Fingerprint["devices"] == "" {
		said.Fingerprint["devices"] = strconv.Itoa(n)
	}
	maps.Copy(said.Fingerprint, c.depends)
	return said, nil
}

// maxDescription is how many bytes a description may have.
const maxDescription = 4 << 20

// tooLarge reports whether an error is that a message is larger than we take.
func tooLarge(err error) bool {
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message larger than max")
}

// run runs one trial, after sending what it needs. Its error is a CrashError, a
// TimeoutError, the context's, or the executor's own answer.
func (c *worker) run(ctx context.Context, t Trial, program, topology string, o HostOptions) (Measurement, error) {
	request := sendTrial(t, program, topology)
	// Three rounds, because an executor may forget either document while it is
	// sent the other.
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

// send sends a document in pieces, under a header that announces its size in bytes.
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

// told turns an error of the connection into one that run may return.
func (c *worker) told(ctx context.Context, err error) error {
	var crash *CrashError
	var late *TimeoutError
	if err == nil || errors.As(err, &crash) || errors.As(err, &late) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if tooLarge(err) {
		return fmt.Errorf("executor %s: its answer is larger than that of a trial can be", c.name)
	}
	s, ok := status.FromError(err)
	if !ok {
		return fmt.Errorf("executor %s: %w", c.name, err)
	}
	switch s.Code() {
	case codes.Unavailable, codes.Internal, codes.Canceled:
		// The connection broke, most often because the process has died.
		if c.process.endsWithin(endAfter(err, time.Second)) || s.Code() == codes.Unavailable {
			return c.crash()
		}
	case codes.Aborted:
		c.stop()
		return &CrashError{Executor: c.name, Exit: s.Message(), Stderr: c.process.stderr.String(), device: true}
	case codes.Unimplemented:
		// An executor of ours has the same words in its message already.
		return fmt.Errorf("executor %s: %s: %w", c.name, strings.TrimPrefix(s.Message(), ErrUnsupported.Error()+": "), ErrUnsupported)
	}
	return fmt.Errorf("executor %s: %s", c.name, s.Message())
}

// endAfter is how long to wait for the end of the process after an error. If the
// connection is gone the process has ended, or is about to, and on a busy machine
// that takes a while to be seen.
func endAfter(err error, otherwise time.Duration) time.Duration {
	if status.Code(err) == codes.Unavailable {
		return 10 * time.Second
	}
	return otherwise
}

// crash reports the end of the process, once all of its output has been read.
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
	c.client.Kill() // the process is dead: this ends the library's goroutines
}

// shutdown tells the process to end, waits for that, and returns the sockets that
// it left behind.
func (c *worker) shutdown() ([]string, error) {
	go c.control.Close() // says goodbye; the connection may end before it is answered
	if !c.process.endsWithin(c.leaves) {
		return nil, fmt.Errorf("still there %s after its goodbye", c.leaves)
	}
	left, err := os.ReadDir(c.process.sockets)
	if err != nil {
		return nil, gone(err)
	}
	names := make([]string, len(left))
	for i, e := range left {
		names[i] = e.Name()
	}
	return names, nil
}

// disconnect lets the process end by itself, and ends it if that takes too long.
func (c *worker) disconnect() {
	_, _ = c.shutdown()
	c.stop()
}
