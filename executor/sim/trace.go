package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/lists"
)

// A trace shows a simulated call in Chrome's trace-event format, which Perfetto reads: a
// process for each rank, in it a row for each threadblock, with its steps and waits as
// slices, and a counter for each link of the bytes a second that it carries.

// Limits of a trace: its slices and samples of counters, and its rows.
const (
	maxTraceEvents = 1 << 19
	maxTraceRows   = 1 << 16
)

// Traced says what a trace shows.
type Traced struct {
	Result
	Events  int     // slices and samples
	UntilUS float64 // when recording stopped for lack of room; 0: it did not
}

// Trace simulates a trial and writes its trace to w, as far as it was simulated: of a long
// loop over tiles that is its beginning. Errors are those of a run, of w, or wrap
// executor.ErrUnsupported if there are too many threadblocks to show.
func Trace(ctx context.Context, t executor.Trial, w io.Writer) (Traced, error) {
	return traceUpTo(ctx, t, w, maxTraceEvents)
}

// traceUpTo is Trace with a limit of events.
func traceUpTo(ctx context.Context, t executor.Trial, w io.Writer, events int) (Traced, error) {
	k, err := knobsOf(t)
	if err != nil {
		return Traced{}, err
	}
	p, err := PrepareUnfolded(t.Program, t.Topology)
	if err != nil {
		return Traced{}, err
	}
	if n := len(p.blocks); n > maxTraceRows {
		return Traced{}, fmt.Errorf("program has %d threadblocks: a trace shows at most %d: %w", n, maxTraceRows, executor.ErrUnsupported)
	}
	c, err := p.costs(k)
	if err != nil {
		return Traced{}, err
	}
	e := &engine{p: p}
	log := &tracer{e: e, room: events, marks: make([]float64, len(p.blocks)), lanes: make([]float64, p.sending), rates: make([]float64, p.links), shown: make([]float64, p.links)}
	e.rec = &recorder{e: e, trace: log}
	r, err := e.run(ctx, c)
	if err == nil {
		err = p.checkTime(r)
	}
	if err != nil {
		return Traced{}, err
	}
	says := Traced{Result: r, Events: len(log.slices) + len(log.samples), UntilUS: log.until}
	if log.until > 0 {
		says.UntilUS += c.launch
	}
	return says, log.write(w, c, says)
}

// tracer collects the events of a simulation. Once it is full it takes no more.
type tracer struct {
	e       *engine
	room    int
	until   float64 // when it was full; 0: not yet
	slices  []traceSlice
	samples []traceSample
	marks   []float64 // by threadblock: the end of its last slice
	lanes   []float64 // by lane: bytes a microsecond on it
	rates   []float64 // by link: the same, summed
	shown   []float64 // by link: its last sample
	changed []int32   // scratch: links
}

// traceSlice is a part of a threadblock's time: work at an op, or a wait before it.
type traceSlice struct {
	from, to        float64
	block, op, tile int32
	why             Cause // of a wait; CauseThreadblock: work
}

// traceSample is the rate of a link from a time on, in bytes a microsecond.
type traceSample struct {
	at, rate float64
	link     int32
}

// full reports whether there is no room for another event.
func (l *tracer) full() bool {
	if len(l.slices)+len(l.samples) < l.room {
		return false
	}
	if l.until == 0 {
		l.until = max(l.e.now, math.SmallestNonzeroFloat64)
	}
	return true
}

// works records that a threadblock has worked since its last slice.
func (l *tracer) works(i int32, to float64) { l.slice(i, to, CauseThreadblock) }

// waits records that a threadblock, which has worked until a time, waits until another.
func (l *tracer) waits(i int32, from, to float64, why Cause) {
	if to > from {
		l.works(i, from)
		l.slice(i, to, why)
	}
}

func (l *tracer) slice(i int32, to float64, why Cause) {
	if from := l.marks[i]; to > from && !l.full() {
		s := &l.e.blocks[i]
		l.slices = append(l.slices, traceSlice{from, to, i, s.op, s.tile, why})
		l.marks[i] = to
	}
}

// rated records that the flows of a lane have new rates.
func (l *tracer) rated(lane int32) {
	of := &l.e.p.lanes[lane]
	if of.links == 0 {
		return
	}
	rate := l.e.flows.rate(lane)
	for _, edge := range of.edges[:of.links] {
		l.rates[edge] += rate - l.lanes[lane]
		l.changed = append(l.changed, edge)
	}
	l.lanes[lane] = rate
}

// flushed records the rates of links, once all rates at this instant are known.
func (l *tracer) flushed() {
	for _, edge := range l.changed {
		rate := l.rates[edge]
		if rate < 1e-9*l.e.p.edges[edge].cap {
			rate = 0 // but for rounding
		}
		if rate != l.shown[edge] && !l.full() {
			l.shown[edge] = rate
			l.samples = append(l.samples, traceSample{l.e.now, rate, edge})
		}
	}
	l.changed = l.changed[:0]
}

