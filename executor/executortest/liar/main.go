package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/colltune/colltune/executor/protocol"
)

// lie is one way of misbehaving: at the start, in the description, or in a trial. Where a
// function is nil, it behaves.
type lie struct {
	start    func()
	describe func(d *protocol.Description) error
	run      func(r *protocol.RunRequest, out stream) error
}

type stream = grpc.ServerStreamingServer[protocol.RunEvent]

var lies = map[string]lie{
	"honest": {},

	// At its start.
	"silent":     {start: func() { time.Sleep(time.Hour) }},
	"talkative":  {start: func() { fmt.Println(strings.Repeat("x", 200_000)) }},
	"speechless": {describe: func(*protocol.Description) error { time.Sleep(time.Hour); return nil }},

	// In its description.
	"huge-description": {describe: func(d *protocol.Description) error { d.Version = strings.Repeat("9", 50<<20); return nil }},
	"long-description": {describe: func(d *protocol.Description) error {
		d.Fingerprint["device"] = strings.Repeat("9", 100_000)
		return nil
	}},
	"many-algorithms":   {describe: manyAlgorithms},
	"negative-limits":   {describe: func(d *protocol.Description) error { d.MaxRanks = -4; return nil }},
	"changing":          {describe: changing, run: diesOnce},
	"changing-limits":   {describe: changingLimits, run: diesOnce},
	"another-each-time": {describe: another, run: diesOnce},
	"announces-more": {run: func(*protocol.RunRequest, stream) error {
		return status.Error(codes.Unimplemented, "no such protocol after all")
	}},

	// In its times.
	"no-time":        {run: answer(&protocol.Measurement{Checked: true})},
	"zero":           {run: answer(times(0))},
	"negative":       {run: answer(times(-3))},
	"nan":            {run: answer(times(math.NaN()))},
	"infinite":       {run: answer(times(math.Inf(1)))},
	"absurd":         {run: answer(times(1e308, 1e308))},
	"too-fast":       {run: answer(times(1e-6))},
	"one-bad-time":   {run: answer(times(100, 100, -1))},
	"many-times":     {run: answer(times(make100(3_000_000)...))},
	"too-many-times": {run: answer(times(make100(30)...))},
	"huge-answer":    {run: answer(times(make100(10_000_000)...))},
	"huge-note":      {run: noted(strings.Repeat("n", 20<<20))},
	"long-note":      {run: noted(strings.Repeat("n\n\x1b[31m", 20_000))},
	"long-error": {run: func(*protocol.RunRequest, stream) error {
		return status.Error(codes.Unknown, strings.Repeat("e", 100_000))
	}},

	// In its results.
	"wrong":           {run: answer(&protocol.Measurement{TimesUs: []float64{100}, Wrong: 3, Checked: true})},
	"wrong-unchecked": {run: answer(&protocol.Measurement{TimesUs: []float64{100}, Wrong: 3})},
	"minus-wrong":     {run: answer(&protocol.Measurement{TimesUs: []float64{100}, Wrong: -3, Checked: true})},
	"unchecked":       {run: answer(&protocol.Measurement{TimesUs: []float64{100}})},
	"pays-back":       {run: answer(&protocol.Measurement{TimesUs: []float64{100}, CostSeconds: -1})},

	// Out of order.
	"nothing-at-all": {run: func(*protocol.RunRequest, stream) error { return nil }},
	"empty-event":    {run: func(_ *protocol.RunRequest, out stream) error { return out.Send(&protocol.RunEvent{}) }},
	"two-answers": {run: func(_ *protocol.RunRequest, out stream) error {
		_ = send(out, times(100))
		return send(out, times(1))
	}},
	"goes-on": {run: func(_ *protocol.RunRequest, out stream) error {
		_ = send(out, times(100))
		return beat(out, 1)
	}},
	"fails-after": {run: func(_ *protocol.RunRequest, out stream) error {
		_ = send(out, times(100))
		return status.Error(codes.Unknown, "it failed after all")
	}},
	"never-ends": {run: func(_ *protocol.RunRequest, out stream) error {
		_ = send(out, times(100))
		<-out.Context().Done()
		return nil
	}},
	"forgets":    {run: func(*protocol.RunRequest, stream) error { return status.Error(codes.NotFound, "never seen it") }},
	"only-beats": {run: func(_ *protocol.RunRequest, out stream) error { return beats(out, func(int64) int64 { return 0 }) }},
	"steps-back": {run: func(_ *protocol.RunRequest, out stream) error {
		return beats(out, func(i int64) int64 { return 1000 - i })
	}},
	"dies-answers": {run: func(_ *protocol.RunRequest, out stream) error { defer os.Exit(3); return send(out, times(100)) }},
}

