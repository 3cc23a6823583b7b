package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// call makes one Run call and watches it: its deadline, its heartbeats, and
// whether the progress they tell grows.
func (c *worker) call(ctx context.Context, r *protocol.RunRequest, o HostOptions) (Measurement, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, err := c.rpc.Run(ctx, r, grpc.MaxCallRecvMsgSize(answerBytes(int(r.Iters))))
	if err != nil {
		return Measurement{}, err
	}
	events := receive(ctx, in)
	w := watch{worker: c, started: time.Now(), deadline: time.NewTimer(o.TrialTimeout), still: time.NewTimer(o.StuckAfter), stuckAfter: o.StuckAfter}
	defer w.deadline.Stop()
	defer w.still.Stop()
	exited, ended := c.process.exited, (<-chan time.Time)(nil)
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
			case errors.Is(got.err, io.EOF) && w.measured != nil:
				return *w.measured, nil
			case got.err != nil:
				return Measurement{}, runError(got.err)
			case w.measured != nil:
				return Measurement{}, errors.New("the executor went on after its measurement, which is to be the last thing it says of a trial")
			}
			if m := got.event.GetMeasurement(); m != nil {
				w.measured = &Measurement{TimesUS: m.TimesUs, Wrong: m.Wrong, Checked: m.Checked, Note: m.Note}
				continue // it counts once the trial has ended
			}
			w.heartbeat(ctx, got.event.GetHeartbeat())
		case <-w.still.C:
			return Measurement{}, w.stuck()
		case <-w.deadline.C:
			return Measurement{}, w.late()
		case <-exited:
			// The connection ends too, but may still hold something: take that
			// first.
			exited, ended = nil, time.After(stderrGrace)
		case <-ended:
			return Measurement{}, c.crash()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Measurement{}, w.late() // the caller's deadline counts as one
			}
			return Measurement{}, ctx.Err()
		}
	}
}

// watch is what is known of a running trial.
type watch struct {
	worker     *worker
	started    time.Time
	deadline   *time.Timer
	still      *time.Timer // fires when nothing moves
	stuckAfter time.Duration
	progress   int64 // as last told; 0: nothing yet
	measured   *Measurement
}

// heartbeat notes a sign of life. As long as a trial has told no progress, any
// heartbeat counts.
func (w *watch) heartbeat(ctx context.Context, beat *protocol.Heartbeat) {
	if p := beat.GetProgress(); p > w.progress || w.progress == 0 {
		w.progress = p
		Progress(ctx, p) // passed on, where this host serves another
		w.still.Reset(w.stuckAfter)
	}
}

// stuck gives up a trial in which nothing moves.
func (w *watch) stuck() error {
	if w.measured != nil {
		return w.unended()
	}
	if w.progress > 0 {
		return w.givenUp(true, fmt.Sprintf("its progress has stood still for %s", w.stuckAfter))
	}
	return w.givenUp(true, fmt.Sprintf("no heartbeat for %s", w.stuckAfter))
}

// late gives up a trial whose deadline has passed.
func (w *watch) late() error {
	if w.measured != nil {
		return w.unended()
	}
	if w.progress > 0 {
		return w.givenUp(false, "it was slow, but still advancing")
	}
	return w.givenUp(true, "it never told any progress")
}

func (w *watch) unended() error {
	return w.givenUp(true, "its measurement came, and no end of the trial")
}

func (w *watch) givenUp(stuck bool, why string) error {
	return &TimeoutError{After: time.Since(w.started), Stuck: stuck, Why: why, Stderr: w.worker.process.stderr.String()}
}

// answerBytes is how large a message of a trial may be: its times, and room for what
// else there is to say. An answer of any size would be read into our memory.
func answerBytes(iters int) int { return 1<<20 + 8*iters }

// runError is the error of a call that ended without a measurement.
func runError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the executor ended the trial without a measurement")
	}
	return err
}

// overtook reports whether an error is the caller's own deadline. The deadline
// travels with the call, and the executor may act on it a moment before we do.
func overtook(ctx context.Context, err error) bool {
	at, set := ctx.Deadline()
	code := status.Code(err)
	return set && time.Until(at) < time.Second && (code == codes.Canceled || code == codes.DeadlineExceeded)
}