// write writes the events as JSON, in microseconds from the start of the call.
func (l *tracer) write(w io.Writer, c *costs, says Traced) error {
	b := bufio.NewWriter(w)
	out := traceWriter{w: b}
	p := l.e.p
	other := map[string]any{
		"topology": p.topology.Name, "collective": p.program.Collective.Name, "protocol": c.proto.String(),
		"time_us": says.TimeUS, "tiles": says.Tiles, "tiles_simulated": says.Simulated,
	}
	if says.UntilUS > 0 {
		other["cut_at_us"] = says.UntilUS
	}
	out.begin(other)
	links := len(p.topology.Ranks) + 1 // a process after those of the ranks
	for r := range p.topology.Ranks {
		out.name("process_name", r+1, 0, fmt.Sprintf("rank %d", r))
	}
	out.name("process_name", links, 0, "links")
	for i := range p.blocks {
		b := &p.blocks[i]
		tb := &p.program.GPUs[b.rank].Threadblocks[b.id]
		out.name("thread_name", int(b.rank)+1, int(b.id)+1, fmt.Sprintf("threadblock %d, channel %d", b.id, tb.Channel))
		out.slice(b, "launch", "launch", 0, c.launch, nil)
	}
	for _, s := range l.slices {
		b := &p.blocks[s.block]
		tb := &p.program.GPUs[b.rank].Threadblocks[b.id]
		o := &p.ops[s.op]
		step := &tb.Steps[o.step]
		name, kind := step.Op.String(), "step"
		if s.why != CauseThreadblock {
			name, kind = "wait: "+waitNames[s.why], "wait"
		}
		args := map[string]any{"step": o.step, "tile": s.tile, "chunks": o.count}
		if o.kind == send || o.kind == fused {
			args["to"] = tb.Send
		}
		if o.kind == recv || o.kind == fused {
			args["from"] = tb.Recv
		}
		out.slice(b, name, kind, c.launch+s.from, c.launch+s.to, args)
	}
	names := p.linkNames()
	for _, s := range l.samples {
		out.event(map[string]any{
			"ph": "C", "pid": links, "name": names[s.link], "ts": micros(nanos(c.launch + s.at)),
			"args": map[string]any{"GB/s": json.Number(strconv.FormatFloat(s.rate/1e3, 'g', 7, 64))},
		})
	}
	return out.end(b)
}

// waitNames say what a threadblock waits for.
var waitNames = map[Cause]string{CauseLatency: "message", CauseSlots: "slot", CauseDependency: "dependency"}

func (p *Prepared) linkNames() []string {
	return lists.Map(p.linkEdges(), func(e int) string { return edgeName(p.topology, e) })
}

// traceWriter writes trace events one a line. Its first error stays.
type traceWriter struct {
	w    io.Writer
	next string // what stands before the next event
	err  error
}

func (t *traceWriter) begin(other map[string]any) {
	text, err := json.Marshal(other)
	t.err = err
	t.print("{\"displayTimeUnit\": \"ns\",\n\"otherData\": " + string(text) + ",\n\"traceEvents\": [\n")
}

func (t *traceWriter) end(b *bufio.Writer) error {
	t.print("\n]}\n")
	if t.err != nil {
		return t.err
	}
	return b.Flush()
}

func (t *traceWriter) event(e map[string]any) {
	text, err := json.Marshal(e)
	if t.err == nil {
		t.err = err
	}
	t.print(t.next + string(text))
	t.next = ",\n"
}

// name names a process, or one of its rows.
func (t *traceWriter) name(what string, pid, tid int, name string) {
	t.event(map[string]any{"ph": "M", "pid": pid, "tid": tid, "name": what, "args": map[string]any{"name": name}})
}

// slice writes a slice of a threadblock's row. Processes and rows are numbered from 1, as
// readers hide those of number 0. Times are whole nanoseconds, so that slices that follow
// each other do not overlap by rounding.
func (t *traceWriter) slice(b *block, name, kind string, from, to float64, args map[string]any) {
	at := nanos(from)
	e := map[string]any{
		"ph": "X", "pid": b.rank + 1, "tid": b.id + 1, "name": name, "cat": kind,
		"ts": micros(at), "dur": micros(nanos(to) - at),
	}
	if args != nil {
		e["args"] = args
	}
	t.event(e)
}

func (t *traceWriter) print(s string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, s)
	}
}

func nanos(us float64) int64 { return int64(math.Round(us * 1e3)) }

// micros prints nanoseconds as microseconds.
func micros(ns int64) json.Number {
	return json.Number(strconv.FormatInt(ns/1e3, 10) + "." + fmt.Sprintf("%03d", ns%1e3))
}
