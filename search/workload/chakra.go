package workload

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
)

// chakraNode is a node of Chakra's execution trace (MLCommons, schema 0.0.4), as its
// jsonizer writes it: documents one after another, with 64-bit numbers in quotes.
type chakraNode struct {
	ID       text
	Name     string
	Type     text
	CtrlDeps []text
	DataDeps []text
	Start    text `json:"startTimeMicros"`
	Duration text `json:"durationMicros"`
	Attr     []struct {
		Name                                     string
		Int64Val, Int32Val, Uint64Val, Uint32Val text
		StringVal                                string
		BoolVal                                  bool
	}
	line  int
	needs int   // deps that are not placed yet
	feeds []int // nodes that wait for this one
	at    int   // its op; -1: none
}

// chakraCollectives are collectives by Chakra's numbers; reduce_scatter_block is 8.
var chakraCollectives = []string{"allreduce", "reduce", "allgather", "gather", "scatter", "broadcast", "alltoall", "reducescatter", "reducescatter"}

func (n *chakraNode) whole(name string) (int64, bool) {
	for i := range n.Attr {
		if a := &n.Attr[i]; a.Name == name {
			v, err := strconv.ParseInt(string(cmp.Or(a.Int64Val, a.Int32Val, a.Uint64Val, a.Uint32Val, "0")), 10, 64)
			return v, err == nil
		}
	}
	return 0, false
}

// chakra reads an execution trace of one rank. Nodes wait for their dependencies; they are
// issued in an order in which these come first, the least number first. comm_size is what a
// rank sends; the ranks of groups are not in the trace, so that all take part.
func (t *tracer) chakra(f File) error {
	nodes, err := chakraNodes(f)
	if err == nil {
		err = t.count(f, nodes[len(nodes)-1].line, len(nodes))
	}
	if err != nil {
		return err
	}
	if t.options.Ranks == 0 {
		return &measured.Error{File: f.Name, Line: 1, Msg: "Chakra's traces do not say how many ranks there are: want --ranks"}
	}
	index := make(map[text]int, len(nodes))
	for i, n := range nodes {
		if _, twice := index[n.ID]; twice {
			return &measured.Error{File: f.Name, Line: n.line, Msg: fmt.Sprintf("a second node of id %.20s", n.ID)}
		}
		index[n.ID] = i
	}
	for i, n := range nodes {
		for _, id := range append(n.CtrlDeps, n.DataDeps...) {
			of, there := index[id]
			if !there {
				return &measured.Error{File: f.Name, Line: n.line, Msg: fmt.Sprintf("node %.20s waits for %.20s, which is not there", n.ID, id)}
			}
			nodes[of].feeds = append(nodes[of].feeds, i)
			n.needs++
		}
	}
	var open queue[ready]
	for i, n := range nodes {
		if n.needs == 0 {
			open.push(ready(i))
		}
	}
	p := Program{Name: f.Name, File: f.Name}
	placed, calls := 0, 0
	for ; len(open) > 0; placed++ {
		n := nodes[open.pop()]
		op, isOp, err := t.chakraOp(f, n, &calls)
		if err != nil {
			return err
		}
		if n.at = -1; isOp {
			for _, id := range append(n.CtrlDeps, n.DataDeps...) {
				if at := nodes[index[id]].at; at >= 0 {
					op.After = append(op.After, at)
				}
			}
			n.at = len(p.Ops)
			p.Ops = append(p.Ops, op)
		}
		for _, i := range n.feeds {
			if nodes[i].needs--; nodes[i].needs == 0 {
				open.push(ready(i))
			}
		}
	}
	if placed < len(nodes) {
		return chakraCycle(f, nodes, index)
	}
	t.step.Programs = append(t.step.Programs, p)
	return nil
}

