package workload

import (
	"cmp"
	"fmt"
	"strings"
)

// graph is what waits for what: nodes are the calls, the computes, and moments at which a
// program's host waits (MCR-DL, section V-D). A call of several programs is one node.
type graph struct {
	step     *Step
	by       func(call int) maker
	ops      []opRef // per node: an op that is it; of a host's wait, the op that is next
	preds    [][]int32
	first    []int32 // per node: where those that wait for it begin in next
	next     []int32
	order    []int32   // so that every node comes after its preds
	hosts    int       // the first host's wait: computes stand before it, calls before them
	programs [][]int32 // per call: those that make it
	overlap  bool      // some program has calls on several streams
}

// maker is who makes a call.
type maker struct {
	library string
	onHost  bool // the host waits for the call
	apart   bool // its time holds beside the other calls in progress, and it slows none
}

type opRef struct{ program, op int32 }

// builder adds the nodes of one program after another.
type builder struct {
	*graph
	nodes [][]int32 // per program and op: its node
}

// newGraph builds the graph of a step. A library's calls of one communicator are made one
// after another, as they are issued. The host waits for those of some libraries, which are
// not aware of streams, as most MPI: such a call is issued when all it needs has ended, and
// nothing is issued between the first op that needs it and its end. A graph with a cycle is
// a *Deadlock.
func newGraph(s *Step, by func(call int) maker) (*graph, error) {
	g := &graph{step: s, by: by, preds: make([][]int32, len(s.Calls)), ops: make([]opRef, len(s.Calls)), programs: make([][]int32, len(s.Calls))}
	b := builder{graph: g}
	for p := range s.Programs {
		b.number(p)
	}
	g.hosts = len(g.preds)
	for p := range s.Programs {
		b.link(p)
	}
	return g, g.sort()
}

// number gives the ops of a program their nodes.
func (b *builder) number(p int) {
	ops := b.step.Programs[p].Ops
	nodes := make([]int32, len(ops))
	for i := range ops {
		at := opRef{int32(p), int32(i)}
		if ops[i].isCall() {
			nodes[i] = int32(ops[i].Call)
			b.ops[nodes[i]] = at
			b.programs[nodes[i]] = append(b.programs[nodes[i]], at.program)
		} else {
			nodes[i] = b.add(at)
		}
	}
	b.nodes = append(b.nodes, nodes)
}

func (b *builder) add(at opRef) int32 {
	b.preds = append(b.preds, nil)
	b.ops = append(b.ops, at)
	return int32(len(b.preds) - 1)
}

// link adds what the ops of a program wait for: the op before them on their stream, the call
// before them on their communicator, those of After, and their host.
func (b *builder) link(p int) {
	ops, nodes := b.step.Programs[p].Ops, b.nodes[p]
	last := map[string]int32{}
	serial := b.serial(p)
	host := int32(-1)        // the host's last wait
	open := map[int32]bool{} // calls that the host has yet to wait for
	for i := range ops {
		op, node := &ops[i], nodes[i]
		var needs []int32
		if before, any := last[op.Stream]; any {
			needs = append(needs, before)
		}
		if serial[i] >= 0 {
			needs = append(needs, nodes[serial[i]])
		}
		for _, a := range op.After {
			needs = append(needs, nodes[a])
		}
		waits := op.isCall() && b.by(op.Call).onHost
		var awaited []int32
		for _, n := range needs {
			if waits || open[n] {
				awaited = append(awaited, n)
				delete(open, n)
			}
		}
		if len(awaited) > 0 {
			if host >= 0 {
				awaited = append(awaited, host)
			}
			host = b.add(opRef{int32(p), int32(i)})
			b.preds[host] = awaited
		}
		if host >= 0 {
			needs = append(needs, host)
		}
		b.preds[node] = append(b.preds[node], needs...)
		if waits {
			open[node] = true
		}
		last[op.Stream] = node
	}
}

// serial returns for each op of a program the call before it on its communicator; -1: there is
// none, or it is the one before it on its stream, too.
func (g *graph) serial(p int) []int {
	type communicator struct{ group, library string }
	ops := g.step.Programs[p].Ops
	before := make([]int, len(ops))
	last := map[communicator]int{}
	stream := ""
	for i := range ops {
		op := &ops[i]
		if before[i] = -1; !op.isCall() || g.by(op.Call).apart {
			continue
		}
		g.overlap = g.overlap || stream != "" && stream != op.Stream
		stream = op.Stream
		c := communicator{g.step.Calls[op.Call].Communicator, g.by(op.Call).library}
		if c.group == "" {
			continue
		}
		if b, any := last[c]; any && ops[b].Stream != op.Stream {
			before[i] = b
		}
		last[c] = i
	}
	return before
}

