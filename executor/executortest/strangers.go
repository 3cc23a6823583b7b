//go:build unix

package executortest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
)

// A stranger speaks the protocol without this package's server, and badly.
func init() {
	strangers["forgets"] = func() { serveStranger(&stranger{runs: 1}) }
	strangers["forgets-later"] = func() { serveStranger(&stranger{runs: 2}) }
	strangers["forgets-always"] = func() { serveStranger(&stranger{}) }
	strangers["ends-early"] = func() { serveStranger(&stranger{runs: 1 << 30, silent: true}) }
}

func serveStranger(s *stranger) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: "COLLTUNE_EXECUTOR_COOKIE", MagicCookieValue: os.Getenv("COLLTUNE_EXECUTOR_COOKIE")},
		VersionedPlugins: map[int]plugin.PluginSet{wire.Version: {"executor": strangerPlugin{s: s}}},
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

// wait says nothing.
func (s *stranger) wait(r *protocol.RunRequest) {
	time.Sleep(time.Duration(r.Iters) * s.pause)
}

// Executors in other languages may show no certificate.
func init() {
	folder := func() string { return os.Getenv("PLUGIN_UNIX_SOCKET_DIR") }
	strangers["plain-inside"] = func() { servePlain("unix", filepath.Join(folder(), "s")) }
	strangers["plain-elsewhere"] = func() { servePlain("unix", filepath.Join(filepath.Dir(folder()), "s")) }
	strangers["plain-tcp"] = func() { servePlain("tcp", "127.0.0.1:0") }
}

// servePlain is a stranger that does without go-plugin.
func servePlain(network, address string) {
	l, err := net.Listen(network, address)
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	protocol.RegisterExecutorServer(server, &stranger{runs: 1 << 30})
	fmt.Printf("1|1|%s|%s|grpc\n", network, l.Addr())
	_ = server.Serve(l)
	os.Exit(0)
}
