package verify

import (
	"fmt"
	"math/rand"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// oracle runs a program as a runtime would: several tiles, messages in slots,
// flags, and numbers for data, with the threadblocks' turns drawn at random. It
// is slow, knows nothing of how Check works, and shows one schedule at a time.
type oracle struct {
	p     *ir.Program
	col   collective.Collective
	rng   *rand.Rand
	slots int // a connection; 0 is no limit
	per   int // chunks a call carries
	tiles int

	memory map[cell]uint64
	inputs map[cell]uint64 // what the precondition put there, by tile and rank
	wires  map[wire][][]uint64
	flags  map[[2]int][2]int // by GPU and threadblock: the tile and step posted last
	at     map[[2]int]*place3
}

type cell struct {
	tile, gpu int
	buf       collective.Buffer
	off       int
}

type wire struct{ from, to, channel int }

type place3 struct{ tile, step, call int }

// outcome returns what came of a run; "" is a right result.
func (o *oracle) outcome() (bad string) {
	defer func() {
		if e := recover(); e != nil {
			bad = fmt.Sprint("crashed: ", e)
		}
	}()
	o.start()
	var tbs [][2]int
	for g := range o.p.GPUs {
		for t := range o.p.GPUs[g].Threadblocks {
			tbs = append(tbs, [2]int{g, t})
		}
	}
	// Some threadblocks are fast and some slow, or all orders would be alike.
	weight := make([]float64, len(tbs))
	for i := range weight {
		weight[i] = o.rng.Float64()
	}
	for stuck := 0; ; {
		i := o.rng.Intn(len(tbs))
		if stuck < 4*len(tbs) && o.rng.Float64() > weight[i] {
			stuck++
			continue
		}
		moved := false
		if stuck >= 4*len(tbs) {
			for _, tb := range tbs {
				moved = moved || o.turn(tb[0], tb[1])
			}
			if !moved {
				break
			}
		} else {
			moved = o.turn(tbs[i][0], tbs[i][1])
		}
		if stuck++; moved {
			stuck = 0
		}
	}
	for _, tb := range tbs {
		if o.at[tb].tile < o.tiles && len(o.p.GPUs[tb[0]].Threadblocks[tb[1]].Steps) > 0 {
			return fmt.Sprintf("stuck at gpu %d threadblock %d", tb[0], tb[1])
		}
	}
	for w, queue := range o.wires {
		if len(queue) > 0 {
			return fmt.Sprintf("messages left over from %d to %d", w.from, w.to)
		}
	}
	return o.judge()
}

func (o *oracle) start() {
	o.memory, o.inputs = map[cell]uint64{}, map[cell]uint64{}
	o.wires, o.flags, o.at = map[wire][][]uint64{}, map[[2]int][2]int{}, map[[2]int]*place3{}
	for g := range o.p.GPUs {
		for tile := range o.tiles {
			for i := range o.col.InChunks(g) {
				x := o.rng.Uint64()
				b, at := o.col.Place(g, collective.In, i)
				o.memory[cell{tile, g, b, at}] = x
				o.inputs[cell{tile, g, collective.In, i}] = x
			}
		}
		for t := range o.p.GPUs[g].Threadblocks {
			for _, peer := range [...]int{o.p.GPUs[g].Threadblocks[t].Send, o.p.GPUs[g].Threadblocks[t].Recv} {
				if peer < -1 || peer >= len(o.p.GPUs) || peer == g {
					panic("no such peer")
				}
			}
			o.at[[2]int{g, t}] = &place3{}
			o.flags[[2]int{g, t}] = [2]int{0, -1}
		}
	}
}

// cell at an offset; memory that nothing wrote holds anything.
func (o *oracle) read(tile, gpu int, l ir.Loc, i int) uint64 {
	c := cell{tile, gpu, l.Buf, nth(l, i)}
	o.inside(c)
	x, ok := o.memory[c]
	if !ok {
		x = o.rng.Uint64()
		o.memory[c] = x
	}
	return x
}

func (o *oracle) write(tile, gpu int, l ir.Loc, i int, x uint64) {
	c := cell{tile, gpu, l.Buf, nth(l, i)}
	o.inside(c)
	o.memory[c] = x
}

func (o *oracle) inside(c cell) {
	size := o.p.GPUs[c.gpu].Scratch
	if c.buf != collective.Scratch {
		size = o.col.BufferChunks(c.gpu, c.buf)
	}
	if c.off < 0 || c.off >= size {
		panic(fmt.Sprintf("outside %v", c))
	}
}

// turn makes one call of a threadblock, if it can.
func (o *oracle) turn(g, t int) bool {
	tb := &o.p.GPUs[g].Threadblocks[t]
	at := o.at[[2]int{g, t}]
	if at.tile == o.tiles || len(tb.Steps) == 0 {
		return false
	}
	s := &tb.Steps[at.step]
	if at.call == 0 {
		for _, d := range s.Deps {
			f, exists := o.flags[[2]int{g, int(d.TB)}]
			if !exists || d.Step < 0 || int(d.Step) >= len(o.p.GPUs[g].Threadblocks[d.TB].Steps) {
				panic("waits for nothing")
			}
			if f[0] < at.tile || f[0] == at.tile && f[1] < int(d.Step) {
				return false
			}
		}
	}
	first := at.call * o.per
	n := min(o.per, int(s.Count)-first)
	if s.Op != ir.Nop && s.Count < 1 {
		panic("no chunks")
	}
	var message []uint64
	in, out := wire{tb.Recv, g, tb.Channel}, wire{g, tb.Send, tb.Channel}
	if s.Op.Receives() && len(o.wires[in]) == 0 || s.Op.Sends() && o.slots > 0 && len(o.wires[out]) >= o.slots {
		return false
	}
	if s.Op.Receives() {
		message, o.wires[in] = o.wires[in][0], o.wires[in][1:]
		if len(message) != n {
			panic("message of another size")
		}
	}
	if s.Op != ir.Nop {
		result := make([]uint64, n)
		for i := range n {
			var x uint64
			switch s.Op {
			case ir.Send, ir.Copy:
				x = o.read(at.tile, g, s.Src, first+i)
			case ir.Recv, ir.RecvCopySend:
				x = message[i]
			case ir.Reduce:
				x = o.read(at.tile, g, s.Src, first+i) + o.read(at.tile, g, s.Dst, first+i)
			default:
				x = o.read(at.tile, g, s.Src, first+i) + message[i]
			}
			result[i] = x
		}
		if s.Op.WritesDst() {
			for i, x := range result {
				o.write(at.tile, g, s.Dst, first+i, x)
			}
		}
		if s.Op.Sends() {
			if tb.Send < 0 {
				panic("sends to nobody")
			}
			o.wires[out] = append(o.wires[out], result)
		}
	}
	if at.call++; at.call*o.per < int(s.Count) {
		return true
	}
	if s.HasDep {
		o.flags[[2]int{g, t}] = [2]int{at.tile, at.step}
	}
	at.call = 0
	if at.step++; at.step == len(tb.Steps) {
		at.step = 0
		at.tile++
	}
	return true
}

func (o *oracle) judge() string {
	for tile := range o.tiles {
		for g := range o.p.GPUs {
			for i := range o.col.OutChunks(g) {
				b, at := o.col.Place(g, collective.Out, i)
				got, written := o.memory[cell{tile, g, b, at}]
				var want uint64
				switch w := o.col.Want(g, i); w.Kind {
				case collective.WantNothing:
					continue
				case collective.WantInput:
					want = o.inputs[cell{tile, w.Rank, collective.In, w.Index}]
				default:
					for r := range o.p.GPUs {
						want += o.inputs[cell{tile, r, collective.In, w.Index}]
					}
				}
				if !written || got != want {
					return fmt.Sprintf("gpu %d out[%d] of tile %d is wrong", g, i, tile)
				}
			}
		}
	}
	return ""
}

// racy finds, in a program that completes, two accesses that nothing orders: by
// closing the whole relation and looking at every pair.
func racy(p *ir.Program) bool {
	type node struct{ g, t, s int }
	var nodes []node
	number := map[node]int{}
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			for s := range p.GPUs[g].Threadblocks[t].Steps {
				number[node{g, t, s}] = len(nodes)
				nodes = append(nodes, node{g, t, s})
			}
		}
	}
	before := make([][]int, len(nodes)) // direct predecessors
	sent := map[wire][]int{}
	for n, x := range nodes {
		tb := p.GPUs[x.g].Threadblocks[x.t]
		if tb.Steps[x.s].Op.Sends() {
			sent[wire{x.g, tb.Send, tb.Channel}] = append(sent[wire{x.g, tb.Send, tb.Channel}], n)
		}
	}
	for n, x := range nodes {
		tb := p.GPUs[x.g].Threadblocks[x.t]
		if x.s > 0 {
			before[n] = append(before[n], number[node{x.g, x.t, x.s - 1}])
		}
		if tb.Steps[x.s].Op.Receives() {
			w := wire{tb.Recv, x.g, tb.Channel}
			before[n] = append(before[n], sent[w][0])
			sent[w] = sent[w][1:]
		}
		for _, d := range tb.Steps[x.s].Deps {
			s := int(d.Step)
			for !p.GPUs[x.g].Threadblocks[d.TB].Steps[s].HasDep {
				s++
			}
			before[n] = append(before[n], number[node{x.g, int(d.TB), s}])
		}
	}
	words := (len(nodes) + 63) / 64
	past := make([][]uint64, len(nodes))
	var close func(n int) []uint64
	close = func(n int) []uint64 {
		if past[n] == nil {
			set := make([]uint64, words)
			for _, m := range before[n] {
				for i, w := range close(m) {
					set[i] |= w
				}
				set[m/64] |= 1 << (m % 64)
			}
			past[n] = set
		}
		return past[n]
	}
	type touch struct {
		n, tb  int
		writes bool
	}
	touched := map[cell][]touch{}
	for n, x := range nodes {
		close(n)
		s := p.GPUs[x.g].Threadblocks[x.t].Steps[x.s]
		for i := range int(s.Count) {
			if s.Op.ReadsSrc() {
				c := cell{0, x.g, s.Src.Buf, nth(s.Src, i)}
				touched[c] = append(touched[c], touch{n, x.t, false})
			}
			if s.Op.WritesDst() {
				c := cell{0, x.g, s.Dst.Buf, nth(s.Dst, i)}
				touched[c] = append(touched[c], touch{n, x.t, true})
			}
		}
	}
	for _, list := range touched {
		for i, a := range list {
			for _, b := range list[:i] {
				if a.tb != b.tb && (a.writes || b.writes) &&
					past[a.n][b.n/64]>>(b.n%64)&1 == 0 && past[b.n][a.n/64]>>(a.n%64)&1 == 0 {
					return true
				}
			}
		}
	}
	return false
}
