package compiler

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/colltune/colltune/internal/safe"
)

// graphs lists the drawings of a program, each with the pass whose dump it shows.
var graphs = [...]struct{ name, pass string }{
	{"chunk", "chunk dag"},
	{"instructions", "channels"},
	{"threadblocks", "hoist waits"},
}

// Graphs lists the names that GraphPass accepts.
func Graphs() []string {
	names := make([]string, len(graphs))
	for i, g := range graphs {
		names[i] = g.name
	}
	return names
}

// GraphPass returns the pass whose dump draws a graph: the chunk DAG, the
// instruction DAG, or the instructions within their threadblocks.
func GraphPass(graph string) (string, error) {
	for _, g := range graphs {
		if g.name == graph {
			return g.pass, nil
		}
	}
	return "", fmt.Errorf("unknown graph %q: want one of %s", graph, strings.Join(Graphs(), ", "))
}

// DOT draws the dump for Graphviz. Each rank, or each threadblock once there are
// any, is a box. An arrow points from the earlier to the later; a bold arrow is a
// message, and a dashed one a dependency that another one implies.
func (d *Dump) DOT(w io.Writer) error {
	u, err := readUnit(d.text)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %s {\n  rankdir=LR; node [shape=box, fontname=monospace];\n", safe.DOT(u.in.Name))
	switch {
	case u.out != nil:
		return errors.New("the IR has no graph: want a dump of a pass before emit")
	case u.tbs != nil:
		for t := range u.tbs {
			tb := &u.tbs[t]
			cluster(b, fmt.Sprintf("rank %d tb %d ch %d", tb.rank, int32(t)-u.gpuTBs[tb.rank], tb.channel), t, tb.steps, u.instrLabel)
			for n := 1; n < len(tb.steps); n++ {
				fmt.Fprintf(b, "  %d -> %d [weight=8];\n", tb.steps[n-1], tb.steps[n])
			}
		}
		u.instrArrows(b)
	case u.ins != nil:
		byRank := make([][]int32, u.col.Ranks)
		for i := range u.ins {
			if u.live(int32(i)) {
				byRank[u.ins[i].rank] = append(byRank[u.ins[i].rank], int32(i))
			}
		}
		for r, list := range byRank {
			cluster(b, fmt.Sprintf("rank %d", r), r, list, u.instrLabel)
		}
		u.instrArrows(b)
	default:
		u.opGraph(b)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// cluster draws nodes within a box.
func cluster(b *bufio.Writer, label string, n int, nodes []int32, text func(int32) string) {
	if len(nodes) == 0 {
		return
	}
	fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%q;\n", n, label)
	for _, i := range nodes {
		fmt.Fprintf(b, "    %d [label=%q];\n", i, text(i))
	}
	b.WriteString("  }\n")
}

// instrLabel describes an instruction, except for its messages and
// dependencies, which are drawn as arrows.
func (u *program) instrLabel(i int32) string {
	in := &u.ins[i]
	src, dst := in.src(), in.dst()
	switch {
	case in.op.ReadsSrc() && in.op.WritesDst() && src != dst:
		return fmt.Sprintf("%v %v → %v", in.op, src, dst)
	case in.op.ReadsSrc():
		return fmt.Sprintf("%v %v", in.op, src)
	}
	return fmt.Sprintf("%v %v", in.op, dst)
}

// instrArrows draws messages and dependencies.
func (u *program) instrArrows(b *bufio.Writer) {
	for m := range u.msgs {
		msg := &u.msgs[m]
		fmt.Fprintf(b, "  %d -> %d [style=bold", msg.sender, msg.receiver)
		if msg.channel != none {
			fmt.Fprintf(b, ", label=%q", fmt.Sprintf("ch %d", msg.channel))
		}
		b.WriteString("];\n")
	}
	for i := range u.ins {
		if !u.live(int32(i)) {
			continue
		}
		waited := map[int32]bool{}
		if u.waits.start != nil {
			for _, p := range u.waits.row(int32(i)) {
				waited[p] = true
				fmt.Fprintf(b, "  %d -> %d [label=waits];\n", p, i)
			}
		}
		for _, p := range u.preds.row(int32(i)) {
			a := u.alias[p]
			switch {
			case u.waits.start == nil:
				fmt.Fprintf(b, "  %d -> %d;\n", a, i)
			case !waited[a] && u.tbOf[a] != u.tbOf[i]:
				fmt.Fprintf(b, "  %d -> %d [style=dashed];\n", a, i)
			}
		}
	}
}

// opGraph draws the operations, with their dependencies from pass chunk dag on.
func (u *program) opGraph(b *bufio.Writer) {
	for i := range u.ops {
		o := &u.ops[i]
		kind := "copy"
		if o.reduce {
			kind = "reduce"
		}
		src, dst := o.ends()
		label := fmt.Sprintf("%s rank %d %v → rank %d %v", kind, o.src, src, o.dst, dst)
		if o.withStride > 0 {
			label += fmt.Sprintf(" with %v", o.with())
		}
		fmt.Fprintf(b, "  %d [label=%q];\n", i, label)
		if u.srcDeps.start == nil {
			continue
		}
		drawn := map[int32]bool{}
		for _, deps := range [2][]int32{u.srcDeps.row(int32(i)), u.dstDeps.row(int32(i))} {
			for _, d := range deps {
				if !drawn[d] {
					drawn[d] = true
					fmt.Fprintf(b, "  %d -> %d;\n", d, i)
				}
			}
		}
	}
}
