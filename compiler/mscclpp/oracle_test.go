package mscclpp

import (
	"fmt"
	"math/rand"

	"github.com/colltune/colltune/compiler/collective"
)

// oracle executes an in-place allreduce's plan thread by thread, at a size where
// a pipeline takes one pass, in an order drawn at random: any thread whose turn
// may come does one more thing. It knows numbers, not contributions; it shares
// nothing with the package but Plan. Buffers are garbage until their rank's
// kernel begins; what they hold when it ends is the result, and they are garbage
// again. It tells what went wrong in that order.
type oracle struct {
	p        *Plan
	cells    int
	memory   map[cell]uint64
	flagged  map[cell]bool // packets
	signals  map[[3]int]int
	locks    map[[2]int]int
	arrived  map[[2]int]int
	left     []int // threadblocks of each rank that go on
	begun    []bool
	want     []uint64
	complain string
}

type cell struct{ rank, buffer, at int }

// worker is a threadblock: the tasks of its phase that are not done, and the
// operations behind the phase.
type worker struct {
	gpu, tb int
	tasks   []*task
	ops     []Op
	sync    *Op // the barrier at the phase's end, once arrived
	goal    int
}

// task is what one thread does for one operation.
type task struct {
	op     *Op
	lane   int
	before []*task
	done   bool
}

func newOracle(p *Plan, rng *rand.Rand) *oracle {
	p.link()
	o := &oracle{p: p, cells: 1, memory: map[cell]uint64{}, flagged: map[cell]bool{},
		signals: map[[3]int]int{}, locks: map[[2]int]int{}, arrived: map[[2]int]int{}}
	p.each(func(op *Op) { o.cells = lcm(o.cells, op.Slices) })
	n := max(p.GPUs[0].In, p.GPUs[0].Out) * o.cells
	o.want = make([]uint64, n)
	for g := range p.GPUs {
		o.left = append(o.left, len(p.GPUs[g].Threadblocks))
		o.begun = append(o.begun, false)
		for i, v := range p.GPUs[g].Semaphores {
			o.locks[[2]int{g, i}] = v
		}
		for i := range n {
			o.memory[cell{g, 0, i}] = rng.Uint64()
		}
	}
	return o
}

// begin returns the start of a rank's kernel.
func (o *oracle) begin(g int, rng *rand.Rand) {
	o.begun[g] = true
	for i := range o.want {
		v := rng.Uint64()
		o.memory[cell{g, 0, i}] = v
		o.want[i] += v
	}
}

// run draws an order and follows it; "" where the result is right.
func (o *oracle) run(rng *rand.Rand) string {
	var workers []*worker
	for g := range o.p.GPUs {
		for t := range o.p.GPUs[g].Threadblocks {
			w := &worker{gpu: g, tb: t}
			for _, op := range o.p.GPUs[g].Threadblocks[t].Ops {
				if op.Kind.effect == pipelines {
					w.ops = append(w.ops, op.Ops...)
				} else {
					w.ops = append(w.ops, op)
				}
			}
			workers = append(workers, w)
		}
	}
	results := make([][]uint64, len(o.p.GPUs))
	rare := rng.Intn(len(o.p.GPUs)) // the rank that is late, so that orders differ much
	for len(workers) > 0 && o.complain == "" {
		moved := false
		for _, i := range rng.Perm(len(workers)) {
			w := workers[i]
			if w.gpu == rare && rng.Intn(8) > 0 {
				moved = true
				continue
			}
			if !o.begun[w.gpu] {
				o.begin(w.gpu, rng)
			}
			switch o.step(w, rng) {
			case stuck:
				continue
			case over:
				workers = append(workers[:i], workers[i+1:]...)
				if o.left[w.gpu]--; o.left[w.gpu] == 0 {
					for c := range o.want {
						results[w.gpu] = append(results[w.gpu], o.memory[cell{w.gpu, 0, c}])
						o.memory[cell{w.gpu, 0, c}] = rng.Uint64()
					}
				}
			}
			moved = true
			break
		}
		if !moved {
			return "deadlock"
		}
	}
	for g := range o.p.GPUs {
		for i, v := range o.p.GPUs[g].Semaphores {
			if o.locks[[2]int{g, i}] < v {
				return "the next launch finds a semaphore lower"
			}
		}
	}
	for g := range results {
		for c, v := range results[g] {
			if v != o.want[c] && o.complain == "" {
				return fmt.Sprintf("cell %d of gpu %d is wrong", c, g)
			}
		}
	}
	return o.complain
}

const (
	stuck = iota
	went
	over
)

