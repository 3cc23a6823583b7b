package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// program reads the short form of an IR that these tests are written in: a
// line a threadblock, in order, headed by GPU, peers and channel; then its
// steps. ! marks a step that posts a flag, @T.S one that waits, *N a count.
//
//	0 >1 <1 c0 | s in0 | r in1 @1.0 | rrc in2,sc0 *2 !
func program(t testing.TB, spec collective.Spec, scratch int, text string) *ir.Program {
	t.Helper()
	p := &ir.Program{Collective: spec, GPUs: make([]ir.GPU, spec.Ranks)}
	for g := range p.GPUs {
		p.GPUs[g].Scratch = scratch
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		parts := strings.Split(line, "|")
		g, tb := 0, ir.Threadblock{Send: -1, Recv: -1}
		for i, w := range strings.Fields(parts[0]) {
			switch {
			case i == 0:
				scan(t, w, "%d", &g)
			case w[0] == '>':
				scan(t, w, ">%d", &tb.Send)
			case w[0] == '<':
				scan(t, w, "<%d", &tb.Recv)
			default:
				scan(t, w, "c%d", &tb.Channel)
			}
		}
		for _, part := range parts[1:] {
			tb.Steps = append(tb.Steps, parseStep(t, part))
		}
		p.GPUs[g].Threadblocks = append(p.GPUs[g].Threadblocks, tb)
	}
	return p
}

func parseStep(t testing.TB, text string) ir.Step {
	t.Helper()
	words := strings.Fields(text)
	s := ir.Step{Count: 1}
	known := false
	for _, op := range ir.Ops() {
		if op.String() == words[0] {
			s.Op, known = op, true
		}
	}
	if !known {
		t.Fatalf("unknown step %q", text)
	}
	if s.Op == ir.Nop {
		s.Count = 0
	}
	for _, w := range words[1:] {
		switch w[0] {
		case '!':
			s.HasDep = true
		case '*':
			scan(t, w, "*%d", &s.Count)
		case '@':
			var d ir.Dep
			scan(t, w, "@%d.%d", &d.TB, &d.Step)
			s.Deps = append(s.Deps, d)
		default:
			for i, place := range strings.Split(w, ",") {
				l := parseLoc(t, place)
				if i == 0 && s.Op.ReadsSrc() {
					s.Src = l
				}
				if s.Op.WritesDst() {
					s.Dst = l
				}
			}
		}
	}
	return s
}

func parseLoc(t testing.TB, text string) ir.Loc {
	t.Helper()
	for _, b := range []collective.Buffer{collective.In, collective.Out, collective.Scratch} {
		if off, ok := strings.CutPrefix(text, b.String()); ok {
			l := ir.Loc{Buf: b}
			off, stride, strided := strings.Cut(off, "/")
			scan(t, off, "%d", &l.Off)
			if strided {
				scan(t, stride, "%d", &l.Stride)
			}
			return l
		}
	}
	t.Fatalf("unknown place %q", text)
	return ir.Loc{}
}

func scan(t testing.TB, text, format string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, into...); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
