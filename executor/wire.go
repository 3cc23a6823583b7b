package executor

import (
	"context"
	"math"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/colltune/colltune/executor/protocol"
)

// ProtocolVersion is the version of executor/protocol both ends speak.
const ProtocolVersion = 1

// handshake is how an executor knows that colltune started it, and not a curious
// user. It is no secret.
var handshake = plugin.HandshakeConfig{
	MagicCookieKey:   "COLLTUNE_EXECUTOR_COOKIE",
	MagicCookieValue: "e3f6f3a4-ring-of-eight",
}

// service is the name under which every version of the protocol is served.
const service = "executor"

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

// versions is what an end of the connection speaks; server is nil in the host.
func versions(server protocol.ExecutorServer) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{ProtocolVersion: {service: &wire{server: server}}}
}

// grpcServer lifts gRPC's limit of 4 MiB a message, as go-plugin does for its
// clients: a measurement may have very many iterations.
func grpcServer(o []grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(o, grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32))...)
}
