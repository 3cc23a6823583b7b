package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/units"
)

// File is a file of a step, or one rank's trace.
type File struct {
	Name string
	Text []byte
}

// unmarked is the file without a byte order mark.
func (f File) unmarked() File {
	f.Text = files.TrimMark(f.Text)
	return f
}

// MaxTraceBytes is the longest trace that is read, and maxEvents the most ops of all of them.
const (
	MaxTraceBytes = 2 << 30
	maxEvents     = 4_000_000
)

// traces are what reads each format of a trace.
var traces = map[measured.Format]func(*tracer, File) error{
	measured.PyTorch: (*tracer).pytorch, measured.Chakra: (*tracer).chakra, measured.NCCLLog: (*tracer).ncclLog,
}

// Read reads a step of a TOML file, as Parse does, or of traces, one a rank: PyTorch's
// profiler, Chakra's execution traces as JSON, or NCCL's debug log, which may hold many
// ranks. The rows are what the calls of traces took, as a library named recorded; none where
// no times were recorded.
func Read(files []File, o Options) (*Step, []measured.Row, error) {
	t := &tracer{step: &Step{Name: files[0].Name, File: files[0].Name}, options: o, kinds: map[Kind]int{}, joined: map[joint]seen{}, counts: map[string]int{}}
	for _, f := range files {
		f = f.unmarked()
		format, traced := measured.Sniff(f.Text, measured.PyTorch, measured.Chakra, measured.NCCLLog)
		switch {
		case len(bytes.TrimSpace(f.Text)) == 0:
			return nil, nil, &measured.Error{File: f.Name, Line: 1, Msg: "is empty: want a step in TOML, or a trace"}
		case traced:
			if len(o.Parameters) > 0 {
				return nil, nil, &measured.Error{File: f.Name, Line: 1, Msg: "is a trace, which has no parameters"}
			}
			if err := traces[format](t, f); err != nil {
				return nil, nil, err
			}
		case len(files) > 1:
			return nil, nil, &measured.Error{File: f.Name, Line: 1, Msg: "is no trace: want one file of a step, or traces"}
		default:
			s, err := Parse(f.Name, f.Text, o)
			return s, nil, err
		}
	}
	if len(t.step.Calls) == 0 {
		return nil, nil, &measured.Error{File: files[0].Name, Line: 1, Msg: "has no call of a collective"}
	}
	t.step.Ranks = max(o.Ranks, t.ranks)
	return t.step, t.rows, nil
}

// tracer makes a step of traces.
type tracer struct {
	step    *Step
	options Options
	kinds   map[Kind]int
	joined  map[joint]seen
	counts  map[string]int // iterations by name
	ranks   int            // of the largest group
	ops     int            // of all traces
	waits   int            // of all ops
	rows    []measured.Row
}

// joint is a call in which the ranks of a communicator meet, by its number there.
type joint struct {
	communicator string
	number       int
}

// seen is a call, and where it was first seen.
type seen struct {
	call int
	file string
	line int
}

// count adds to the ops of the traces.
func (t *tracer) count(f File, line, ops int) error {
	if t.ops += ops; t.ops > maxEvents {
		return &measured.Error{File: f.Name, Line: line, Msg: fmt.Sprintf("more than %d ops in all traces", maxEvents)}
	}
	return nil
}

// call returns the op of a call. By its communicator and its number there ranks meet; those
// of a communicator "" do not.
func (t *tracer) call(f string, line int, k Kind, communicator string, number int) (Op, error) {
	kind := t.step.kind(t.kinds, k)
	key := joint{communicator, number}
	t.ranks = max(t.ranks, k.Ranks)
	if j, met := t.joined[key]; communicator != "" && met {
		c := &t.step.Calls[j.call]
		if c.Kind != kind {
			return Op{}, &measured.Error{File: f, Line: line, Msg: fmt.Sprintf("%s, where another rank makes %s of the same communicator at %s:%d", k, t.step.Kinds[c.Kind], j.file, j.line)}
		}
		return Op{Name: c.Op, Iteration: c.Iteration, Call: j.call, Line: line}, nil
	}
	c := Call{Op: fmt.Sprintf("%s %s of %d", k.Collective, units.Bytes(k.Bytes), k.Ranks), Kind: kind, Line: line, Communicator: communicator}
	c.Iteration = t.counts[c.Op]
	t.counts[c.Op]++
	if communicator != "" {
		t.joined[key] = seen{len(t.step.Calls), f, line}
	}
	t.step.Calls = append(t.step.Calls, c)
	return Op{Name: c.Op, Iteration: c.Iteration, Call: len(t.step.Calls) - 1, Line: line}, nil
}

func (t *tracer) compute(name string, us float64, line int) Op {
	if name == "" {
		name = "compute"
	}
	name = strings.ReplaceAll(name[:min(len(name), 60)], "@", " ")
	op := Op{Name: name, Iteration: t.counts[name], Call: -1, US: us, Line: line}
	t.counts[name]++
	return op
}

// recorded is the library of a trace's own times, which hold beside what ran meanwhile.
const recorded = "recorded"

func (t *tracer) note(f string, line int, k Kind, us float64) error {
	if us <= 0 {
		return nil
	}
	r := measured.Row{Collective: k.Collective, Ranks: k.Ranks, Bytes: k.Bytes, Library: recorded, TimeUS: us, Source: measured.SourceOf(f, line)}
	r.Conditions[measured.DType], r.Conditions[measured.Traffic] = k.DType, k.Traffic
	if k.Nodes > 0 {
		r.Conditions[measured.Nodes] = strconv.Itoa(k.Nodes)
	}
	if err := r.Finish(); err != nil {
		return &measured.Error{File: f, Line: line, Msg: err.Error()}
	}
	t.rows = append(t.rows, r)
	return nil
}

// kindOf completes a kind of call over a group whose ranks are listed, where they are known.
func (t *tracer) kindOf(collective, dtype, traffic string, bytes int64, ranks int, members []int) Kind {
	k := Kind{Collective: collective, Bytes: max(bytes, 1), Ranks: ranks, DType: cmp.Or(dtype, t.options.DType), Traffic: traffic, Stride: 1}
	if len(members) > 1 {
		k.Stride = max(1, members[1]-members[0])
	}
	k.Nodes = nodesOf(ranks, k.Stride, t.options.NodeGPUs)
	return k
}

// decodeError is an error of a decoder, at the line of the value at fault: the text's last
// where that ends too early.
func decodeError(f File, d *json.Decoder, lines *lineCounter, what string, err error) error {
	offset := d.InputOffset()
	for offset < int64(len(f.Text)) && strings.IndexByte(", \t\r\n", f.Text[offset]) >= 0 {
		offset++
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = int64(len(f.Text)), errors.New("the trace is torn: it ends within "+what)
	}
	return &measured.Error{File: f.Name, Line: lines.at(offset), Msg: err.Error()}
}

// lineCounter finds the lines of rising offsets.
type lineCounter struct {
	text   []byte
	offset int64
	line   int
}

func (c *lineCounter) at(offset int64) int {
	offset = min(offset, int64(len(c.text)))
	if offset > c.offset {
		c.line += bytes.Count(c.text[c.offset:offset], []byte("\n"))
		c.offset = offset
	}
	return c.line + 1
}