func times(us ...float64) *protocol.Measurement {
	return &protocol.Measurement{TimesUs: us, Checked: true}
}

func make100(n int) []float64 {
	if n > 1000 && !strings.HasSuffix(os.Args[0], "many-times") && !strings.HasSuffix(os.Args[0], "huge-answer") {
		return nil // the table makes all rows, and this takes memory
	}
	us := make([]float64, n)
	for i := range us {
		us[i] = 100
	}
	return us
}

func noted(note string) func(*protocol.RunRequest, stream) error {
	m := times(100)
	m.Note = note
	return answer(m)
}

func answer(m *protocol.Measurement) func(*protocol.RunRequest, stream) error {
	return func(_ *protocol.RunRequest, out stream) error { return send(out, m) }
}

func send(out stream, m *protocol.Measurement) error {
	return out.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Measurement{Measurement: m}})
}

func beat(out stream, progress int64) error {
	return out.Send(&protocol.RunEvent{Event: &protocol.RunEvent_Heartbeat{Heartbeat: &protocol.Heartbeat{Progress: progress}}})
}

// beats sends heartbeats for ever.
func beats(out stream, progress func(i int64) int64) error {
	for i := int64(0); ; i++ {
		if err := beat(out, progress(i)); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func manyAlgorithms(d *protocol.Description) error {
	for i := range 100_000 {
		d.Native = append(d.Native, &protocol.NativeAlgorithm{Algorithm: fmt.Sprint("a", i)})
	}
	return nil
}

// died reports whether another process of this executor has died on purpose, by a file
// beside the executor's.
func died() bool {
	_, err := os.Stat(os.Args[0] + ".died")
	return err == nil
}

func diesOnce(_ *protocol.RunRequest, out stream) error {
	if died() {
		return send(out, times(100))
	}
	_ = os.WriteFile(os.Args[0]+".died", nil, 0o600)
	os.Exit(3)
	return nil
}

// changing describes another device once it has been started again.
func changing(d *protocol.Description) error {
	if died() {
		d.Fingerprint["device"] = "a better one"
	}
	return nil
}

// changingLimits keeps its fingerprint, and describes other limits then.
func changingLimits(d *protocol.Description) error {
	if died() {
		d.Protocols, d.MaxRanks = []string{"Simple"}, 2
	}
	return nil
}

// another describes another device in every process.
func another(d *protocol.Description) error {
	d.Fingerprint["device"] = fmt.Sprint(os.Getpid())
	return nil
}

// executor is the service.
type executor struct {
	protocol.UnimplementedExecutorServer
	lie
}

func (e *executor) Describe(context.Context, *protocol.DescribeRequest) (*protocol.Description, error) {
	d := &protocol.Description{
		Name: "liar", Version: "1", Deterministic: true, Fingerprint: map[string]string{"device": "none"},
		Protocols: []string{"LL", "LL128", "Simple"}, Dtypes: []string{"f32"}, Operations: []string{"sum"},
	}
	if e.describe == nil {
		return d, nil
	}
	return d, e.describe(d)
}

func (e *executor) Load(in grpc.ClientStreamingServer[protocol.LoadRequest, protocol.LoadReply]) error {
	for {
		if _, err := in.Recv(); err == io.EOF {
			return in.SendAndClose(&protocol.LoadReply{})
		} else if err != nil {
			return err
		}
	}
}

func (e *executor) Run(r *protocol.RunRequest, out stream) error {
	if e.run == nil {
		return send(out, times(100))
	}
	return e.run(r, out)
}

func main() {
	name := filepath.Base(os.Args[0])
	l, known := lies[name]
	if os.Getenv("COLLTUNE_EXECUTOR_COOKIE") == "" || !known {
		fmt.Fprintf(os.Stderr, "%s is an executor for colltune, and its file's name a lie that it knows\n", name)
		os.Exit(2)
	}
	if l.start != nil {
		l.start()
	}
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "liar")
	listener, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := grpc.NewServer()
	protocol.RegisterExecutorServer(server, &executor{lie: l})
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Shutdown", Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			_ = read(new(protocol.DescribeRequest)) // an empty message
			os.Remove(path)
			go func() {
				time.Sleep(50 * time.Millisecond) // for the answer to be sent
				os.Exit(0)
			}()
			return new(protocol.LoadReply), nil // and another
		}}},
	}, nil)
	fmt.Printf("1|1|unix|%s|grpc\n", path)
	_ = server.Serve(listener)
}
