package ir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/safe"
)

// Schema is the schema of the JSON document that Encode writes and Decode
// reads.
const Schema = "colltune.ir/v1"

// Encode writes the program as a JSON document, one line for each step:
//
//	{"schema":"colltune.ir/v1",
//	"name":"ring",
//	"collective":{"name":"allreduce","ranks":2,"chunks":2,"in_place":true},
//	"gpus":[
//	{"gpu":0,"scratch":0,"threadblocks":[
//	{"tb":0,"send":1,"recv":1,"channel":0,"steps":[
//	{"op":"s","src":["in",0]},
//	{"op":"rrcs","src":["in",1],"dst":["in",1]},
//	{"op":"r","dst":["in",0],"deps":[[1,0]],"hasdep":true}
//	]}
//	]},
//
// A place is a buffer, its first chunk and, if the chunks are not contiguous,
// their stride. Default values are left out: a count of 1, no dependencies,
// false, an empty name, comment or protocol, and places that the instruction does
// not use. Equal programs give equal bytes. It returns an error for an unknown
// instruction or buffer, a stride below 1 or a name that is not UTF-8, and the
// errors of w.
func Encode(w io.Writer, p *Program) error {
	e := encoder{w: bufio.NewWriterSize(w, 1<<16)}
	if err := e.program(p); err != nil {
		return err
	}
	return e.w.Flush()
}

type encoder struct {
	w   *bufio.Writer
	buf []byte
}

func (e *encoder) program(p *Program) error {
	spec, err := json.Marshal(p.Collective)
	if err != nil {
		return fmt.Errorf("collective: %w", err)
	}
	fmt.Fprintf(e.w, "{\"schema\":%q", Schema)
	for _, s := range []struct{ key, text string }{{"name", p.Name}, {"comment", p.Comment}, {"protocol", p.Protocol}} {
		if s.text == "" {
			continue
		}
		if !utf8.ValidString(s.text) {
			return fmt.Errorf("%s %q is not UTF-8", s.key, s.text)
		}
		text, err := json.Marshal(s.text)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.w, ",\n\"%s\":%s", s.key, safe.JSON(text))
	}
	fmt.Fprintf(e.w, ",\n\"collective\":%s,\n\"gpus\":[", safe.JSON(spec))
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		comma(e.w, g)
		fmt.Fprintf(e.w, "{\"gpu\":%d,\"scratch\":%d,\"threadblocks\":[", g, gpu.Scratch)
		for t := range gpu.Threadblocks {
			tb := &gpu.Threadblocks[t]
			comma(e.w, t)
			fmt.Fprintf(e.w, "{\"tb\":%d,\"send\":%d,\"recv\":%d,\"channel\":%d,\"steps\":[", t, tb.Send, tb.Recv, tb.Channel)
			for s := range tb.Steps {
				comma(e.w, s)
				if err := e.step(&tb.Steps[s]); err != nil {
					return fmt.Errorf("gpu %d threadblock %d step %d: %w", g, t, s, err)
				}
			}
			e.w.WriteString("\n]}")
		}
		e.w.WriteString("\n]}")
	}
	_, err = e.w.WriteString("\n]}\n")
	return err
}

// comma ends the line before element i of an array.
func comma(w *bufio.Writer, i int) {
	if i > 0 {
		w.WriteByte(',')
	}
	w.WriteByte('\n')
}

func (e *encoder) step(s *Step) error {
	if int(s.Op) >= len(ops) {
		return fmt.Errorf("instruction %d is none", s.Op)
	}
	b := append(e.buf[:0], `{"op":"`...)
	b = append(b, s.Op.String()...)
	b = append(b, '"')
	for _, l := range []struct {
		used bool
		key  string
		loc  Loc
	}{{s.Op.ReadsSrc(), `,"src":["`, s.Src}, {s.Op.WritesDst(), `,"dst":["`, s.Dst}} {
		if !l.used {
			continue
		}
		if l.loc.Buf > collective.Scratch {
			return fmt.Errorf("buffer %d is none", l.loc.Buf)
		}
		b = append(b, l.key...)
		b = append(b, l.loc.Buf.String()...)
		b = append(b, '"', ',')
		b = strconv.AppendInt(b, int64(l.loc.Off), 10)
		if l.loc.Stride < 0 {
			return fmt.Errorf("stride %d: want 1 or more", l.loc.Stride)
		}
		if !l.loc.Contiguous(s.Count) {
			b = append(b, ',')
			b = strconv.AppendInt(b, int64(l.loc.Stride), 10)
		}
		b = append(b, ']')
	}
	if s.Count != 1 {
		b = append(b, `,"count":`...)
		b = strconv.AppendInt(b, int64(s.Count), 10)
	}
	for i, d := range s.Deps {
		if i == 0 {
			b = append(b, `,"deps":[[`...)
		} else {
			b = append(b, `,[`...)
		}
		b = strconv.AppendInt(b, int64(d.TB), 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, int64(d.Step), 10)
		b = append(b, ']')
	}
	if len(s.Deps) > 0 {
		b = append(b, ']')
	}
	if s.HasDep {
		b = append(b, `,"hasdep":true`...)
	}
	b = append(b, '}')
	e.buf = b
	_, err := e.w.Write(b)
	return err
}
