package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
)

// text is a JSON string or number, as text.
type text string

// UnmarshalJSON takes a number as it stands.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		err := json.Unmarshal(b, &s)
		*t = text(s)
		return err
	}
	*t = text(b)
	return nil
}

// profilerEvent is an event of PyTorch's profiler (Kineto): a kernel on a GPU's stream. Those
// of NCCL carry the arguments of the collective since PyTorch 2.4.
type profilerEvent struct {
	Ph, Cat, Name string
	TS, Dur       float64 // us
	TID           text
	Args          struct {
		Stream     text
		Device     text
		Collective string `json:"Collective name"`
		In         int64  `json:"In msg nelems"`
		Out        int64  `json:"Out msg nelems"`
		InSplit    text   `json:"In split size"`
		Ranks      int    `json:"Group size"`
		DType      string `json:"dtype"`
		Group      text   `json:"Process Group Name"`
		Members    text   `json:"Process Group Ranks"`
	}
	line int
}

// maxStreams is the most streams of a trace.
const maxStreams = 1000

// pytorch reads a profiler's trace of one rank. An op waits for those that had ended when it
// began, and begins as long after them as it did: with the calls' own times, the step takes
// what was recorded.
func (t *tracer) pytorch(f File) error {
	events, err := profilerEvents(f)
	if err == nil {
		err = t.count(f, events[len(events)-1].line, len(events))
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, func(a, b *profilerEvent) int { return cmp.Compare(a.TS, b.TS) })
	p := Program{Name: f.Name, File: f.Name}
	numbers := map[string]int{} // calls by group
	streams := map[string]int{}
	var last []int // by stream: its op
	past := past{last: events[0].TS}
	for _, e := range events {
		op := Op{}
		if e.isCall() {
			k, err := t.profilerKind(e)
			if err != nil {
				return &measured.Error{File: f.Name, Line: e.line, Msg: err.Error()}
			}
			group := fmt.Sprintf("%s %s", e.Args.Group, e.Args.Members)
			number := numbers[group]
			numbers[group]++
			if k.Collective == "sendrecv" {
				group = "" // its other end is known by no name
			}
			if op, err = t.call(f.Name, e.line, k, group, number); err != nil {
				return err
			}
			if err := t.note(f.Name, e.line, k, e.Dur); err != nil {
				return err
			}
		} else {
			op = t.compute(e.Name, e.Dur, e.line)
		}
		op.Stream = "stream " + string(cmp.Or(e.Args.Stream, e.TID))
		latest := past.advance(e.TS)
		i, known := streams[op.Stream]
		if known {
			before := events[last[i]]
			latest = max(latest, before.TS+before.Dur)
			last[i] = len(p.Ops)
		} else {
			if i = len(last); i == maxStreams {
				return &measured.Error{File: f.Name, Line: e.line, Msg: fmt.Sprintf("more than %d streams", maxStreams)}
			}
			streams[op.Stream] = i
			last = append(last, len(p.Ops))
		}
		for _, o := range past.recent {
			if o.stream != i {
				op.After = append(op.After, o.op)
			}
		}
		if t.waits += len(past.recent); t.waits > maxWaits {
			return &measured.Error{File: f.Name, Line: e.line, Msg: fmt.Sprintf("more than %d waits of a stream for another: want a trace of fewer kernels, or of fewer streams at a time", maxWaits)}
		}
		op.DelayUS = max(0, e.TS-latest)
		past.open.push(interval{i, len(p.Ops), e.TS, e.TS + e.Dur})
		p.Ops = append(p.Ops, op)
	}
	t.step.Programs = append(t.step.Programs, p)
	return nil
}

// interval is when an op was recorded to run.
type interval struct {
	stream, op int
	begin, end float64
}

func (i interval) before(o interval) bool { return i.end < o.end }

// past is the ops that had begun by a moment. All that had ended by then are waited for, but
// only recent ones need be named: the others had ended when the latest of these began.
type past struct {
	open   queue[interval]
	recent []interval // ended, one a stream
	latest interval   // the recent op that began last
	last   float64    // when the last op ended, or the trace began
}

// advance moves on to a later moment, and returns when the last op had ended by then.
func (p *past) advance(to float64) float64 {
	moved := false
	for len(p.open) > 0 && p.open[0].end <= to {
		o := p.open.pop()
		p.last = o.end
		if i := slices.IndexFunc(p.recent, func(r interval) bool { return r.stream == o.stream }); i < 0 {
			p.recent = append(p.recent, o)
		} else if p.recent[i].op < o.op {
			p.recent[i] = o
		}
		if len(p.recent) == 1 || o.op > p.latest.op {
			p.latest, moved = o, true
		}
	}
	if moved {
		p.recent = slices.DeleteFunc(p.recent, func(o interval) bool { return o.end <= p.latest.begin && o.op != p.latest.op })
	}
	return p.last
}

