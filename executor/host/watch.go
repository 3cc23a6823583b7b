package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
)

// stderrGrace is how long after the end of its process a connection may take to
// deliver what it still holds.
const stderrGrace = 200 * time.Millisecond

// received is one thing that a Run call delivered: an event, or its end.
type received struct {
	event *protocol.RunEvent
	err   error
}

// receive delivers what a Run call sends, until it or the context ends.
func receive(ctx context.Context, in grpc.ServerStreamingClient[protocol.RunEvent]) <-chan received {
	events := make(chan received)
	go func() {
		for {
			e, err := in.Recv()
			select {
			case events <- received{e, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return events
}

// call makes one Run call and watches its deadline, its heartbeats and its progress.
func (w *Worker) call(ctx context.Context, r *protocol.RunRequest) (executor.Measurement, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := w.RPC.Run(ctx, r, grpc.MaxCallRecvMsgSize(answerBytes(int(r.Iters))))
	if err != nil {
		return executor.Measurement{}, err
	}
	events := receive(ctx, in)
	t := watch{worker: w, started: time.Now(), deadline: time.NewTimer(w.o.TrialTimeout), still: time.NewTimer(w.o.StuckAfter), stuckAfter: w.o.StuckAfter}
	defer t.deadline.Stop()
	defer t.still.Stop()
	exited, ended := w.process.exited, (<-chan time.Time)(nil)
	for {
		select {
		case got := <-events:
			if got.err != nil && ctx.Err() == nil && overtook(ctx, got.err) {
				<-ctx.Done()
				continue // see what that comes to when it is
			}
			switch {
			case ctx.Err() != nil:
				continue
			case errors.Is(got.err, io.EOF) && t.measured != nil:
				return *t.measured, nil
			case got.err != nil:
				return executor.Measurement{}, runError(got.err)
			case t.measured != nil:
				return executor.Measurement{}, errors.New("the executor sent more after its measurement: want that last")
			}
			if m := got.event.GetMeasurement(); m != nil {
				t.measured = &executor.Measurement{TimesUS: m.TimesUs, Wrong: m.Wrong, Checked: m.Checked, Note: m.Note, CostSeconds: m.CostSeconds}
				continue // it counts once the trial has ended
			}
			t.heartbeat(ctx, got.event.GetHeartbeat())
		case <-t.still.C:
			return executor.Measurement{}, t.stuck()
		case <-t.deadline.C:
			return executor.Measurement{}, t.late()
		case <-exited:
			// The connection ends too, but may still hold something: take that
			// first.
			exited, ended = nil, time.After(stderrGrace)
		case <-ended:
			return executor.Measurement{}, w.crash()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return executor.Measurement{}, t.late() // the caller's deadline counts as one
			}
			return executor.Measurement{}, ctx.Err()
		}
	}
}

// watch is the state of a running trial.
type watch struct {
	worker     *Worker
	started    time.Time
	deadline   *time.Timer
	still      *time.Timer // fires after stuckAfter without a heartbeat or progress
	stuckAfter time.Duration
	progress   int64 // as last reported; 0: none yet
	measured   *executor.Measurement
}

// heartbeat restarts the timer. Until a trial has reported progress, any heartbeat does;
// after that, only one with more of it.
func (t *watch) heartbeat(ctx context.Context, beat *protocol.Heartbeat) {
	if p := beat.GetProgress(); p > t.progress || t.progress == 0 {
		t.progress = p
		executor.Progress(ctx, p) // passed on, where this host serves another
		t.still.Reset(t.stuckAfter)
	}
}

// stuck gives up a trial in which nothing moves.
func (t *watch) stuck() error {
	if t.measured != nil {
		return t.unended()
	}
	if t.progress > 0 {
		return t.givenUp(fmt.Sprintf("its progress has stood still for %s", t.stuckAfter))
	}
	return t.givenUp(fmt.Sprintf("no heartbeat for %s", t.stuckAfter))
}

// late gives up a trial at its deadline.
func (t *watch) late() error {
	if t.measured != nil {
		return t.unended()
	}
	if t.progress > 0 {
		return t.givenUp("it was slow, but still advancing")
	}
	return t.givenUp("it never told any progress")
}

func (t *watch) unended() error {
	return t.givenUp("its measurement came, and no end of the trial")
}

func (t *watch) givenUp(why string) error {
	return &executor.TimeoutError{After: time.Since(t.started), Why: why, Stderr: t.worker.process.stderr.String()}
}

// answerBytes is how large a message of a trial may be: 8 bytes a time, and 1 MiB for the
// rest. Without a limit, an answer of any size would be read into our memory.
func answerBytes(iters int) int { return 1<<20 + 8*iters }

// runError is the error of a call that ended without a measurement.
func runError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the executor ended the trial without a measurement")
	}
	return err
}

// overtook reports whether an error is due to the caller's own deadline: it is sent with
// the call, and the executor may act on it a moment before we do.
func overtook(ctx context.Context, err error) bool {
	at, set := ctx.Deadline()
	code := status.Code(err)
	return set && time.Until(at) < time.Second && (code == codes.Canceled || code == codes.DeadlineExceeded)
}
