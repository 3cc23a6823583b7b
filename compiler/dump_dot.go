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
// instruction DAG, or the instructions within their threadblocks. It returns an error for
// a name that is none of Graphs.
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
// message, and a dashed one a dependency that another one implies. It returns an error
// for a dump of pass emit, which has no graph, and the errors of w.
func (d *Dump) DOT(w io.Writer) error {
	prog, err := readUnit(d.text)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %s {\n  rankdir=LR; node [shape=box, fontname=monospace];\n", safe.DOT(prog.in.Name))
	switch {
	case prog.out != nil:
		return errors.New("the IR has no graph: want a dump of a pass before emit")
	case prog.tbs != nil:
		for t := range prog.tbs {
			tb := &prog.tbs[t]
			cluster(b, fmt.Sprintf("rank %d tb %d ch %d", tb.rank, int32(t)-prog.gpuTBs[tb.rank], tb.channel), t, tb.steps, prog.instrLabel)
			for n := 1; n < len(tb.steps); n++ {
				fmt.Fprintf(b, "  %d -> %d [weight=8];\n", tb.steps[n-1], tb.steps[n])
			}
		}
		prog.instrArrows(b)
	case prog.ins != nil:
		byRank := make([][]int32, prog.col.Ranks)
		for i := range prog.ins {
			if prog.live(int32(i)) {
				byRank[prog.ins[i].rank] = append(byRank[prog.ins[i].rank], int32(i))
			}
		}
		for r, list := range byRank {
			cluster(b, fmt.Sprintf("rank %d", r), r, list, prog.instrLabel)
		}
		prog.instrArrows(b)
	default:
		prog.opGraph(b)
	}
	b.WriteString("}\n")
	return b.Flush()
}

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
func (prog *program) instrLabel(i int32) string {
	in := &prog.ins[i]
	src, dst := in.src(), in.dst()
	switch {
	case in.op.ReadsSrc() && in.op.WritesDst() && src != dst:
		return fmt.Sprintf("%v %v → %v", in.op, src, dst)
	case in.op.ReadsSrc():
		return fmt.Sprintf("%v %v", in.op, src)
	}
	return fmt.Sprintf("%v %v", in.op, dst)
}

func (prog *program) instrArrows(b *bufio.Writer) {
	for m := range prog.msgs {
		msg := &prog.msgs[m]
		fmt.Fprintf(b, "  %d -> %d [style=bold", msg.sender, msg.receiver)
		if msg.channel != none {
			fmt.Fprintf(b, ", label=%q", fmt.Sprintf("ch %d", msg.channel))
		}
		b.WriteString("];\n")
	}
	for i := range prog.ins {
		if !prog.live(int32(i)) {
			continue
		}
		waited := map[int32]bool{}
		if prog.waits.start != nil {
			for _, p := range prog.waits.row(int32(i)) {
				waited[p] = true
				fmt.Fprintf(b, "  %d -> %d [label=waits];\n", p, i)
			}
		}
		for _, p := range prog.preds.row(int32(i)) {
			a := prog.alias[p]
			switch {
			case prog.waits.start == nil:
				fmt.Fprintf(b, "  %d -> %d;\n", a, i)
			case !waited[a] && prog.tbOf[a] != prog.tbOf[i]:
				fmt.Fprintf(b, "  %d -> %d [style=dashed];\n", a, i)
			}
		}
	}
}

// opGraph draws the operations, with their dependencies from pass chunk dag on.
func (prog *program) opGraph(b *bufio.Writer) {
	for i := range prog.ops {
		fmt.Fprintf(b, "  %d [label=%q];\n", i, prog.ops[i].String())
		if prog.srcDeps.start == nil {
			continue
		}
		drawn := map[int32]bool{}
		for _, deps := range [2][]int32{prog.srcDeps.row(int32(i)), prog.dstDeps.row(int32(i))} {
			for _, d := range deps {
				if !drawn[d] {
					drawn[d] = true
					fmt.Fprintf(b, "  %d -> %d;\n", d, i)
				}
			}
		}
	}
}
