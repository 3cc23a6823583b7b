package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
)

// Run runs one trial, after sending what it needs. program and topology are the hashes of
// its documents. The error is a CrashError, a TimeoutError, the context's, or the
// executor's own answer.
func (w *Worker) Run(ctx context.Context, t executor.Trial, program, topology string) (executor.Measurement, error) {
	request := wire.EncodeTrial(t, program, topology)
	// Three rounds, because an executor may forget either document while it is
	// sent the other.
	for round := 0; ; round++ {
		if err := w.load(ctx, t, program, topology); err != nil {
			return executor.Measurement{}, err
		}
		m, err := w.call(ctx, request)
		if status.Code(err) != codes.NotFound || round == 2 {
			return m, w.callError(ctx, err)
		}
		// Which of the two it lacks, it does not say.
		delete(w.loaded, program)
		delete(w.loaded, topology)
	}
}

// load sends the documents that this executor hasn't been sent yet.
func (w *Worker) load(ctx context.Context, t executor.Trial, program, topology string) error {
	ctx, cancel := context.WithTimeout(ctx, w.o.TrialTimeout)
	defer cancel()
	for _, d := range []struct {
		kind   protocol.DocumentKind
		hash   string
		encode func() ([]byte, error)
	}{
		{protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY, topology, func() ([]byte, error) { return t.Topology.Encode(), nil }},
		{protocol.DocumentKind_DOCUMENT_KIND_PROGRAM, program, func() ([]byte, error) { return wire.EncodeProgram(t.Program) }},
	} {
		if w.loaded[d.hash] || d.kind == protocol.DocumentKind_DOCUMENT_KIND_PROGRAM && t.Program == nil {
			continue
		}
		b, err := d.encode()
		if err != nil {
			return err
		}
		if err := w.Send(ctx, d.kind, d.hash, b, len(b), wire.ChunkBytes); err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return &executor.TimeoutError{After: w.o.TrialTimeout, Why: "the executor does not take its program", Stderr: w.process.stderr.String()}
			}
			return w.callError(ctx, err)
		}
		w.loaded[d.hash] = true
	}
	return nil
}

// Send sends a document in pieces of piece bytes, under a header that announces its size
// in bytes. The error is gRPC's.
func (w *Worker) Send(ctx context.Context, kind protocol.DocumentKind, hash string, b []byte, announced, piece int) error {
	out, err := w.RPC.Load(ctx)
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

// callError turns an error of the connection into one that Run may return.
func (w *Worker) callError(ctx context.Context, err error) error {
	var crash *executor.CrashError
	var late *executor.TimeoutError
	if err == nil || errors.As(err, &crash) || errors.As(err, &late) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if tooLarge(err) {
		return fmt.Errorf("executor %s: its answer is larger than a trial's can be", w.name)
	}
	s, ok := status.FromError(err)
	if !ok {
		return fmt.Errorf("executor %s: %w", w.name, err)
	}
	switch s.Code() {
	case codes.Unavailable, codes.Internal, codes.Canceled:
		// The connection broke, most often because the process has died.
		if w.EndsAfter(err, time.Second) || s.Code() == codes.Unavailable {
			return w.crash()
		}
	case codes.Aborted:
		w.Stop()
		return &executor.CrashError{Executor: w.name, Exit: s.Message(), Stderr: w.process.stderr.String(), DeviceLost: true}
	case codes.Unimplemented:
		// An executor of ours has the same words in its message already.
		return fmt.Errorf("executor %s: %s: %w", w.name, strings.TrimPrefix(s.Message(), executor.ErrUnsupported.Error()+": "), executor.ErrUnsupported)
	}
	return fmt.Errorf("executor %s: %s", w.name, s.Message())
}

// EndsAfter waits for the end of the process after an error of a call, and reports whether
// it came. It waits longer than otherwise if the connection is gone: then the process has
// ended, or is about to, and on a busy machine that takes a while to be seen.
func (w *Worker) EndsAfter(err error, otherwise time.Duration) bool {
	if status.Code(err) == codes.Unavailable {
		otherwise = 10 * time.Second
	}
	return w.process.endsWithin(otherwise)
}

// crash returns a CrashError for the end of the process, with its last output.
func (w *Worker) crash() error {
	how := "connection lost"
	if !w.process.alive() {
		how = w.process.exit()
	}
	w.Stop()
	return &executor.CrashError{Executor: w.name, Exit: how, Stderr: w.process.stderr.String()}
}
