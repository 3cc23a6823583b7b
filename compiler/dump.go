package compiler

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// text prints the unit as far as it has come: operations, then instructions,
// then the same in their order and under their threadblocks, then the IR.
//
//	alltoall over 2 ranks, 1 chunks
//	0 copy rank 0 in[1] → rank 1 out[0]
//	1 copy rank 1 in[1] → rank 0 out[1] ch 2 instance 1 waits 0 | 0
//
// What an operation waits for stands as "waits, at the rank it reads from | at
// the rank it writes to". An instruction names its peers, ← from and → to, and
// the channel once it has one.
func (u *unit) text() string {
	var b strings.Builder
	switch {
	case u.out != nil:
		if err := ir.Print(&b, u.out); err != nil {
			panic(err) // a Builder never fails
		}
		return b.String()
	case u.col.Ranks == 0:
		return ""
	}
	fmt.Fprintf(&b, "%s over %d ranks, %d chunks", u.col.Name, u.col.Ranks, u.col.Chunks)
	if u.col.InPlace {
		b.WriteString(", in place")
	}
	for r, n := range u.scratch {
		if n > 0 {
			fmt.Fprintf(&b, ", rank %d sc[%d]", r, n)
		}
	}
	b.WriteByte('\n')
	switch {
	case u.tbs != nil:
		for t := range u.tbs {
			tb := &u.tbs[t]
			fmt.Fprintf(&b, "rank %d tb %d", tb.rank, int32(t)-u.gpuTBs[tb.rank])
			if tb.put != none {
				fmt.Fprintf(&b, " → %d", u.conns[tb.put].to)
			}
			if tb.get != none {
				fmt.Fprintf(&b, " ← %d", u.conns[tb.get].from)
			}
			fmt.Fprintf(&b, " ch %d\n", tb.channel)
			for _, i := range tb.steps {
				b.WriteString("  ")
				u.instrText(&b, i)
			}
		}
	case u.seq != nil:
		for _, i := range u.seq {
			u.instrText(&b, i)
		}
	case u.ins != nil:
		for i := range u.ins {
			if u.live(int32(i)) {
				u.instrText(&b, int32(i))
			}
		}
	default:
		for i := range u.ops {
			u.opText(&b, int32(i))
		}
	}
	return b.String()
}

// run names count chunks.
func run(b collective.Buffer, off, count int32) string {
	if count == 1 {
		return fmt.Sprintf("%v[%d]", b, off)
	}
	return fmt.Sprintf("%v[%d:%d]", b, off, off+count)
}

func (u *unit) opText(b *strings.Builder, i int32) {
	o := &u.ops[i]
	kind := "copy"
	if o.reduce {
		kind = "reduce"
	}
	fmt.Fprintf(b, "%d %s rank %d %s → rank %d %s", i, kind,
		o.src, run(o.srcBuf, o.srcOff, o.count), o.dst, run(o.dstBuf, o.dstOff, o.count))
	if o.channel != none {
		fmt.Fprintf(b, " ch %d", o.channel)
	}
	if o.key != 0 {
		fmt.Fprintf(b, " instance %d", o.key)
	}
	if u.srcDeps.start != nil {
		if src, dst := u.srcDeps.row(i), u.dstDeps.row(i); len(src)+len(dst) > 0 {
			b.WriteString(" waits")
			for _, d := range src {
				fmt.Fprintf(b, " %d", d)
			}
			b.WriteString(" |")
			for _, d := range dst {
				fmt.Fprintf(b, " %d", d)
			}
		}
	}
	b.WriteByte('\n')
}

func (u *unit) instrText(b *strings.Builder, i int32) {
	in := &u.ins[i]
	fmt.Fprintf(b, "%d %-4s rank %d ", i, in.op, in.rank)
	reads, writes := in.op.ReadsSrc(), in.op.WritesDst()
	src, dst := run(in.srcBuf, in.srcOff, in.count), run(in.dstBuf, in.dstOff, in.count)
	switch {
	case reads && writes && src != dst:
		b.WriteString(src + " ⇒ " + dst)
	case reads:
		b.WriteString(src)
	case writes:
		b.WriteString(dst)
	}
	if in.get != none {
		fmt.Fprintf(b, " ← %d", u.msgs[in.get].from)
	}
	if in.put != none {
		fmt.Fprintf(b, " → %d", u.msgs[in.put].to)
	}
	for _, m := range [2]int32{in.get, in.put} {
		if m != none && u.msgs[m].channel != none {
			fmt.Fprintf(b, " ch %d", u.msgs[m].channel)
			break
		}
	}
	if u.depth != nil {
		fmt.Fprintf(b, " depth %d of %d", u.depth[i], u.depth[i]+u.height[i])
	}
	waits := u.preds.row(i)
	if u.waits.start != nil {
		waits = u.waits.row(i) // those that are left
	}
	for n, p := range waits {
		if n == 0 {
			b.WriteString(" waits")
		}
		fmt.Fprintf(b, " %d", u.alias[p])
	}
	b.WriteByte('\n')
}
