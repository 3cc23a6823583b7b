package compiler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// text prints the program in its current form: operations, then instructions,
// then instructions in threadblocks, then the IR. ParseDump reads all of it
// back.
//
//		after chunk dag of "pair"
//		alltoall over 2 ranks, 1 chunks
//		0 copy rank 0 in[1] → rank 1 out[0] result
//		1 copy rank 1 in[1] → rank 0 out[1] ch 2 instance 1 after 0 | 0 result
//
//	  - "with PLACE": a reduction adds its source to the value there, and stores the sum at its destination.
//	  - "after A | B": dependencies at the rank it reads from, and at the rank it writes to.
//	  - "result": the operation leaves a part of the result.
//	  - "← N", "→ N": peers of an instruction; "ch 1|-" if the channels to receive and to send on differ.
//	  - "3+6": receive 3 is fused with send 6. Send n is received by instruction n+1.
//	  - "at N": position in the global order, once there are threadblocks.
//	  - "waits": the part of "after" that is waited for explicitly.
func (u *program) text() string {
	var b strings.Builder
	switch {
	case u.out != nil:
		if err := ir.Print(&b, u.out); err != nil {
			panic(err) // writing to a strings.Builder never fails
		}
		return b.String()
	case u.col.Ranks == 0:
		return ""
	}
	u.headText(&b)
	switch {
	case u.tbs != nil:
		u.threadblocksText(&b)
	case u.seq != nil:
		for _, i := range u.seq {
			u.instrText(&b, i)
			b.WriteByte('\n')
		}
	case u.ins != nil:
		for i := range u.ins {
			if u.live(int32(i)) {
				u.instrText(&b, int32(i))
				b.WriteByte('\n')
			}
		}
	default:
		for i := range u.ops {
			u.opText(&b, int32(i))
		}
	}
	return b.String()
}

// headText writes the lines above operations and instructions. Lines with
// default values are left out.
func (u *program) headText(b *strings.Builder) {
	fmt.Fprintf(b, "after %s of %q\n%s\n", u.after, u.in.Name, ir.Heading(u.col.Spec))
	if slices.ContainsFunc(u.scratch, func(n int32) bool { return n > 0 }) {
		b.WriteString("scratch")
		numbers(b, u.scratch)
		b.WriteByte('\n')
	}
	if u.instances > 1 {
		fmt.Fprintf(b, "instances %d × %d\n", u.instances/u.scopeInstances, u.scopeInstances)
	}
	if u.callPerChunk {
		b.WriteString("calls of one chunk\n")
	}
	if u.cycleBreaks > 0 {
		fmt.Fprintf(b, "cycles broken %d\n", u.cycleBreaks)
	}
	if u.instances == 1 && u.after == passes[0].name {
		for s := 1; s < len(u.in.Scopes); s++ {
			fmt.Fprintf(b, "scope %d in %d by %d\n", s, u.in.Scopes[s].Parent, u.in.Scopes[s].Factor)
		}
	}
}

// threadblocksText writes the threadblocks with their instructions.
func (u *program) threadblocksText(b *strings.Builder) {
	at := make([]int, len(u.ins))
	for n, i := range u.seq {
		at[i] = n
	}
	for t := range u.tbs {
		tb := &u.tbs[t]
		fmt.Fprintf(b, "rank %d tb %d", tb.rank, int32(t)-u.gpuTBs[tb.rank])
		if tb.put != none {
			fmt.Fprintf(b, " → %d", u.conns[tb.put].to)
		}
		if tb.get != none {
			fmt.Fprintf(b, " ← %d", u.conns[tb.get].from)
		}
		fmt.Fprintf(b, " ch %d\n", tb.channel)
		for _, i := range tb.steps {
			b.WriteString("  ")
			u.instrText(b, i)
			fmt.Fprintf(b, " at %d\n", at[i])
		}
	}
}

// numbers writes each number after a space.
func numbers(b *strings.Builder, list []int32) {
	var digits [12]byte
	for _, n := range list {
		b.WriteByte(' ')
		b.Write(strconv.AppendInt(digits[:0], int64(n), 10))
	}
}

func (u *program) opText(b *strings.Builder, i int32) {
	o := &u.ops[i]
	kind := "copy"
	if o.reduce {
		kind = "reduce"
	}
	src, dst := o.ends()
	fmt.Fprintf(b, "%d %s rank %d %v → rank %d %v", i, kind, o.src, src, o.dst, dst)
	if o.withStride > 0 {
		fmt.Fprintf(b, " with %v", o.with())
	}
	if o.channel != none {
		fmt.Fprintf(b, " ch %d", o.channel)
	}
	if o.scope != 0 && u.after == passes[0].name {
		fmt.Fprintf(b, " scope %d", o.scope)
	}
	if o.instance != 0 {
		fmt.Fprintf(b, " instance %d", o.instance)
	}
	if u.srcDeps.start != nil {
		if src, dst := u.srcDeps.row(i), u.dstDeps.row(i); len(src)+len(dst) > 0 {
			b.WriteString(" after")
			numbers(b, src)
			b.WriteString(" |")
			numbers(b, dst)
		}
		if u.writesResult[i] {
			b.WriteString(" result")
		}
	}
	b.WriteByte('\n')
}

func (u *program) instrText(b *strings.Builder, i int32) {
	in := &u.ins[i]
	fmt.Fprintf(b, "%d", i)
	if in.fused != none {
		fmt.Fprintf(b, "+%d", in.fused)
	}
	fmt.Fprintf(b, " %-4s rank %d ", in.op, in.rank)
	// An rrs shows its destination too, although it stores nothing: if the fusion
	// is undone, the receive stores the sum there.
	reads, writes := in.op.ReadsSrc(), in.op.WritesDst() || in.op == ir.RecvReduceSend
	src, dst := in.src().String(), in.dst().String()
	switch {
	case reads && writes && src != dst:
		b.WriteString(src + " ⇒ " + dst)
	case reads:
		b.WriteString(src)
	case writes:
		b.WriteString(dst)
	}
	got, sent := int32(none), int32(none)
	if in.get != none {
		got = u.msgs[in.get].channel
		sent = got
		fmt.Fprintf(b, " ← %d", u.msgs[in.get].from)
	}
	if in.put != none {
		sent = u.msgs[in.put].channel
		fmt.Fprintf(b, " → %d", u.msgs[in.put].to)
		if in.get == none {
			got = sent
		}
	}
	switch {
	case got != sent:
		fmt.Fprintf(b, " ch %s|%s", orDash(got), orDash(sent))
	case got != none:
		fmt.Fprintf(b, " ch %d", got)
	}
	if key := u.ops[in.of].instance; key != 0 {
		fmt.Fprintf(b, " instance %d", key)
	}
	if u.depth != nil {
		fmt.Fprintf(b, " depth %d of %d", u.depth[i], u.depth[i]+u.height[i])
	} else if u.writesResult[in.of] && in.op != ir.Send {
		b.WriteString(" result")
	}
	if after := u.preds.row(i); len(after) > 0 {
		b.WriteString(" after")
		numbers(b, after)
	}
	if u.waits.start != nil && len(u.waits.row(i)) > 0 {
		b.WriteString(" waits")
		numbers(b, u.waits.row(i))
	}
}

func orDash(channel int32) string {
	if channel == none {
		return "-"
	}
	return strconv.Itoa(int(channel))
}