// work is how many nodes and edges a run visits.
func (g *graph) work() int { return len(g.preds) + len(g.next) }

// after are the nodes that wait for one.
func (g *graph) after(v int32) []int32 { return g.next[g.first[v]:g.first[v+1]] }

// reverse finds what waits for each node.
func (g *graph) reverse() {
	g.first = make([]int32, len(g.preds)+1)
	edges := 0
	for _, preds := range g.preds {
		edges += len(preds)
		for _, u := range preds {
			g.first[u]++
		}
	}
	for v := range g.preds {
		g.first[v+1] += g.first[v]
	}
	g.next = make([]int32, edges)
	for v := len(g.preds) - 1; v >= 0; v-- {
		for _, u := range g.preds[v] {
			g.first[u]--
			g.next[g.first[u]] = int32(v)
		}
	}
}

// sort orders the nodes, or finds a cycle.
func (g *graph) sort() error {
	n := len(g.preds)
	g.reverse()
	waiting := make([]int32, n)
	for v, preds := range g.preds {
		waiting[v] = int32(len(preds))
	}
	g.order = make([]int32, 0, n)
	for v := range g.preds {
		if waiting[v] == 0 {
			g.order = append(g.order, int32(v))
		}
	}
	for i := 0; i < len(g.order); i++ {
		for _, v := range g.after(g.order[i]) {
			if waiting[v]--; waiting[v] == 0 {
				g.order = append(g.order, v)
			}
		}
	}
	if len(g.order) < n {
		return g.cycle(waiting)
	}
	return nil
}

// cycle is the error of a graph whose nodes that still wait have a cycle.
func (g *graph) cycle(waiting []int32) error {
	v := int32(0)
	for waiting[v] == 0 {
		v++
	}
	at := map[int32]int{}
	var path []int32
	for {
		if i, seen := at[v]; seen {
			path = path[i:]
			break
		}
		at[v] = len(path)
		path = append(path, v)
		for _, u := range g.preds[v] {
			if waiting[u] > 0 {
				v = u
				break
			}
		}
	}
	d := &Deadlock{}
	for _, v := range path {
		op := g.op(v)
		if d.File == "" {
			d.File = cmp.Or(g.step.Programs[g.ops[v].program].File, g.step.File)
		}
		if name := title(op.Name, op.Iteration); len(d.Ops) == 0 || d.Ops[len(d.Ops)-1] != name {
			d.Ops, d.Lines = append(d.Ops, name), append(d.Lines, op.Line)
		}
	}
	return d
}

func (g *graph) op(node int32) *Op {
	at := g.ops[node]
	return &g.step.Programs[at.program].Ops[at.op]
}

// Deadlock is a cycle of ops each of which waits for the next, and the last for the first.
type Deadlock struct {
	File  string // of the first
	Ops   []string
	Lines []int
}

// Error names the ops of the cycle and their lines.
func (d *Deadlock) Error() string {
	const most = 8
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: deadlock: %s", d.File, d.Lines[0], d.Ops[0])
	for i := range d.Ops {
		next := (i + 1) % len(d.Ops)
		if i == most && next != 0 {
			fmt.Fprintf(&b, ", … and %d more", len(d.Ops)-most)
			break
		}
		if i > 0 {
			b.WriteString(", which")
		}
		fmt.Fprintf(&b, " waits for %s (line %d)", d.Ops[next], d.Lines[next])
	}
	return b.String()
}

// times are when the nodes begin and end, in microseconds, and the end of the last.
type times struct {
	begin, end []float64
	total      float64
}

// delay is how long after what it waits for a node begins.
func (g *graph) delay(v int32) float64 {
	if int(v) < g.hosts {
		return g.op(v).DelayUS
	}
	return 0
}

// us is how long a node takes that has the links for itself.
func (g *graph) us(v int32, callUS func(call int) float64) float64 {
	switch {
	case int(v) < len(g.step.Calls):
		return callUS(int(v))
	case int(v) < g.hosts:
		return g.op(v).US
	}
	return 0
}

// run gives each node its duration and lets it begin when all that it waits for has ended.
func (g *graph) run(callUS func(call int) float64) times {
	t := times{begin: make([]float64, len(g.preds)), end: make([]float64, len(g.preds))}
	for _, v := range g.order {
		begin := 0.0
		for _, u := range g.preds[v] {
			begin = max(begin, t.end[u])
		}
		begin += g.delay(v)
		t.begin[v], t.end[v] = begin, begin+g.us(v, callUS)
		t.total = max(t.total, t.end[v])
	}
	return t
}