// chakraOp makes the op of a node; metadata has none.
func (t *tracer) chakraOp(f File, n *chakraNode, calls *int) (op Op, isOp bool, err error) {
	fail := func(format string, args ...any) (Op, bool, error) {
		return Op{}, false, &measured.Error{File: f.Name, Line: n.line, Msg: fmt.Sprintf(format, args...)}
	}
	us := 0.0
	if n.Duration != "" {
		if us, err = units.ParseDecimal(string(n.Duration)); err != nil || !(us >= 0 && us < 1e15) {
			return fail("node %.20s: durationMicros %.20s: want 0 or more", n.ID, n.Duration)
		}
	}
	switch n.Type {
	case "METADATA_NODE", "1":
		return Op{}, false, nil
	case "COMP_NODE", "4", "MEM_LOAD_NODE", "2", "MEM_STORE_NODE", "3":
		op = t.compute(n.Name, us, n.line)
		op.Stream = "compute"
		for i := range n.Attr {
			if a := &n.Attr[i]; a.Name == "is_cpu_op" && a.BoolVal {
				op.Stream = "host"
			}
		}
		return op, true, nil
	case "COMM_SEND_NODE", "5", "COMM_RECV_NODE", "6", "COMM_COLL_NODE", "7":
	default:
		return fail("node %.20s: unknown type %.40q", n.ID, string(n.Type))
	}
	bytes, stated := n.whole("comm_size")
	if !stated {
		return fail("node %.20s: comm_size is missing, or no whole number", n.ID)
	}
	name, ranks := "sendrecv", 2
	if n.Type == "COMM_COLL_NODE" || n.Type == "7" {
		comm, stated := n.whole("comm_type")
		switch {
		case !stated || comm < 0 || comm > 9:
			return fail("node %.20s: unknown comm_type %d", n.ID, comm)
		case comm == 9: // a barrier
			name, bytes = "allreduce", 4
		default:
			name = chakraCollectives[comm]
		}
		ranks = t.options.Ranks
	}
	parts := int64(1)
	if name == "allgather" || name == "gather" {
		parts = int64(ranks)
	}
	if bytes, err = units.Product(bytes, parts); err != nil {
		return fail("node %.20s: comm_size: %v", n.ID, err)
	}
	k := t.kindOf(name, "", "", bytes, ranks, nil)
	communicator := ""
	if name != "sendrecv" {
		communicator = "all"
		*calls++
	}
	if op, err = t.call(f.Name, n.line, k, communicator, *calls); err != nil {
		return op, false, err
	}
	op.Stream = "communication"
	return op, true, t.note(f.Name, n.line, k, us)
}

// chakraNodes reads the documents of a trace; those without a type are its head.
func chakraNodes(f File) (nodes []*chakraNode, err error) {
	d := json.NewDecoder(bytes.NewReader(f.Text))
	lines := lineCounter{text: f.Text}
	for {
		n := &chakraNode{}
		err := d.Decode(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, decodeError(f, d, &lines, "a node", err)
		}
		n.line = lines.at(d.InputOffset())
		if n.Type == "" {
			continue
		}
		if len(nodes) == maxEvents {
			return nil, &measured.Error{File: f.Name, Line: n.line, Msg: fmt.Sprintf("more than %d nodes", maxEvents)}
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, &measured.Error{File: f.Name, Line: 1, Msg: "is neither a trace of PyTorch's profiler nor of Chakra"}
	}
	return nodes, nil
}

// chakraCycle is the error of nodes that wait for each other.
func chakraCycle(f File, nodes []*chakraNode, index map[text]int) error {
	i := 0
	for nodes[i].needs == 0 {
		i++
	}
	seen := map[int]int{}
	var path []int
	for {
		if from, again := seen[i]; again {
			path = path[from:]
			break
		}
		seen[i] = len(path)
		path = append(path, i)
		for _, id := range append(nodes[i].CtrlDeps, nodes[i].DataDeps...) {
			if nodes[index[id]].needs > 0 {
				i = index[id]
				break
			}
		}
	}
	d := &Deadlock{File: f.Name}
	for _, i := range path {
		d.Ops, d.Lines = append(d.Ops, fmt.Sprintf("%.40s (node %.20s)", nodes[i].Name, nodes[i].ID)), append(d.Lines, nodes[i].line)
	}
	return d
}

// ready is a node that waits for nothing; the least number is the first.
type ready int

func (r ready) before(o ready) bool { return r < o }
