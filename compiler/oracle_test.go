package compiler

import (
	"fmt"
	"math/rand"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// The oracle executes IR by brute force: every threadblock at its own pace, in a
// random order, over several tiles, with values that are multisets of inputs and
// a vector clock for every threadblock. It knows nothing of the passes.

// value is a multiset of inputs: which (rank, chunk) have been added up.
type value []int32

// stamp is a moment in a threadblock's life.
type stamp struct {
	tb    int
	clock int32
}

// cell is a chunk of a buffer in one tile.
type cell struct {
	v     value
	wrote stamp
	reads []stamp
}

// parcel is a message, with what its sender knew.
type parcel struct {
	v     value
	clock []int32
}

type wire struct{ from, to, channel int }

// block is a threadblock under way.
type block struct {
	gpu, id    int
	tb         *ir.Threadblock
	tile, pc   int
	call       int32
	clock      []int32
	finished   [][][]int32 // by tile and step: the clock when it was done
	begun      bool
	send, recv wire
}

type oracle struct {
	p      *ir.Program
	as     *lang.Program
	col    collective.Collective
	split  bool // one call a chunk
	slots  int
	tiles  int
	cells  []map[ir.Loc]*cell // by tile*ranks + rank
	blocks []*block
	byGPU  [][]*block
	queues map[wire][]parcel
}

// execute runs p once and says what went wrong, if anything did.
func execute(p *ir.Program, slots int, split bool, seed int64) error {
	return executeAs(p, nil, slots, split, seed)
}

// executeAs has every chunk of every buffer hold something of its own to begin
// with, and compares the results with what the traced program as does to them,
// operation by operation; or, as being nil, with the collective's postcondition.
func executeAs(p *ir.Program, as *lang.Program, slots int, split bool, seed int64) error {
	col, err := collective.New(p.Collective)
	if err != nil {
		return err
	}
	o := &oracle{p: p, as: as, col: col, split: split, slots: slots, tiles: 2, queues: map[wire][]parcel{}}
	if err := o.load(); err != nil {
		return err
	}
	rng := rand.New(rand.NewSource(seed))
	active := slices.Clone(o.blocks)
	for len(active) > 0 {
		// Try in random order; one that moved may go on for a while.
		moved := false
		rng.Shuffle(len(active), func(i, j int) { active[i], active[j] = active[j], active[i] })
		for i := 0; i < len(active); i++ {
			b := active[i]
			for n := 1 + rng.Intn(3); n > 0 && b.tile < o.tiles; n-- {
				ok, err := o.step(b)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				moved = true
			}
			if b.tile == o.tiles {
				active = slices.Delete(active, i, i+1)
				i--
			}
		}
		if !moved {
			b := active[0]
			return fmt.Errorf("deadlock: %d threadblocks stuck, gpu %d tb %d at tile %d step %d %v", len(active), b.gpu, b.id, b.tile, b.pc, b.tb.Steps[b.pc])
		}
	}
	for w, q := range o.queues {
		if len(q) > 0 {
			return fmt.Errorf("%d messages left on %v", len(q), w)
		}
	}
	return o.judge()
}

func (o *oracle) load() error {
	o.byGPU = make([][]*block, len(o.p.GPUs))
	users := map[string]bool{}
	for g := range o.p.GPUs {
		for t := range o.p.GPUs[g].Threadblocks {
			tb := &o.p.GPUs[g].Threadblocks[t]
			b := &block{gpu: g, id: t, tb: tb, send: wire{g, tb.Send, tb.Channel}, recv: wire{tb.Recv, g, tb.Channel}}
			for _, end := range []string{fmt.Sprint("s", b.send, tb.Send >= 0), fmt.Sprint("r", b.recv, tb.Recv >= 0)} {
				if users[end] && end[len(end)-4:] == "true" {
					return fmt.Errorf("connection %s is shared", end)
				}
				users[end] = true
			}
			b.finished = make([][][]int32, o.tiles)
			for tile := range b.finished {
				b.finished[tile] = make([][]int32, len(tb.Steps))
			}
			if len(tb.Steps) == 0 {
				return fmt.Errorf("gpu %d tb %d is empty", g, t)
			}
			o.blocks = append(o.blocks, b)
			o.byGPU[g] = append(o.byGPU[g], b)
		}
	}
	for i, b := range o.blocks {
		b.clock = make([]int32, len(o.blocks))
		b.clock[i] = 1
	}
	o.cells = make([]map[ir.Loc]*cell, o.tiles*len(o.p.GPUs))
	for i := range o.cells {
		g := i % len(o.p.GPUs)
		m := map[ir.Loc]*cell{}
		for b := collective.In; b <= collective.Scratch; b++ {
			n := o.col.BufferChunks(g, b)
			if b == collective.Scratch {
				n = o.p.GPUs[g].Scratch
			}
			for off := range n {
				x := &cell{wrote: stamp{-1, 0}}
				if o.as != nil {
					x.v = value{label(g, b, off)}
				}
				m[ir.Loc{Buf: b, Off: int32(off)}] = x
			}
		}
		for i := range o.col.InChunks(g) {
			if o.as != nil {
				break
			}
			b, off := o.col.Place(g, collective.In, i)
			m[ir.Loc{Buf: b, Off: int32(off)}].v = value{int32(g*1000000 + i)}
		}
		o.cells[i] = m
	}
	return nil
}

func (o *oracle) at(b *block, l ir.Loc, c int32) (*cell, error) {
	l = ir.Loc{Buf: l.Buf, Off: l.Off + c*max(1, l.Stride)}
	x := o.cells[b.tile*len(o.p.GPUs)+b.gpu][l]
	if x == nil {
		return nil, fmt.Errorf("gpu %d tb %d step %d: %v is outside its buffer", b.gpu, b.id, b.pc, l)
	}
	return x, nil
}

func (o *oracle) index(b *block) int { return slices.Index(o.blocks, b) }

// read returns the value of a cell; somebody must have written it, before.
func (o *oracle) read(b *block, l ir.Loc, c int32) (value, error) {
	x, err := o.at(b, l, c)
	if err != nil {
		return nil, err
	}
	if x.v == nil {
		return nil, fmt.Errorf("gpu %d tb %d step %d reads %v+%d, which nothing wrote", b.gpu, b.id, b.pc, l, c)
	}
	if x.wrote.tb >= 0 && b.clock[x.wrote.tb] < x.wrote.clock {
		return nil, fmt.Errorf("race: gpu %d tb %d step %d reads %v+%d, written by block %v", b.gpu, b.id, b.pc, l, c, x.wrote)
	}
	me := o.index(b)
	x.reads = append(x.reads, stamp{me, b.clock[me]})
	return x.v, nil
}

func (o *oracle) write(b *block, l ir.Loc, c int32, v value) error {
	x, err := o.at(b, l, c)
	if err != nil {
		return err
	}
	for _, s := range append(x.reads, x.wrote) {
		if s.tb >= 0 && b.clock[s.tb] < s.clock {
			return fmt.Errorf("race: gpu %d tb %d step %d writes %v+%d, used by block %v", b.gpu, b.id, b.pc, l, c, s)
		}
	}
	me := o.index(b)
	x.v, x.wrote, x.reads = v, stamp{me, b.clock[me]}, nil
	return nil
}

func join(a, b []int32) {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
}

func sum(a, b value) value {
	s := append(slices.Clone(a), b...)
	slices.Sort(s)
	return s
}

// step tries one call of a threadblock's next step.
func (o *oracle) step(b *block) (bool, error) {
	st := &b.tb.Steps[b.pc]
	where := func() string { return fmt.Sprintf("gpu %d tb %d step %d", b.gpu, b.id, b.pc) }
	if !b.begun {
		for _, d := range st.Deps {
			if int(d.TB) >= len(o.byGPU[b.gpu]) || int(d.TB) == b.id {
				return false, fmt.Errorf("%s waits for tb %d", where(), d.TB)
			}
			other := o.byGPU[b.gpu][d.TB]
			if int(d.Step) >= len(other.tb.Steps) || !other.tb.Steps[d.Step].HasDep {
				return false, fmt.Errorf("%s waits for %v, which is not flagged", where(), d)
			}
			if other.finished[b.tile][d.Step] == nil {
				return false, nil
			}
		}
		for _, d := range st.Deps {
			join(b.clock, o.byGPU[b.gpu][d.TB].finished[b.tile][d.Step])
		}
		b.begun, b.call = true, 0
	}
	calls, size := int32(1), st.Count
	if o.split {
		calls, size = st.Count, 1
	}
	if st.Op.Receives() && len(o.queues[b.recv]) == 0 {
		return false, nil
	}
	if st.Op.Sends() && len(o.queues[b.send]) >= o.slots {
		return false, nil
	}
	if st.Op.Sends() && b.tb.Send < 0 || st.Op.Receives() && b.tb.Recv < 0 {
		return false, fmt.Errorf("%s has no peer", where())
	}
	got := make([]value, size)
	if st.Op.Receives() {
		q := o.queues[b.recv]
		m := q[0]
		o.queues[b.recv] = q[1:]
		join(b.clock, m.clock)
		for i := range got {
			got[i] = m.v[:0]
		}
		got = unpack(m.v, int(size))
		if got == nil {
			return false, fmt.Errorf("%s receives a message of another size", where())
		}
	}
	out := make([]value, size)
	// All is read before anything is written, as one call does.
	for i := range size {
		c := b.call*size + i
		v := got[i]
		if st.Op.ReadsSrc() {
			src, err := o.read(b, st.Src, c)
			if err != nil {
				return false, err
			}
			if st.Op.Receives() {
				v = sum(v, src)
			} else {
				v = src
			}
		}
		if st.Op == ir.Reduce {
			dst, err := o.read(b, st.Dst, c)
			if err != nil {
				return false, err
			}
			v = sum(dst, v)
		}
		out[i] = v
	}
	if st.Op.WritesDst() {
		for i := range size {
			if err := o.write(b, st.Dst, b.call*size+i, out[i]); err != nil {
				return false, err
			}
		}
	}
	if st.Op.Sends() {
		o.queues[b.send] = append(o.queues[b.send], parcel{pack(out), slices.Clone(b.clock)})
	}
	me := o.index(b)
	if b.call++; b.call == calls {
		b.finished[b.tile][b.pc] = slices.Clone(b.clock)
		b.begun = false
		if b.pc++; b.pc == len(b.tb.Steps) {
			b.pc = 0
			b.tile++
		}
	}
	b.clock[me]++
	return true, nil
}

// pack puts values into one, -1 between them.
func pack(vs []value) value {
	var all value
	for _, v := range vs {
		all = append(append(all, v...), -1)
	}
	return all
}

func unpack(all value, n int) []value {
	vs := make([]value, 0, n)
	from := 0
	for i, x := range all {
		if x == -1 {
			vs = append(vs, all[from:i:i])
			from = i + 1
		}
	}
	if len(vs) != n {
		return nil
	}
	return vs
}

// label returns what a chunk holds to begin with.
func label(rank int, b collective.Buffer, off int) int32 {
	return int32((rank*3+int(b))*100000 + off)
}

// sequential returns what part j of n of every chunk holds after the traced
// program.
func sequential(p *lang.Program, n, j int) map[lang.Span]value {
	state := map[lang.Span]value{}
	at := func(s lang.Span, k int) lang.Span {
		return lang.Span{Rank: s.Rank, Buf: s.Buf, Index: s.Index + int32(k)*s.Stride}
	}
	get := func(s lang.Span) value {
		if v, ok := state[s]; ok {
			return v
		}
		return value{label(int(s.Rank), s.Buf, int(s.Index)*n+j)}
	}
	for _, op := range p.Ops {
		vs := make([]value, op.Src.Count)
		for k := range vs {
			vs[k] = get(at(op.Src, k))
			if op.Kind == lang.Reduce {
				vs[k] = sum(get(at(op.Dst, k)), vs[k])
			}
		}
		for k, v := range vs {
			state[at(op.Dst, k)] = v
		}
	}
	for r := range p.Collective.Ranks {
		for i := range p.Collective.OutChunks(r) {
			b, off := p.Collective.Place(r, collective.Out, i)
			s := lang.Span{Rank: int32(r), Buf: b, Index: int32(off)}
			state[s] = get(s)
		}
	}
	return state
}

// sameAs compares the results with the traced program's, where the collective
// cares; every chunk of it is a whole number of the IR's.
func (o *oracle) sameAs() error {
	n := o.col.Chunks / o.as.Collective.Chunks
	for j := range n {
		state := sequential(o.as, n, j)
		for tile := range o.tiles {
			for g := range o.p.GPUs {
				for i := range o.as.Collective.OutChunks(g) {
					if o.as.Collective.Want(g, i).Kind == collective.WantNothing {
						continue
					}
					b, off := o.as.Collective.Place(g, collective.Out, i)
					want := state[lang.Span{Rank: int32(g), Buf: b, Index: int32(off)}]
					got := o.cells[tile*len(o.p.GPUs)+g][ir.Loc{Buf: b, Off: int32(off*n + j)}].v
					if !slices.Equal(got, want) {
						return fmt.Errorf("tile %d gpu %d: out[%d] is %v, want %v", tile, g, i*n+j, got, want)
					}
				}
			}
		}
	}
	return nil
}

// judge compares the results with the postcondition.
func (o *oracle) judge() error {
	if o.as != nil {
		return o.sameAs()
	}
	for tile := range o.tiles {
		for g := range o.p.GPUs {
			for i := range o.col.OutChunks(g) {
				var want value
				switch w := o.col.Want(g, i); w.Kind {
				case collective.WantNothing:
					continue
				case collective.WantInput:
					want = value{int32(w.Rank*1000000 + w.Index)}
				case collective.WantReduction:
					for r := range o.col.Ranks {
						want = append(want, int32(r*1000000+w.Index))
					}
				}
				b, off := o.col.Place(g, collective.Out, i)
				if got := o.cells[tile*len(o.p.GPUs)+g][ir.Loc{Buf: b, Off: int32(off)}].v; !slices.Equal(got, want) {
					return fmt.Errorf("tile %d gpu %d: out[%d] is %v, want %v", tile, g, i, got, want)
				}
			}
		}
	}
	return nil
}
