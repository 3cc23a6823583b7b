package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
)

// heartbeatEvery is the time between heartbeats of a running trial.
const heartbeatEvery = 250 * time.Millisecond

// documentCacheBytes is how many bytes of documents an executor keeps loaded.
const documentCacheBytes = 512 << 20

// server serves the protocol for an implementation, in the executor's process.
type server struct {
	protocol.UnimplementedExecutorServer
	impl   executor.Executor
	loaded *documentCache
	// busy is held while the implementation runs a trial, even one that the host has
	// given up: two must never share a device.
	busy sync.Mutex

	mu   sync.Mutex
	desc *executor.Description // as last described
}

func newServer(impl executor.Executor) *server {
	return &server{impl: impl, loaded: newDocumentCache(documentCacheBytes)}
}

func (s *server) Describe(ctx context.Context, _ *protocol.DescribeRequest) (*protocol.Description, error) {
	d, err := s.impl.Describe(ctx)
	if err != nil {
		return nil, statusOf(err)
	}
	s.mu.Lock()
	s.desc = &d
	s.mu.Unlock()
	return wire.EncodeDescription(d), nil
}

func (s *server) Load(in grpc.ClientStreamingServer[protocol.LoadRequest, protocol.LoadReply]) error {
	first, err := in.Recv()
	if err != nil {
		return err
	}
	h := first.GetHeader()
	switch {
	case h == nil:
		return status.Error(codes.InvalidArgument, "document without a header")
	case h.Bytes < 0 || h.Bytes > wire.MaxDocument:
		return status.Errorf(codes.ResourceExhausted, "document of %d bytes: at most %d", h.Bytes, wire.MaxDocument)
	}
	// b grows as bytes arrive, so that a false header reserves no memory.
	var b []byte
	for {
		part, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		b = append(b, part.GetChunk()...)
		if int64(len(b)) > h.Bytes {
			return status.Errorf(codes.InvalidArgument, "document longer than the %d bytes announced", h.Bytes)
		}
	}
	if int64(len(b)) != h.Bytes {
		return status.Errorf(codes.InvalidArgument, "document of %d bytes where %d were announced", len(b), h.Bytes)
	}
	d, err := wire.DecodeDocument(h.Kind, h.Hash, b)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	s.loaded.put(d)
	return in.SendAndClose(&protocol.LoadReply{})
}

func (s *server) Run(r *protocol.RunRequest, out grpc.ServerStreamingServer[protocol.RunEvent]) error {
	t, err := s.trial(r)
	if err != nil {
		return err
	}
	ctx := out.Context()
	var done atomic.Int64
	type outcome struct {
		m   executor.Measurement
		err error
	}
	result := make(chan outcome, 1)
	go func() {
		// A panic here ends the process. The host sees a crash, and the trace on
		// standard error.
		s.busy.Lock()
		defer s.busy.Unlock()
		if ctx.Err() != nil {
			result <- outcome{err: ctx.Err()}
			return
		}
		m, err := s.impl.Run(executor.WithProgress(ctx, &done), t)
		result <- outcome{m, err}
	}()
	tick := time.NewTicker(heartbeatEvery)
	defer tick.Stop()
	for {
		select {
		case o := <-result:
			if o.err != nil {
				return statusOf(o.err)
			}
			return out.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Measurement{Measurement: &protocol.Measurement{
				TimesUs: o.m.TimesUS,
				Wrong:   o.m.Wrong,
				Checked: o.m.Checked,
				Note:    o.m.Note,

				CostSeconds: o.m.CostSeconds,
			}}})
		case <-tick.C:
			if err := out.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Heartbeat{Heartbeat: &protocol.Heartbeat{Progress: done.Load()}}}); err != nil {
				return err
			}
		case <-ctx.Done():
			return statusOf(ctx.Err())
		}
	}
}

// trial returns the trial of a request, with the documents that its hashes name. The error
// is a gRPC status.
func (s *server) trial(r *protocol.RunRequest) (executor.Trial, error) {
	t, err := wire.DecodeTrial(r)
	if err != nil {
		return executor.Trial{}, status.Error(codes.InvalidArgument, err.Error())
	}
	topology := s.loaded.get(r.Topology)
	if topology == nil || topology.Topology == nil {
		return executor.Trial{}, status.Errorf(codes.NotFound, "topology %.12s is not loaded", r.Topology)
	}
	t.Topology = topology.Topology
	if t.Native == nil {
		program := s.loaded.get(r.Program)
		if program == nil || program.Program == nil {
			return executor.Trial{}, status.Errorf(codes.NotFound, "program %.12s is not loaded", r.Program)
		}
		t.Program = program.Program
	}
	if err := t.Validate(); err != nil {
		return executor.Trial{}, status.Error(codes.InvalidArgument, err.Error())
	}
	s.mu.Lock()
	desc := s.desc
	s.mu.Unlock()
	if desc != nil {
		if err := desc.Refuses(&t); err != nil {
			return executor.Trial{}, status.Error(codes.Unimplemented, err.Error())
		}
	}
	return t, nil
}

// statusOf returns the gRPC status of an implementation's error.
func statusOf(err error) error {
	code := codes.Unknown
	switch {
	case errors.Is(err, executor.ErrUnsupported):
		code = codes.Unimplemented
	case errors.Is(err, executor.ErrUnavailable):
		code = codes.FailedPrecondition
	case errors.Is(err, executor.ErrSettings):
		code = codes.InvalidArgument
	case errors.Is(err, executor.ErrDeviceLost), errors.Is(err, executor.ErrLost), errors.As(err, new(*executor.CrashError)): // the last two from a host that serves another
		code = codes.Aborted
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return status.Error(code, err.Error())
}
