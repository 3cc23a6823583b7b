package ir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// Print writes the program for people:
//
//	allreduce over 2 ranks, 2 chunks, in place
//	protocol LL128
//	gpu 0
//	  tb 0 send→1 recv←1 ch 0
//	    0 s    in[0]
//	    1 rrc  in[1]                 waits 1.0 flagged
//
// The line of the protocol is there if the program names one. A place is
// buffer[first:end] or buffer[first:end:stride]. "waits 1.0" is a wait for step 0 of
// threadblock 1, and a flagged step is one that another waits for. If an instruction reads
// and writes the same chunks, they are printed once. The error is that of w.
func Print(w io.Writer, p *Program) error {
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteString(Heading(p.Collective))
	b.WriteByte('\n')
	if p.Protocol != "" {
		fmt.Fprintf(b, "protocol %s\n", p.Protocol)
	}
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		fmt.Fprintf(b, "gpu %d", g)
		if gpu.Scratch > 0 {
			fmt.Fprintf(b, " scratch %d", gpu.Scratch)
		}
		b.WriteByte('\n')
		for t := range gpu.Threadblocks {
			tb := &gpu.Threadblocks[t]
			fmt.Fprintf(b, "  tb %d", t)
			if tb.Send >= 0 {
				fmt.Fprintf(b, " send→%d", tb.Send)
			}
			if tb.Recv >= 0 {
				fmt.Fprintf(b, " recv←%d", tb.Recv)
			}
			fmt.Fprintf(b, " ch %d\n", tb.Channel)
			for s := range tb.Steps {
				fmt.Fprintf(b, "    %d %v\n", s, &tb.Steps[s])
			}
		}
	}
	return b.Flush()
}

// Heading returns a collective on one line, as Print begins with it. What has no
// words of its own follows as JSON.
func Heading(c collective.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s over %d ranks, %d chunks", c.Name, c.Ranks, c.Chunks)
	if c.Root != 0 {
		fmt.Fprintf(&b, ", root %d", c.Root)
	}
	if c.InPlace {
		b.WriteString(", in place")
	}
	if more := headingRest(c); more != "" {
		b.WriteString(", with " + more)
	}
	return b.String()
}

// headingRest returns the fields of a Spec that Heading's words do not cover,
// as JSON.
func headingRest(c collective.Spec) string {
	text, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	rest := map[string]json.RawMessage{}
	if json.Unmarshal(text, &rest) != nil {
		return ""
	}
	for _, spoken := range [...]string{"name", "ranks", "chunks", "root", "in_place"} {
		delete(rest, spoken)
	}
	if text, err = json.Marshal(rest); err != nil || len(rest) == 0 { // by key, sorted
		return ""
	}
	return string(text)
}

// String returns the step as Print writes it, without its number.
func (s *Step) String() string {
	places := ""
	switch {
	case s.Op.ReadsSrc() && s.Op.WritesDst() && s.Src.Normal(s.Count) != s.Dst.Normal(s.Count):
		places = s.Src.Place(s.Count) + " → " + s.Dst.Place(s.Count)
	case s.Op.ReadsSrc():
		places = s.Src.Place(s.Count)
	case s.Op.WritesDst():
		places = s.Dst.Place(s.Count)
	}
	text := fmt.Sprintf("%-4s %s", s.Op, places)
	for i, d := range s.Deps {
		if i == 0 {
			text = fmt.Sprintf("%-24s waits", text)
		}
		text += fmt.Sprintf(" %d.%d", d.TB, d.Step)
	}
	if s.HasDep {
		text = fmt.Sprintf("%-24s flagged", text)
	}
	return text
}

// Place returns count chunks at l as Print writes them: in[3], out[4:8], or with a
// stride sc[0:13:4], which is 0, 4, 8 and 12.
func (l Loc) Place(count int32) string {
	switch {
	case count == 1:
		return fmt.Sprintf("%v[%d]", l.Buf, l.Off)
	case l.Contiguous(count):
		return fmt.Sprintf("%v[%d:%d]", l.Buf, l.Off, int64(l.Off)+int64(count))
	}
	return fmt.Sprintf("%v[%d:%d:%d]", l.Buf, l.Off, l.End(count), l.Stride)
}
