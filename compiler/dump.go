package compiler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// text prints the program in its current form: operations, then instructions,
// then instructions in threadblocks, then the IR.
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
func (prog *program) text() string {
	var b strings.Builder
	switch {
	case prog.out != nil:
		if err := ir.Print(&b, prog.out); err != nil {
			panic(err) // writing to a strings.Builder never fails
		}
		return b.String()
	case prog.col.Ranks == 0:
		return ""
	}
	prog.headText(&b)
	switch {
	case prog.tbs != nil:
		prog.threadblocksText(&b)
	case prog.seq != nil:
		for _, i := range prog.seq {
			prog.instrText(&b, i)
			b.WriteByte('\n')
		}
	case prog.ins != nil:
		for i := range prog.ins {
			if prog.live(int32(i)) {
				prog.instrText(&b, int32(i))
				b.WriteByte('\n')
			}
		}
	default:
		for i := range prog.ops {
			prog.opText(&b, int32(i))
		}
	}
	return b.String()
}

// headText writes the lines above operations and instructions. Lines with
// default values are left out.
func (prog *program) headText(b *strings.Builder) {
	fmt.Fprintf(b, "after %s of %q\n%s\n", prog.after, prog.in.Name, ir.Heading(prog.col.Spec))
	if prog.in.Protocol != "" {
		fmt.Fprintf(b, "protocol %s\n", prog.in.Protocol)
	}
	if slices.ContainsFunc(prog.scratch, func(n int32) bool { return n > 0 }) {
		b.WriteString("scratch")
		numbers(b, prog.scratch)
		b.WriteByte('\n')
	}
	if prog.instances > 1 {
		fmt.Fprintf(b, "instances %d × %d\n", prog.instances/prog.scopeInstances, prog.scopeInstances)
	}
	if prog.callPerChunk {
		b.WriteString("calls of one chunk\n")
	}
	if prog.cycleBreaks > 0 {
		fmt.Fprintf(b, "cycles broken %d\n", prog.cycleBreaks)
	}
	if prog.instances == 1 && prog.after == passes[0].Name {
		for s := 1; s < len(prog.in.Scopes); s++ {
			fmt.Fprintf(b, "scope %d in %d by %d\n", s, prog.in.Scopes[s].Parent, prog.in.Scopes[s].Factor)
		}
	}
}

func (prog *program) threadblocksText(b *strings.Builder) {
	at := prog.orderPositions()
	for t := range prog.tbs {
		tb := &prog.tbs[t]
		fmt.Fprintf(b, "rank %d tb %d", tb.rank, int32(t)-prog.gpuTBs[tb.rank])
		if tb.put != none {
			fmt.Fprintf(b, " → %d", prog.conns[tb.put].to)
		}
		if tb.get != none {
			fmt.Fprintf(b, " ← %d", prog.conns[tb.get].from)
		}
		fmt.Fprintf(b, " ch %d\n", tb.channel)
		for _, i := range tb.steps {
			b.WriteString("  ")
			prog.instrText(b, i)
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

// String describes the kind of operation and its places.
func (o *op) String() string {
	kind := "copy"
	if o.reduce {
		kind = "reduce"
	}
	src, dst := o.ends()
	text := fmt.Sprintf("%s rank %d %v → rank %d %v", kind, o.src, src, o.dst, dst)
	if o.withStride > 0 {
		text += fmt.Sprintf(" with %v", o.with())
	}
	return text
}

func (prog *program) opText(b *strings.Builder, i int32) {
	o := &prog.ops[i]
	fmt.Fprintf(b, "%d %v", i, o)
	if o.channel != none {
		fmt.Fprintf(b, " ch %d", o.channel)
	}
	if o.scope != 0 && prog.after == passes[0].Name {
		fmt.Fprintf(b, " scope %d", o.scope)
	}
	if o.instance != 0 {
		fmt.Fprintf(b, " instance %d", o.instance)
	}
	if prog.srcDeps.start != nil {
		if src, dst := prog.srcDeps.row(i), prog.dstDeps.row(i); len(src)+len(dst) > 0 {
			b.WriteString(" after")
			numbers(b, src)
			b.WriteString(" |")
			numbers(b, dst)
		}
		if prog.writesResult[i] {
			b.WriteString(" result")
		}
	}
	b.WriteByte('\n')
}

func (prog *program) instrText(b *strings.Builder, i int32) {
	in := &prog.ins[i]
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
		got = prog.msgs[in.get].channel
		sent = got
		fmt.Fprintf(b, " ← %d", prog.msgs[in.get].from)
	}
	if in.put != none {
		sent = prog.msgs[in.put].channel
		fmt.Fprintf(b, " → %d", prog.msgs[in.put].to)
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
	if key := prog.ops[in.of].instance; key != 0 {
		fmt.Fprintf(b, " instance %d", key)
	}
	if prog.depth != nil {
		fmt.Fprintf(b, " depth %d of %d", prog.depth[i], prog.depth[i]+prog.height[i])
	} else if prog.writesResult[in.of] && in.op != ir.Send {
		b.WriteString(" result")
	}
	if after := prog.preds.row(i); len(after) > 0 {
		b.WriteString(" after")
		numbers(b, after)
	}
	if prog.waits.start != nil && len(prog.waits.row(i)) > 0 {
		b.WriteString(" waits")
		numbers(b, prog.waits.row(i))
	}
}

func orDash(channel int32) string {
	if channel == none {
		return "-"
	}
	return strconv.Itoa(int(channel))
}