func (e *profilerEvent) isCall() bool {
	return e.Args.Collective != "" || strings.HasPrefix(e.Name, "nccl") || strings.HasPrefix(e.Name, "rccl")
}

// profilerEvents reads the kernels and copies of a trace.
func profilerEvents(f File) (events []*profilerEvent, err error) {
	d := json.NewDecoder(bytes.NewReader(f.Text))
	lines := lineCounter{text: f.Text}
	fail := func(err error) error { return decodeError(f, d, &lines, "a value", err) }
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fail(err)
		}
		if key != "traceEvents" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, fail(err)
			}
			continue
		}
		if open, err := d.Token(); err != nil || open != json.Delim('[') {
			return nil, fail(cmp.Or(err, errors.New("traceEvents: want a list")))
		}
		for d.More() {
			e := &profilerEvent{}
			if err := d.Decode(e); err != nil {
				return nil, fail(err)
			}
			if e.Ph != "X" || e.Cat != "kernel" && e.Cat != "gpu_memcpy" && e.Cat != "gpu_memset" {
				continue
			}
			if e.line = lines.at(d.InputOffset()); len(events) == maxEvents {
				return nil, fail(fmt.Errorf("more than %d kernels", maxEvents))
			}
			if !(e.TS >= 0 && e.TS < 1e18 && e.Dur >= 0 && e.Dur < 1e15) {
				return nil, fail(fmt.Errorf("%.60q: ts %g and dur %g: want times from 0", e.Name, e.TS, e.Dur))
			}
			events = append(events, e)
		}
		if _, err := d.Token(); err != nil {
			return nil, fail(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	if len(events) == 0 {
		return nil, &measured.Error{File: f.Name, Line: 1, Msg: "has no kernels of a GPU: want a trace with ProfilerActivity.CUDA"}
	}
	return events, nil
}

// profilerKind is the kind of a call, with its size as nccl-tests counts it.
func (t *tracer) profilerKind(e *profilerEvent) (Kind, error) {
	a := &e.Args
	if a.Collective == "" {
		return Kind{}, fmt.Errorf("%.60q does not say its collective: want a trace of PyTorch 2.4 or newer", e.Name)
	}
	name := collective.PyTorch.Collective(a.Collective)
	if name == "" {
		return Kind{}, fmt.Errorf("unknown collective %.40q", a.Collective)
	}
	dtype, err := measured.ParseCondition(measured.DType, cmp.Or(collective.PyTorch.DType(a.DType), strings.ToLower(a.DType)))
	if err != nil {
		return Kind{}, err
	}
	width := collective.MeasuredBytes(dtype)
	if width == 0 || a.In < 0 || a.Out < 0 || a.Ranks < 1 || a.Ranks > MaxRanks {
		return Kind{}, fmt.Errorf("%.40q of %d elements in, %d out, of type %.20q, over %d ranks: want all of them", a.Collective, a.In, a.Out, a.DType, a.Ranks)
	}
	elements, parts, traffic := a.In, int64(1), ""
	switch name {
	case "allgather", "gather":
		elements = max(a.Out, a.In)
	case "alltoall":
		if skew := skewOf(string(a.InSplit)); skew > 1 {
			name, traffic, parts = "alltoallv", "skew:"+strconv.FormatFloat(skew, 'g', 3, 64), int64(a.Ranks)
		}
	default:
		elements = max(a.In, a.Out)
		if name == "reducescatter" {
			elements = a.In
		}
	}
	bytes, err := units.Product(elements, parts, width)
	if err != nil {
		return Kind{}, fmt.Errorf("%.40q: %w", a.Collective, err)
	}
	ranks := a.Ranks
	if name == "sendrecv" {
		ranks = 2
	}
	return t.kindOf(name, dtype, traffic, bytes, ranks, membersOf(string(a.Members))), nil
}

// membersOf reads a list such as [0, 1, 2, 3]; none where it is cut short.
func membersOf(list string) (members []int) {
	for _, word := range strings.Split(strings.Trim(list, "[] "), ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			break
		}
		members = append(members, n)
	}
	return members
}

// skewOf is how many times the mean the largest of some splits is, to 3 digits; 1 where they
// are equal or not stated.
func skewOf(splits string) float64 {
	parts := membersOf(splits)
	sum := 0.0
	for _, n := range parts {
		if n < 0 {
			return 1
		}
		sum += float64(n)
	}
	if sum == 0 {
		return 1
	}
	return math.Round(float64(slices.Max(parts))*float64(len(parts))/sum*100) / 100
}
