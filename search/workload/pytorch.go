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

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/libraries"
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

// pytorch reads a profiler's trace of one rank. An op waits for those that had ended when it
// began, and begins as long after them as it did: with the calls' own times, the step takes
// what was recorded.
func (t *tracer) pytorch(f File) error {
	events, err := profilerEvents(f)
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, func(a, b *profilerEvent) int { return cmp.Compare(a.TS, b.TS) })
	p := Program{Name: f.Name, File: f.Name}
	numbers := map[string]int{} // calls by group
	var streams []*recordedStream
	for _, e := range events {
		name := string(cmp.Or(e.Args.Stream, e.TID))
		var op Op
		if e.isCall() {
			k, err := t.profilerKind(e)
			if err != nil {
				return &libraries.Error{File: f.Name, Line: e.line, Msg: err.Error()}
			}
			group := fmt.Sprintf("%s %s", e.Args.Group, e.Args.Members)
			key := fmt.Sprintf("%s %d", group, numbers[group])
			numbers[group]++
			if k.Collective == "sendrecv" {
				key = "" // its other end is known by no name
			}
			if op, err = t.call(f.Name, e.line, k, key); err != nil {
				return err
			}
			if err := t.recorded(f.Name, e.line, k, e.Dur); err != nil {
				return err
			}
		} else {
			op = t.compute(e.Name, e.Dur, e.line)
		}
		op.Stream = "stream " + name
		i := slices.IndexFunc(streams, func(s *recordedStream) bool { return s.name == op.Stream })
		if i < 0 {
			if i = len(streams); i == maxStreams {
				return &libraries.Error{File: f.Name, Line: e.line, Msg: fmt.Sprintf("more than %d streams", maxStreams)}
			}
			streams = append(streams, &recordedStream{name: op.Stream, waited: map[int]int{}})
		}
		op.After, op.DelayUS = waits(streams, i, e.TS, events[0].TS)
		s := streams[i]
		s.ops, s.ends = append(s.ops, len(p.Ops)), append(s.ends, e.TS+e.Dur)
		p.Ops = append(p.Ops, op)
	}
	t.step.Programs = append(t.step.Programs, p)
	return nil
}

// maxStreams is the most streams of a trace.
const maxStreams = 1000

// recordedStream is the ops of a stream and when they ended. ended is how many of them had
// ended when the last event of all streams began, and waited how many of each other stream
// this one has waited for.
type recordedStream struct {
	name   string
	ops    []int
	ends   []float64
	ended  int
	waited map[int]int
}

// waits returns what an op that began at a time on a stream waits for, and how long after
// that it began. Times are relative to the first event.
func waits(streams []*recordedStream, on int, begin, first float64) (after []int, delay float64) {
	last := first
	for i, s := range streams {
		for s.ended < len(s.ops) && s.ends[s.ended] <= begin {
			s.ended++
		}
		if s.ended == 0 {
			continue
		}
		last = max(last, s.ends[s.ended-1])
		if i != on && streams[on].waited[i] < s.ended {
			streams[on].waited[i] = s.ended
			after = append(after, s.ops[s.ended-1])
		}
	}
	if s := streams[on]; len(s.ends) > 0 {
		last = max(last, s.ends[len(s.ends)-1])
	}
	return after, max(0, begin-last)
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
		return nil, &libraries.Error{File: f.Name, Line: 1, Msg: "has no kernels of a GPU: want a trace with ProfilerActivity.CUDA"}
	}
	return events, nil
}

// profilerCollectives are the names that PyTorch's process groups have for collectives.
var profilerCollectives = map[string]string{
	"allreduce": "allreduce", "allreduce_coalesced": "allreduce", "all_reduce": "allreduce", "barrier": "allreduce",
	"allgather": "allgather", "all_gather": "allgather", "_allgather_base": "allgather", "allgather_into_tensor_coalesced": "allgather",
	"reduce_scatter": "reducescatter", "_reduce_scatter_base": "reducescatter", "reduce_scatter_tensor_coalesced": "reducescatter",
	"all_to_all": "alltoall", "all_to_allv": "alltoall", "alltoall": "alltoall", "alltoall_base": "alltoall",
	"broadcast": "broadcast", "_broadcast_oop": "broadcast", "reduce": "reduce", "_reduce_oop": "reduce", "gather": "gather", "scatter": "scatter",
	"send": "sendrecv", "recv": "sendrecv",
}

// profilerTypes are PyTorch's names of element types where lower case is not enough.
var profilerTypes = map[string]string{
	"byte": "u8", "char": "i8", "bool": "u8", "long": "i64", "int": "i32", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}

// profilerKind is the kind of a call, with its size as nccl-tests counts it.
func (t *tracer) profilerKind(e *profilerEvent) (Kind, error) {
	a := &e.Args
	if a.Collective == "" {
		return Kind{}, fmt.Errorf("%.60q does not say its collective: want a trace of PyTorch 2.4 or newer", e.Name)
	}
	name, known := profilerCollectives[a.Collective]
	if !known {
		return Kind{}, fmt.Errorf("unknown collective %.40q", a.Collective)
	}
	dtype := strings.ToLower(a.DType)
	dtype, err := libraries.ParseCondition(libraries.DType, cmp.Or(profilerTypes[dtype], dtype))
	if err != nil {
		return Kind{}, err
	}
	width := libraries.DTypeBytes(dtype)
	if width == 0 || a.In < 0 || a.Out < 0 || a.Ranks < 1 || a.Ranks > maxRanks {
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
