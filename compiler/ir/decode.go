package ir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// Limits of Decode. A document takes memory in proportion to its length.
const (
	maxDocument = 1 << 31 // bytes
	maxRanks    = 1 << 16
	maxName     = 1000    // bytes of a program's name
	maxComment  = 1 << 20 // bytes of its comment, which may list rings over all ranks
)

// Decode reads what Encode writes, with any white space and any order of keys.
// It refuses keys it does not know, keys given twice, numbers that do not fit,
// documents of more than 2 GiB, and anything after the document; an error
// begins with line:column. It does not check the program's meaning: see package
// verify.
func Decode(r io.Reader) (*Program, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("document of more than %d bytes", maxDocument)
	}
	d := &decoder{reader: reader{text: text}}
	p := &Program{}
	if err := d.program(p); err != nil {
		return nil, err
	}
	return p, nil
}

type decoder struct{ reader }

// short reads a string of at most most bytes.
func (d *decoder) short(key string, most int) (string, error) {
	d.space()
	at := d.pos
	s, err := d.str()
	if err == nil && len(s) > most {
		err = d.errorAt(at, "%s of %d bytes: want at most %d", key, len(s), most)
	}
	return s, err
}

var (
	programKeys     = keys{{"schema", true}, {"name", false}, {"comment", false}, {"protocol", false}, {"collective", true}, {"gpus", true}}
	gpuKeys         = keys{{"gpu", false}, {"scratch", false}, {"threadblocks", true}}
	threadblockKeys = keys{{"tb", false}, {"send", false}, {"recv", false}, {"channel", false}, {"steps", true}}
	stepKeys        = keys{{"op", true}, {"src", false}, {"dst", false}, {"count", false}, {"deps", false}, {"hasdep", false}}
)

