package msccl

import (
	"io"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/safe"
)

// Write writes a program in a runtime's dialect; it combines Lower and
// File.WriteTo, with their errors.
func Write(w io.Writer, p *ir.Program, o WriteOptions) error {
	f, err := Lower(p, o)
	if err != nil {
		return err
	}
	_, err = f.WriteTo(w)
	return err
}

// WriteTo writes the file in the subset of XML that the runtimes' own readers
// accept: no prolog, one space between attributes, double quotes, no tabs. It returns
// the number of bytes written, and the error of w.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	e := &encoder{w: w}
	for _, c := range f.Comments {
		e.text("<!-- ").text(safe.XMLComment(c)).text(" -->\n")
	}
	e.text("<algo").word(" name", clean(f.Name)).word(" proto", f.Proto).int(" nchannels", f.NChannels).
		int(" nchunksperloop", f.NChunksPerLoop).int(" ngpus", f.NGPUs).word(" coll", f.Coll)
	for _, a := range [...]struct {
		name  string
		value *int64
	}{{" inplace", f.InPlace}, {" outofplace", f.OutOfPlace}, {" minBytes", f.MinBytes}, {" maxBytes", f.MaxBytes}, {" nthreads", f.NThreads}} {
		if a.value != nil {
			e.number(a.name, *a.value)
		}
	}
	if f.Collective != "" {
		e.word(" collective", f.Collective)
	}
	if f.Root != 0 {
		e.int(" root", f.Root)
	}
	e.text(">\n")
	for g := range f.GPUs {
		f.GPUs[g].write(e, g)
	}
	e.text("</algo>\n").flush()
	return e.n, e.err
}

func (g *GPU) write(e *encoder, id int) {
	e.text("  <gpu").int(" id", id).int(" i_chunks", g.In).int(" o_chunks", g.Out).int(" s_chunks", g.Scratch).text(">\n")
	for t := range g.Threadblocks {
		tb := &g.Threadblocks[t]
		e.text("    <tb").int(" id", t).int(" send", tb.Send).int(" recv", tb.Recv).int(" chan", tb.Chan).text(">\n")
		for i := range tb.Steps {
			tb.Steps[i].write(e)
		}
		e.text("    </tb>\n")
	}
	e.text("  </gpu>\n")
}

func (s *Step) write(e *encoder) {
	e.text("      <step").int(" s", int(s.S)).word(" type", s.Op.String()).
		letter(" srcbuf", letters[s.SrcBuf]).int(" srcoff", int(s.SrcOff)).
		letter(" dstbuf", letters[s.DstBuf]).int(" dstoff", int(s.DstOff)).
		int(" cnt", int(s.Count)).int(" depid", int(s.DepID)).int(" deps", int(s.Deps))
	if s.HasDep {
		e.text(` hasdep="1"/>` + "\n")
	} else {
		e.text(` hasdep="0"/>` + "\n")
	}
}

// clean removes characters that would need escapes, which the readers do not
// support.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"'<>&`, r) {
			return '_'
		}
		return r
	}, safe.ASCII(s))
	if len(s) > maxName {
		s = s[:maxName]
	}
	if s == "" {
		return "colltune"
	}
	return s
}

// encoder appends attributes, and remembers the first error.
type encoder struct {
	w   io.Writer
	buf []byte
	n   int64
	err error
}

func (e *encoder) text(s string) *encoder {
	if len(e.buf) > 1<<16 {
		e.flush()
	}
	e.buf = append(e.buf, s...)
	return e
}

func (e *encoder) word(name, value string) *encoder {
	return e.text(name).text(`="`).text(value).text(`"`)
}

func (e *encoder) letter(name string, b byte) *encoder {
	e.text(name).text(`="`)
	e.buf = append(e.buf, b, '"')
	return e
}

func (e *encoder) int(name string, value int) *encoder { return e.number(name, int64(value)) }

func (e *encoder) number(name string, value int64) *encoder {
	e.text(name).text(`="`)
	e.buf = append(strconv.AppendInt(e.buf, value, 10), '"')
	return e
}

func (e *encoder) flush() {
	if e.err == nil {
		var n int
		n, e.err = e.w.Write(e.buf)
		e.n += int64(n)
	}
	e.buf = e.buf[:0]
}
