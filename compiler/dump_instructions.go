package compiler

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// instructionLines reads the instructions of a dump, which has them from pass
// instructions on.
func (r *dumpReader) instructionLines() error {
	most := 2 * r.contentLines()
	r.ins = make([]instr, most)
	r.alias, r.said = make([]int32, most), make([]dumpInstr, most)
	if r.stage >= passIndex("depths") {
		r.depth, r.height = make([]int32, most), make([]int32, most)
	}
	if r.stage >= passIndex("threadblocks") {
		r.gpuTBs = make([]int32, r.col.Ranks+1)
	}
	for {
		line, ok := r.next()
		if !ok {
			break
		}
		f := &fields{words: strings.Fields(line)}
		if f.words[0] == "rank" && r.gpuTBs != nil {
			r.threadblockLine(f)
		} else {
			r.instructionLine(f)
		}
		if f.err != nil {
			return f.err
		}
	}
	for _, step := range [...]func() error{r.number, r.connect, r.schedule} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// threadblockLine reads the head of a threadblock. Until connect has replaced them
// by connections, put and get hold the peers.
func (r *dumpReader) threadblockLine(f *fields) {
	tb := threadblock{put: none, get: none}
	f.expect("rank")
	tb.rank = f.count(0, r.col.Ranks-1)
	if n := len(r.tbs); n > 0 && f.err == nil && tb.rank < r.tbs[n-1].rank {
		f.fail(fmt.Errorf("rank %d after rank %d", tb.rank, r.tbs[n-1].rank))
	}
	f.expect("tb")
	if f.err == nil {
		f.expect(strconv.Itoa(int(r.gpuTBs[tb.rank+1])))
		r.gpuTBs[tb.rank+1]++
	}
	for f.more() {
		switch w := f.word(); w {
		case "→":
			tb.put = f.count(0, r.col.Ranks-1)
		case "←":
			tb.get = f.count(0, r.col.Ranks-1)
		case "ch":
			tb.channel = f.count(0, math.MaxInt16)
		default:
			f.fail(fmt.Errorf("%.20q: want → N, ← N or ch N", w))
		}
	}
	r.tbs = append(r.tbs, tb)
}

// instructionLine reads one instruction, with the send that was fused into it.
func (r *dumpReader) instructionLine(f *fields) {
	i, in := r.instruction(f)
	if f.err != nil {
		return
	}
	r.said[i].channels, r.said[i].peers = [2]int32{none, none}, [2]int32{none, none}
	for f.more() {
		r.mark(f, i, in.op)
	}
	if f.err != nil {
		return
	}
	r.said[i].known, r.alias[i], r.ins[i] = true, i, in
	if in.fused != none {
		r.fusedSend(i)
	}
	r.order = append(r.order, i)
	if n := len(r.tbs); r.gpuTBs != nil {
		if n == 0 || r.tbs[n-1].rank != in.rank {
			f.fail(fmt.Errorf("instruction %d of rank %d is not under a threadblock of it", i, in.rank))
			return
		}
		r.tbs[n-1].steps = append(r.tbs[n-1].steps, i)
	}
}

// instruction reads the beginning of a line: ids, operation, rank and places.
func (r *dumpReader) instruction(f *fields) (i int32, in instr) {
	in = instr{get: none, put: none, fused: none, of: none}
	id, fused, isFused := strings.Cut(f.word(), "+")
	i, err := count(id, 0, int32(len(r.ins)-1))
	f.fail(err)
	if isFused {
		in.fused, err = count(fused, i+1, int32(len(r.ins)-1))
		f.fail(err)
	}
	in.op, err = ir.ParseOp(f.word())
	f.fail(err)
	f.expect("rank")
	in.rank = f.count(0, r.col.Ranks-1)
	src := f.place()
	dst := src
	if f.more() && f.words[0] == "⇒" {
		f.word()
		if dst = f.place(); src.count != dst.count {
			f.fail(fmt.Errorf("%d chunks to %d", src.count, dst.count))
		}
	}
	in.srcBuf, in.srcOff, in.count, in.srcStride = src.buf, src.off, src.count, src.stride
	in.dstBuf, in.dstOff, in.dstStride = dst.buf, dst.off, dst.stride
	if isFused != (in.op.Sends() && in.op.Receives()) || in.op == ir.Nop {
		f.fail(fmt.Errorf("%v: want ID+ID where it receives and sends, and no nop", in.op))
	}
	if f.err == nil && (r.said[i].known || isFused && r.said[in.fused].known) {
		f.fail(fmt.Errorf("instruction %d is there twice", i))
	}
	return i, in
}

func (r *dumpReader) mark(f *fields, i int32, op ir.Op) {
	switch w, said := f.word(), &r.said[i]; {
	case w == "←" && op.Receives():
		said.peers[0] = f.count(0, r.col.Ranks-1)
	case w == "→" && op.Sends():
		said.peers[1] = f.count(0, r.col.Ranks-1)
	case w == "ch":
		got, sent, two := strings.Cut(f.word(), "|")
		if !two {
			sent = got
		}
		said.channels = [2]int32{f.channel(got), f.channel(sent)}
	case w == "instance":
		said.instance = f.count(0, int(r.program.instances)-1)
	case w == "result" && r.depth == nil:
		said.result = true
	case w == "depth" && r.depth != nil:
		r.depth[i] = f.count(0, len(r.ins))
		f.expect("of")
		r.height[i] = f.count(int(r.depth[i]), len(r.ins)) - r.depth[i]
	case w == "after":
		said.after = f.counts(int(i) - 1)
	case w == "waits" && r.stage >= passIndex("synchronise"):
		said.waits = f.counts(len(r.ins) - 1)
	case w == "at" && r.gpuTBs != nil:
		said.position = int(f.count(0, len(r.ins)))
	default:
		f.fail(fmt.Errorf("%.20q is not for %v after %s", w, op, r.program.after))
	}
}

func (r *dumpReader) fusedSend(i int32) {
	in := &r.ins[i]
	b := in.fused
	r.ins[b] = instr{op: ir.Send, rank: in.rank, srcBuf: in.dstBuf, srcOff: in.dstOff, count: in.count,
		srcStride: in.dstStride, dstStride: 1, get: none, put: none, fused: none, of: none}
	said := &r.said[i]
	r.alias[b] = i
	r.said[b] = dumpInstr{
		known: true, channels: [2]int32{none, said.channels[1]}, peers: [2]int32{none, said.peers[1]},
		instance: said.instance, after: []int32{i},
	}
	if r.depth != nil {
		r.depth[b], r.height[b] = r.depth[i]+1, r.height[i]
	}
}

// number checks that no instruction is missing and recreates messages and
// operations: the message of send n is received by n+1.
func (r *dumpReader) number() error {
	n := len(r.ins)
	for n > 0 && !r.said[n-1].known {
		n--
	}
	if missing := slices.IndexFunc(r.said[:n], func(s dumpInstr) bool { return !s.known }); missing >= 0 {
		return fmt.Errorf("instruction %d is missing", missing)
	}
	r.ins, r.alias = r.ins[:n], r.alias[:n]
	if r.depth != nil {
		r.depth, r.height = r.depth[:n], r.height[:n]
	}
	r.preds = newCSR(n)
	for i := 0; i < n; i++ {
		s := &r.ins[i]
		o := op{
			reduce: s.op.Reduces(), src: s.rank, dst: s.rank, channel: none, instance: r.said[i].instance,
		}
		o.setPlaces(s.src(), s.dst())
		s.of = int32(len(r.ops))
		r.storeDeps(i)
		final := r.said[i].result
		switch {
		case s.op.Receives():
			return fmt.Errorf("instruction %d receives what none before it sends", i)
		case s.op.Sends():
			if i++; i == n {
				return fmt.Errorf("instruction %d sends to nobody", i-1)
			}
			d := &r.ins[i]
			m := message{
				from: s.rank, to: d.rank, sender: r.alias[i-1], receiver: int32(i),
				count: s.count, channel: r.said[i].channels[0], instance: r.said[i].instance, conn: none,
			}
			from, to := &r.said[i-1], &r.said[i]
			if !d.op.Receives() || d.rank == s.rank || d.count != s.count || to.peers[0] != s.rank || from.peers[1] != d.rank ||
				from.channels[1] != m.channel || from.instance != m.instance {
				return fmt.Errorf("instruction %d is not the receiver of what %d sends: peers, counts, channels and instances must be the same", i, i-1)
			}
			s.put, d.get, d.of = int32(len(r.msgs)), int32(len(r.msgs)), s.of
			if a := m.sender; a != int32(i-1) {
				r.ins[a].put = s.put
			}
			r.msgs = append(r.msgs, m)
			o.setPlaces(s.src(), d.dst())
			o.dst, o.channel, o.reduce = d.rank, m.channel, d.op.Reduces()
			r.storeDeps(i)
			final = to.result
		}
		r.ops, r.writesResult = append(r.ops, o), append(r.writesResult, final)
	}
	return nil
}

func (r *dumpReader) storeDeps(i int) {
	r.preds.list = append(r.preds.list, r.said[i].after...)
	r.preds.end()
}

// connect lists the connections, for dumps from pass channels on.
func (r *dumpReader) connect() error {
	if r.stage < passIndex("channels") {
		return nil
	}
	for m := range r.msgs {
		if r.msgs[m].channel == none {
			return fmt.Errorf("instruction %d sends on no channel", r.msgs[m].sender)
		}
	}
	r.listConns()
	return nil
}

// schedule restores the results of passes depths, order, threadblocks and
// synchronise.
func (r *dumpReader) schedule() error {
	if r.depth != nil {
		r.ranked = r.rankByDepth(r.depth, r.height)
	}
	if r.stage < passIndex("order") {
		return nil
	}
	r.seq = append(make([]int32, 0, len(r.order)), r.order...)
	if r.gpuTBs == nil {
		return nil
	}
	slices.SortStableFunc(r.seq, func(a, b int32) int { return r.said[a].position - r.said[b].position })
	ids := make(map[conn]int32, len(r.conns))
	for q, c := range r.conns {
		ids[c] = int32(q)
	}
	r.tbOf, r.posOf = make([]int32, len(r.ins)), make([]int32, len(r.ins))
	for t := range r.tbs {
		tb := &r.tbs[t]
		for _, side := range [2]*int32{&tb.put, &tb.get} {
			if *side == none {
				continue
			}
			c := conn{tb.rank, *side, tb.channel}
			if side == &tb.get {
				c = conn{*side, tb.rank, tb.channel}
			}
			q, ok := ids[c]
			if !ok {
				return fmt.Errorf("a threadblock of rank %d has a connection from %d to %d on channel %d, which nothing uses", tb.rank, c.from, c.to, c.channel)
			}
			*side = q
		}
		for n, i := range tb.steps {
			r.tbOf[i], r.posOf[i] = int32(t), int32(n)
		}
		// A threadblock may also execute local instructions of other instances.
		if n := slices.IndexFunc(tb.steps, func(i int32) bool { return !r.ins[i].local() }); n != none {
			tb.instance = r.said[tb.steps[n]].instance
		}
	}
	for rank := range r.col.Ranks {
		r.gpuTBs[rank+1] += r.gpuTBs[rank]
	}
	if r.stage < passIndex("synchronise") {
		return nil
	}
	r.waits = newCSR(len(r.ins))
	for i := range r.ins {
		for _, p := range r.said[i].waits {
			if int(p) >= len(r.ins) {
				return fmt.Errorf("instruction %d waits for %d, which is not there", i, p)
			}
		}
		r.waits.list = append(r.waits.list, r.said[i].waits...)
		r.waits.end()
	}
	return nil
}