func (d *decoder) program(p *Program) error {
	err := d.object(programKeys, func(key string) (err error) {
		switch key {
		case "schema":
			d.space()
			at := d.pos
			var s string
			if s, err = d.str(); err == nil && s != Schema {
				err = d.errorAt(at, "schema %q: want %q", s, Schema)
			}
		case "name":
			p.Name, err = d.short("name", maxName)
		case "comment":
			p.Comment, err = d.short("comment", maxComment)
		case "protocol":
			p.Protocol, err = d.protocol()
		case "collective":
			err = d.collective(&p.Collective)
		case "gpus":
			err = d.array(func(i int) error {
				if i >= maxRanks {
					return d.errorf("more than %d gpus", maxRanks)
				}
				var g GPU
				err := d.gpu(i, &g)
				p.GPUs = append(p.GPUs, g)
				return err
			})
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(p.GPUs) != p.Collective.Ranks {
		return d.errorf("%d gpus, in a collective over %d ranks", len(p.GPUs), p.Collective.Ranks)
	}
	return d.finish()
}

func (d *decoder) protocol() (string, error) {
	d.space()
	at := d.pos
	name, err := d.str()
	if err == nil && !slices.Contains(Protocols, name) {
		return "", d.errorAt(at, "protocol %.40q: want one of %s", name, strings.Join(Protocols, ", "))
	}
	return name, err
}

// collective reads a collective.Spec with its own field tags.
func (d *decoder) collective(s *collective.Spec) error {
	at := d.pos
	raw, err := d.raw()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(s); err != nil {
		if kind := new(json.UnmarshalTypeError); errors.As(err, &kind) && kind.Field != "" {
			return d.errorAt(at, "collective: %s is a JSON %s: want %s", kind.Field, kind.Value, kind.Type)
		}
		return d.errorAt(at, "collective: %v", err)
	}
	if s.Ranks < 1 || s.Ranks > maxRanks {
		return d.errorAt(at, "collective over %d ranks: want 1 to %d", s.Ranks, maxRanks)
	}
	return nil
}

func (d *decoder) gpu(index int, g *GPU) error {
	return d.object(gpuKeys, func(key string) (err error) {
		switch key {
		case "gpu":
			err = d.index("gpu", index)
		case "scratch":
			g.Scratch, err = d.integer(0, math.MaxInt32)
		case "threadblocks":
			err = d.array(func(i int) error {
				t := Threadblock{Send: -1, Recv: -1}
				err := d.threadblock(i, &t)
				g.Threadblocks = append(g.Threadblocks, t)
				return err
			})
		}
		return err
	})
}

// index reads an element's own number, which must be its place.
func (d *decoder) index(what string, want int) error {
	n, err := d.integer(0, math.MaxInt32)
	if err == nil && n != want {
		err = d.errorf("%s %d at place %d", what, n, want)
	}
	return err
}

func (d *decoder) threadblock(index int, t *Threadblock) error {
	return d.object(threadblockKeys, func(key string) (err error) {
		switch key {
		case "tb":
			err = d.index("tb", index)
		case "send":
			t.Send, err = d.integer(-1, maxRanks-1)
		case "recv":
			t.Recv, err = d.integer(-1, maxRanks-1)
		case "channel":
			t.Channel, err = d.integer(0, math.MaxInt16)
		case "steps":
			err = d.array(func(int) error {
				t.Steps = append(t.Steps, Step{Count: 1})
				return d.step(&t.Steps[len(t.Steps)-1])
			})
		}
		return err
	})
}

func (d *decoder) step(s *Step) error {
	src, dst := false, false
	d.space()
	start := d.pos
	err := d.object(stepKeys, func(key string) (err error) {
		switch key {
		case "op":
			s.Op, err = d.op()
		case "src":
			src = true
			s.Src, err = d.loc()
		case "dst":
			dst = true
			s.Dst, err = d.loc()
		case "count":
			var n int
			n, err = d.integer(0, math.MaxInt32)
			s.Count = int32(n)
		case "deps":
			err = d.array(func(int) error {
				tb, step, err := d.pair()
				s.Deps = append(s.Deps, Dep{TB: tb, Step: step})
				return err
			})
		case "hasdep":
			s.HasDep, err = d.boolean()
		}
		return err
	})
	s.Src, s.Dst = s.Src.Normal(s.Count), s.Dst.Normal(s.Count)
	if err == nil && (src != s.Op.ReadsSrc() || dst != s.Op.WritesDst()) {
		err = d.errorAt(start, "%s with src %t and dst %t: want %t and %t", s.Op, src, dst, s.Op.ReadsSrc(), s.Op.WritesDst())
	}
	return err
}

func (d *decoder) op() (Op, error) {
	d.space()
	at := d.pos
	name, err := d.token()
	if err != nil {
		return 0, err
	}
	for o := range ops {
		if ops[o].name == string(name) {
			return Op(o), nil
		}
	}
	return 0, d.errorAt(at, "op %q: want one of %s", name, opNames())
}

// loc reads ["in",3], or with a stride ["in",3,8].
func (d *decoder) loc() (l Loc, err error) {
	if err = d.punct('['); err != nil {
		return l, err
	}
	d.space()
	at := d.pos
	name, err := d.token()
	if err != nil {
		return l, err
	}
	for l.Buf <= collective.Scratch && l.Buf.String() != string(name) {
		l.Buf++
	}
	if l.Buf > collective.Scratch {
		return l, d.errorAt(at, "buffer %q: want one of in, out, sc", name)
	}
	if err = d.punct(','); err != nil {
		return l, err
	}
	n, err := d.integer(0, math.MaxInt32)
	if err != nil {
		return l, err
	}
	l.Off = int32(n)
	if d.next() == ',' {
		d.pos++
		if n, err = d.integer(1, math.MaxInt32); err != nil {
			return l, err
		}
		l.Stride = int32(n)
	}
	return l, d.punct(']')
}

// pair reads [1,0].
func (d *decoder) pair() (a, b int32, err error) {
	if err = d.punct('['); err != nil {
		return 0, 0, err
	}
	x, err := d.integer(0, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	if err = d.punct(','); err != nil {
		return 0, 0, err
	}
	y, err := d.integer(0, math.MaxInt32)
	if err != nil {
		return 0, 0, err
	}
	return int32(x), int32(y), d.punct(']')
}

func opNames() string {
	names := make([]string, len(ops))
	for o := range ops {
		names[o] = ops[o].name
	}
	return strings.Join(names, ", ")
}