// step does one task of a worker, or takes it into its next phase.
func (o *oracle) step(w *worker, rng *rand.Rand) int {
	if w.sync != nil {
		key := [2]int{w.gpu, w.sync.Barrier}
		if o.arrived[key] < w.goal {
			return stuck
		}
		w.sync = nil
		return went
	}
	if len(w.tasks) == 0 {
		if len(w.ops) == 0 {
			return over
		}
		o.phase(w)
		return went
	}
	for _, i := range rng.Perm(len(w.tasks)) {
		t := w.tasks[i]
		ready := true
		for _, b := range t.before {
			ready = ready && b.done
		}
		if ready && o.do(w, t) {
			t.done = true
			w.tasks = append(w.tasks[:i], w.tasks[i+1:]...)
			return went
		}
	}
	return stuck
}

// phase takes the operations up to the next that brings all threads together.
func (o *oracle) phase(w *worker) {
	for len(w.ops) > 0 {
		op := &w.ops[0]
		w.ops = w.ops[1:]
		if op.Kind.effect == syncs {
			return
		}
		if op.Kind.effect == meets {
			if len(w.tasks) > 0 { // first what comes before it
				w.ops = append([]Op{*op}, w.ops...)
				return
			}
			key := [2]int{w.gpu, op.Barrier}
			w.sync, w.goal = op, o.arrived[key]/op.Members*op.Members+op.Members
			o.arrived[key]++
			return
		}
		n := max(len(op.Channels), len(op.Semaphores))
		if op.Kind.moving() {
			n = op.moved() * o.cells / op.Slices
			if op.Kind.effect == pairs {
				n *= len(op.Src)
			}
		}
		var fresh []*task
		for lane := range n {
			t := &task{op: op, lane: lane}
			for _, b := range w.tasks {
				if b.op.Kind.moving() == op.Kind.moving() && b.lane == lane && (!op.Kind.moving() || shares(b.op, op)) {
					t.before = append(t.before, b)
				}
			}
			fresh = append(fresh, t)
		}
		w.tasks = append(w.tasks, fresh...)
	}
}

// shares reports whether two operations have a place in common, which the same
// threads then go over in the same way.
func shares(a, b *Op) bool {
	for _, x := range append(append([]Ref{}, a.Src...), a.Dst...) {
		for _, y := range append(append([]Ref{}, b.Src...), b.Dst...) {
			if x == y && a.Slice == b.Slice && a.Slices == b.Slices {
				return true
			}
		}
	}
	return false
}

// do does a task, if it can be done now.
func (o *oracle) do(w *worker, t *task) bool {
	op, plan := t.op, &o.p.GPUs[w.gpu].Threadblocks[w.tb]
	// A signal from one rank to another is known by the ordinal of its channel.
	wire := func(from bool) [3]int {
		n := plan.channels[op.Type][op.Channels[t.lane]]
		peers := o.p.GPUs[w.gpu].peers[op.Type]
		nth := 0
		for _, p := range peers[:n] {
			if p == peers[n] {
				nth++
			}
		}
		if from {
			return [3]int{w.gpu, peers[n], nth}
		}
		return [3]int{peers[n], w.gpu, nth}
	}
	switch op.Kind.effect {
	case signals:
		o.signals[wire(true)]++
	case waits:
		if k := wire(false); o.signals[k] > 0 {
			o.signals[k]--
			return true
		}
		return false
	case releases:
		o.locks[[2]int{w.gpu, op.Semaphores[t.lane]}]++
	case acquires:
		if k := [2]int{w.gpu, op.Semaphores[t.lane]}; o.locks[k] > 0 {
			o.locks[k]--
			return true
		}
		return false
	default:
		return o.move(w, t)
	}
	return true
}

// move does one cell of an operation.
func (o *oracle) move(w *worker, t *task) bool {
	op := t.op
	src, dst, j := op.Src, op.Dst, t.lane
	from, to := 0, 0
	if op.Kind.effect == pairs {
		per := op.moved() * o.cells / op.Slices
		i := j / per
		src, dst, j, from, to = src[i:i+1], dst[i:i+1], j%per, i, i
	}
	var sum uint64
	for i, ref := range src {
		pkt := packet(op.source(from + i))
		for _, c := range o.places(w, op, ref, j) {
			if pkt && !o.flagged[c] {
				return false
			}
			sum += o.memory[c]
		}
	}
	for i, ref := range dst {
		for _, c := range o.places(w, op, ref, j) {
			o.memory[c] = sum
			if packet(op.target(to + i)) {
				o.flagged[c] = true
			}
		}
	}
	return true
}

// places returns the cells that a place means to a thread.
func (o *oracle) places(w *worker, op *Op, ref Ref, j int) (all []cell) {
	b, ranks := o.p.place(w.gpu, w.tb, op, &ref)
	at := ref.Index*o.cells + op.Slice*(ref.Size*o.cells/op.Slices) + j
	if b == collective.Out {
		b = collective.In
	}
	for _, r := range ranks {
		all = append(all, cell{r, int(b), at})
	}
	return all
}
