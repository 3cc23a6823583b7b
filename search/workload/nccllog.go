package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
)

var (
	// callLine is a call in the log of NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=COLL.
	callLine = lazyregexp.New(`(\S+:\d+):\d+ \[(\d+)\].*? NCCL INFO (\w+): opCount (\w+) sendbuff \S+ recvbuff \S+ count (\d+) datatype (\d+) op \d+ root (-?\d+) comm (0x\w+) \[nranks=(\d+)\] stream (\S+)`)
	// initLine names a communicator the same way on all its ranks (subsystem INIT).
	initLine = lazyregexp.New(`(\S+:\d+):\d+ \[(\d+)\].*? comm (0x\w+) rank (\d+) nranks (\d+) .*?commId (0x\w+)`)
)

// ncclTypes are element types by NCCL's and RCCL's numbers.
var ncclTypes = collective.MeasuredDTypes()

// logged is a call of a log's line.
type logged struct {
	program, comm, stream, name, count string // count is the library's number of the call
	elements                           int64
	dtype, peer, ranks, line           int
}

type rankLog struct {
	index   int            // of Step.Programs
	numbers map[string]int // calls by communicator
	streams map[string]int
	open    []logged // sends and receives that are one call
}

// ncclLog reads the calls of the ranks in a log, without times. Ranks meet in the calls of a
// communicator whose commId the log names. Sends and receives of one number are one
// all-to-all where each rank gets as much, or else a sendrecv.
func (t *tracer) ncclLog(f File) error {
	ranks := map[string]*rankLog{}
	ids := map[string]string{} // by program and pointer
	var order []*rankLog
	var err error
	n := 0
	for line := range bytes.Lines(f.Text) {
		n++
		if m := initLine().FindSubmatch(line); m != nil {
			ids[string(m[1])+" "+string(m[2])+" "+string(m[3])] = string(m[6])
			continue
		}
		m := callLine().FindSubmatch(line)
		if m == nil {
			if bytes.Contains(line, []byte(": opCount ")) {
				return &measured.Error{File: f.Name, Line: n, Msg: "a call that is torn, or of a form not known here"}
			}
			continue
		}
		c := logged{program: string(m[1]) + " [" + string(m[2]) + "]", name: strings.ToLower(string(m[3])), count: string(m[4]), stream: string(m[10]), line: n}
		if c.comm = ids[string(m[1])+" "+string(m[2])+" "+string(m[8])]; c.comm == "" {
			c.comm = c.program + " " + string(m[8]) // of this rank alone
		}
		var errs [4]error
		c.elements, errs[0] = strconv.ParseInt(string(m[5]), 10, 64)
		c.dtype, errs[1] = strconv.Atoi(string(m[6]))
		c.peer, errs[2] = strconv.Atoi(string(m[7]))
		c.ranks, errs[3] = strconv.Atoi(string(m[9]))
		for _, e := range errs {
			if e != nil || c.dtype >= len(ncclTypes) || c.ranks < 1 || c.ranks > MaxRanks {
				return &measured.Error{File: f.Name, Line: n, Msg: fmt.Sprintf("count %s, datatype %s, nranks %s: want numbers that NCCL prints", m[5], m[6], m[9])}
			}
		}
		r := ranks[c.program]
		if r == nil {
			r = &rankLog{index: len(t.step.Programs), numbers: map[string]int{}, streams: map[string]int{}}
			ranks[c.program] = r
			order = append(order, r)
			t.step.Programs = append(t.step.Programs, Program{Name: c.program, File: f.Name})
		}
		if err = t.logged(f, r, c); err != nil {
			return err
		}
	}
	for _, r := range order {
		if err := t.closeP2P(f, r); err != nil {
			return err
		}
	}
	return nil
}

// logged adds a call to its rank. Sends and receives are gathered first.
func (t *tracer) logged(f File, r *rankLog, c logged) error {
	p2p := c.name == "send" || c.name == "recv"
	if len(r.open) > 0 && (!p2p || r.open[0].count != c.count || r.open[0].comm != c.comm) {
		if err := t.closeP2P(f, r); err != nil {
			return err
		}
	}
	if p2p {
		if len(r.open) > 2*MaxRanks {
			return &measured.Error{File: f.Name, Line: c.line, Msg: "too many sends and receives in one group"}
		}
		r.open = append(r.open, c)
		return nil
	}
	name := c.name
	if !slices.Contains(collective.Names(), name) {
		return &measured.Error{File: f.Name, Line: c.line, Msg: fmt.Sprintf("unknown call %.40q", c.name)}
	}
	each := int64(1)
	switch name {
	case "allgather", "reducescatter", "alltoall", "gather", "scatter":
		each = int64(c.ranks) // count is of one rank's part
	}
	return t.issue(f, r, c, name, "", c.ranks, c.elements, each)
}

// closeP2P makes one call of the sends and receives of a group.
func (t *tracer) closeP2P(f File, r *rankLog) error {
	if len(r.open) == 0 {
		return nil
	}
	open := r.open
	r.open = nil
	var sends []logged
	total, most := int64(0), int64(0)
	for _, c := range open {
		if c.name == "send" {
			sends = append(sends, c)
			if total += c.elements; total < 0 || total > units.MostBytes {
				return &measured.Error{File: f.Name, Line: c.line, Msg: "more than a PiB in one group"}
			}
			most = max(most, c.elements)
		}
	}
	first := open[0]
	if len(sends) <= 1 {
		return t.issue(f, r, first, "sendrecv", "", 2, max(total, first.elements))
	}
	if n := int64(len(sends)); len(sends) == first.ranks && total/n == most && total%n == 0 {
		return t.issue(f, r, first, "alltoall", "", first.ranks, total)
	}
	skew := float64(most) * float64(first.ranks) / float64(max(total, 1))
	return t.issue(f, r, first, "alltoallv", "skew:"+strconv.FormatFloat(skew, 'g', 3, 64), first.ranks, total, int64(first.ranks))
}

// issue adds a call to a rank's program, of as many elements as the product of counts.
func (t *tracer) issue(f File, r *rankLog, c logged, name, traffic string, ranks int, counts ...int64) error {
	dtype := ncclTypes[c.dtype]
	bytes, err := units.Product(append(counts, collective.MeasuredBytes(dtype))...)
	if err != nil {
		return &measured.Error{File: f.Name, Line: c.line, Msg: "count: " + err.Error()}
	}
	k := t.kindOf(name, dtype, traffic, bytes, ranks, nil)
	number := r.numbers[c.comm]
	r.numbers[c.comm]++
	if name == "sendrecv" {
		c.comm = "" // its other end is another rank's call of its own
	}
	op, err := t.call(f.Name, c.line, k, c.comm, number)
	if err != nil {
		return err
	}
	i, known := r.streams[c.stream]
	if !known {
		if i = len(r.streams); i == maxStreams {
			return &measured.Error{File: f.Name, Line: c.line, Msg: fmt.Sprintf("more than %d streams", maxStreams)}
		}
		r.streams[c.stream] = i
	}
	op.Stream = fmt.Sprintf("stream %d", i)
	p := &t.step.Programs[r.index]
	p.Ops = append(p.Ops, op)
	return t.count(f, c.line, 1)
}
