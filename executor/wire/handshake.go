package wire

import (
	"context"
	"math"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/colltune/colltune/executor/protocol"
)

// Version is the version of the protocol that both ends speak.
const Version = 1

// Handshake is how an executor knows that colltune started it, and not a curious
// user. It is no secret.
var Handshake = plugin.HandshakeConfig{
	MagicCookieKey:   "COLLTUNE_EXECUTOR_COOKIE",
	MagicCookieValue: "e3f6f3a4-ring-of-eight",
}

// Service is the name under which every version of the protocol is served.
const Service = "executor"

// wire joins go-plugin to the protocol, on both ends.
type wire struct {
	plugin.NetRPCUnsupportedPlugin
	server protocol.ExecutorServer // nil in the host
}

func (w *wire) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	protocol.RegisterExecutorServer(s, w.server)
	return nil
}

func (w *wire) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return protocol.NewExecutorClient(c), nil
}

// Versions returns the protocols that an end of the connection speaks, for go-plugin.
// server is nil in the host.
func Versions(server protocol.ExecutorServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Version: {Service: &wire{server: server}}}
}

// NewServer returns a server without gRPC's limit of 4 MiB a message, as go-plugin's
// clients have none: a measurement may have very many iterations.
func NewServer(o []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(o, grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32))...)
}
