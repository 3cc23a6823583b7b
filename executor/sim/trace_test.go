package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
)

// traceFile is a trace as its readers see it.
type traceFile struct {
	OtherData   map[string]any `json:"otherData"`
	TraceEvents []struct {
		Ph       string
		Pid, Tid int
		Name     string
		Cat      string
		Ts, Dur  float64
		Args     map[string]any
	} `json:"traceEvents"`
}

func traced(t rapid.TB, trial executor.Trial, events int) (Traced, traceFile) {
	t.Helper()
	var b bytes.Buffer
	says, err := traceUpTo(context.Background(), trial, &b, events)
	if err != nil {
		t.Fatal(err)
	}
	var f traceFile
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	return says, f
}

// Slices of a row follow each other without overlap, from the launch to the end of the
// threadblock; the last ends with the call. A link never carries more than its capacity,
// and over the time what the program sends on it.
func TestTraceAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		top := randomSystem(rt, t)
		program := randomProgram(rt, len(top.Ranks))
		k := randomKnobs(rt, top)
		trial := executor.Trial{Program: program, Topology: top, Bytes: k.Bytes, Protocol: k.Protocol, TileBytes: max(k.TileBytes, k.Bytes/32/int64(len(top.Ranks)), 4)}
		plain, err := New().Run(context.Background(), trial)
		if err != nil {
			rt.Fatal(err)
		}
		says, f := traced(rt, trial, maxTraceEvents)
		if says.TimeUS != plain.TimesUS[0] || says.UntilUS != 0 {
			rt.Fatalf("traced %+v, run %v", says, plain.TimesUS)
		}
		type row struct{ pid, tid int }
		ends, last, rates, at, carried := map[row]float64{}, 0.0, map[string]float64{}, map[string]float64{}, map[string]float64{}
		events := 0
		for _, e := range f.TraceEvents {
			switch e.Ph {
			case "X":
				r := row{e.Pid, e.Tid}
				if e.Ts < ends[r]-1e-9 || e.Dur < 0 {
					rt.Fatalf("slice %+v begins before %v", e, ends[r])
				}
				ends[r] = e.Ts + e.Dur
				last = max(last, ends[r])
				if e.Cat != "launch" {
					events++
				}
			case "C":
				carried[e.Name] += rates[e.Name] * (e.Ts - at[e.Name]) * 1e3
				rates[e.Name], at[e.Name] = e.Args["GB/s"].(float64), e.Ts
				events++
			}
		}
		if events != says.Events {
			rt.Errorf("%d events, said to be %d", events, says.Events)
		}
		if says.Method != Whole {
			return
		}
		if math.Abs(last-says.TimeUS) > 1e-3 {
			rt.Errorf("the last slice ends at %v us, the call takes %v", last, says.TimeUS)
		}
		p, err := PrepareUnfolded(program, top)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := p.costs(Knobs{Bytes: trial.Bytes, Protocol: trial.Protocol, TileBytes: trial.TileBytes})
		if err != nil {
			rt.Fatal(err)
		}
		want := p.carried(c)
		for i, name := range p.linkNames() {
			room := 1e-3*want[i] + 2e-3*p.edges[i].cap*float64(says.Events) // times are whole nanoseconds
			if math.Abs(carried[name]-want[i]) > room || rates[name] != 0 {
				rt.Errorf("%s carries %v bytes, want %v, and %v GB/s at the end", name, carried[name], want[i], rates[name])
			}
		}
	})
}

// The trace of a message from one rank to another, as it would be drawn by hand: the
// example of TestCausesByHand.
func TestTraceByHand(t *testing.T) {
	b := build("sendrecv", 2, 1, false)
	b.tb(0, 1, -1, 0, ir.Send)
	b.tb(1, -1, 0, 0, ir.Recv)
	top := system(t, "ring:2", 1)
	for i := range top.Edges {
		top.Edges[i].Bandwidth, top.Edges[i].Latency = 1e18, 0
	}
	top.Protocols[topologies.LL] = topologies.Protocol{
		Launch: 5, Wire: 1, Slots: 8, Tile: 1 << 40, Latency: 0.25, SendCall: 0.3, RecvCall: 0.1,
		Pass: 4096, SendPass: 1, RecvPass: 0.5, MinPass: 4096, Threads: 256, Fused: 1,
	}
	_, f := traced(t, executor.Trial{Program: b.p, Topology: top, Bytes: 8192, Protocol: topologies.LL}, maxTraceEvents)
	var got []string
	for _, e := range f.TraceEvents {
		switch e.Ph {
		case "X":
			got = append(got, fmt.Sprintf("rank %d %s %.2f to %.2f", e.Pid-1, e.Name, e.Ts, e.Ts+e.Dur))
		case "C":
			got = append(got, fmt.Sprintf("%s %.3f GB/s at %.2f", e.Name, e.Args["GB/s"], e.Ts))
		}
	}
	slices.Sort(got)
	want := []string{
		"rank 0 launch 0.00 to 5.00",
		"rank 0 s 5.00 to 7.30",
		"rank 0 → rank 1 0.000 GB/s at 7.00",
		"rank 0 → rank 1 4.096 GB/s at 5.00",
		"rank 1 launch 0.00 to 5.00",
		"rank 1 r 5.25 to 7.85",
		"rank 1 wait: message 5.00 to 5.25",
	}
	if !slices.Equal(got, want) {
		t.Errorf("trace:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A trace that has no room for all events says where it ends, and one of too many
// threadblocks is refused.
func TestTraceLimits(t *testing.T) {
	trial := executor.Trial{Program: ringAllReduce(order(8), 4), Topology: system(t, "dgx-a100", 1), Bytes: 1 << 20, Protocol: topologies.Simple}
	whole, _ := traced(t, trial, maxTraceEvents)
	says, f := traced(t, trial, 100)
	if whole.UntilUS != 0 || says.Events != 100 || !(says.UntilUS > 0 && says.UntilUS < says.TimeUS) || f.OtherData["cut_at_us"] != says.UntilUS {
		t.Errorf("with room for 100 events: %+v, %v", says, f.OtherData)
	}
	if says.Result != whole.Result {
		t.Errorf("the cut trace is of %+v, the whole of %+v", says.Result, whole.Result)
	}
	wide := build("sendrecv", 2, 1, false)
	for range maxTraceRows {
		wide.tb(0, -1, -1, 0, ir.Copy)
	}
	wide.tb(1, -1, -1, 0, ir.Copy)
	_, err := Trace(context.Background(), executor.Trial{Program: wide.p, Topology: system(t, "ring:2", 1), Bytes: 1 << 10}, &bytes.Buffer{})
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("a trace of 65,537 threadblocks: %v", err)
	}
}

// An error of the writer is told.
func TestTraceWriteError(t *testing.T) {
	full := errors.New("disk full")
	trial := executor.Trial{Program: ringAllReduce(order(8), 4), Topology: system(t, "dgx-a100", 1), Bytes: 1 << 20, Protocol: topologies.Simple}
	if _, err := Trace(context.Background(), trial, failing{full}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
