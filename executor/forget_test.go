package executor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
)

// A stranger speaks the protocol without this package's server, and badly.
func init() {
	strangers["forgets"] = func() { serveStranger(&stranger{runs: 1}) }
	strangers["forgets-always"] = func() { serveStranger(&stranger{}) }
	strangers["ends-early"] = func() { serveStranger(&stranger{runs: 1 << 30, silent: true}) }
}

func serveStranger(s *stranger) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: "COLLTUNE_EXECUTOR_COOKIE", MagicCookieValue: os.Getenv("COLLTUNE_EXECUTOR_COOKIE")},
		VersionedPlugins: map[int]plugin.PluginSet{executor.ProtocolVersion: {"executor": strangerPlugin{s: s}}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
	os.Exit(0)
}

type strangerPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	s *stranger
}

func (p strangerPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	protocol.RegisterExecutorServer(s, p.s)
	return nil
}

func (strangerPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("not a host")
}

// stranger forgets every document after it was used in n runs.
type stranger struct {
	protocol.UnimplementedExecutorServer
	runs   int
	silent bool          // ends trials without a measurement
	pause  time.Duration // per iteration, without a heartbeat

	mu     sync.Mutex
	left   map[string]int // runs left, by hash
	loaded int            // documents it was sent
}

func (s *stranger) Describe(context.Context, *protocol.DescribeRequest) (*protocol.Description, error) {
	return &protocol.Description{Name: "stranger", Version: "1"}, nil
}

func (s *stranger) Load(in grpc.ClientStreamingServer[protocol.LoadRequest, protocol.LoadReply]) error {
	first, err := in.Recv()
	if err != nil {
		return err
	}
	var bytes int64
	for {
		part, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		bytes += int64(len(part.GetChunk()))
	}
	if h := first.GetHeader(); h == nil || h.Bytes != bytes {
		return status.Errorf(codes.InvalidArgument, "%d bytes after header %v", bytes, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == nil {
		s.left = map[string]int{}
	}
	s.left[first.GetHeader().Hash] = s.runs
	s.loaded++
	return in.SendAndClose(&protocol.LoadReply{})
}

func (s *stranger) Run(r *protocol.RunRequest, out grpc.ServerStreamingServer[protocol.RunEvent]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range []string{r.Program, r.Topology} {
		if s.left[hash] == 0 {
			return status.Errorf(codes.NotFound, "%.12s is not loaded", hash)
		}
	}
	s.left[r.Program]--
	s.left[r.Topology]--
	s.wait(r)
	if s.silent {
		return nil
	}
	return out.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Measurement{Measurement: &protocol.Measurement{
		TimesUs: []float64{1}, Note: fmt.Sprint(s.loaded),
	}}})
}

// What an executor has forgotten it is sent again, and nothing else is sent
// twice.
func TestForgottenDocumentsAreSentAgain(t *testing.T) {
	h := start(t, "forgets", executor.HostOptions{})
	for _, want := range []string{"2", "4", "6"} {
		m, err := h.Run(t.Context(), trial(t, 8))
		if err != nil || m.Note != want {
			t.Errorf("%s documents sent (%v), want %s", m.Note, err, want)
		}
	}
}

func TestStrangersErrors(t *testing.T) {
	for name, says := range map[string]string{
		"forgets-always": "is not loaded",
		"ends-early":     "without a measurement",
	} {
		_, err := start(t, name, executor.HostOptions{}).Run(t.Context(), trial(t, 8))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", name, err, says)
		}
	}
}
