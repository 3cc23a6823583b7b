package msccl

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// maxBytes is the most bytes of a file that Read accepts. Its memory use is at most a
// small multiple of the file's.
var maxBytes = 256 << 20

const (
	// Far more than any runtime accepts, but few enough that a short file cannot
	// make Read allocate much.
	maxChunks    = 1 << 20
	mostOfAStep  = 1 << 14
	mostChannels = 1 << 16
)

// Read reads an algorithm file in any dialect. An error names the line; it
// means that the text is no such file, or ambiguous. Faults of the algorithm
// itself are no errors here: see Verify.
func Read(r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(maxBytes)+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxBytes:
		return nil, fmt.Errorf("file of more than %d bytes", maxBytes)
	}
	p := &parser{scanner: scanner{text: text, line: 1}, f: &File{}}
	if err := p.file(); err != nil {
		return nil, err
	}
	p.f.Notes = p.notes
	return p.f, nil
}

// parser builds a File from XML elements.
type parser struct {
	scanner
	f    *File
	gpus []*GPU // by id, in the order read
}

func (p *parser) file() error {
	kind, name, err := p.next()
	switch {
	case err != nil:
		return err
	case kind == end:
		return p.errorf("no element: want <algo …>")
	case kind == closed || string(name) != "algo":
		return p.errorf("element %s: want <algo …>", name)
	}
	if err := p.algo(); err != nil {
		return err
	}
	if kind == open {
		if err := p.children("algo", "gpu", p.gpu); err != nil {
			return err
		}
	}
	if kind, name, err = p.next(); err != nil {
		return err
	} else if kind != end {
		return p.errorf("element %s after </algo>: want one algorithm a file", name)
	}
	return p.finish()
}

// children reads the known children of an element.
func (p *parser) children(parent, child string, read func(kind element) error) error {
	for {
		kind, name, err := p.next()
		switch {
		case err != nil:
			return err
		case kind == end:
			return p.errorf("unterminated %s", parent)
		case kind == closed && string(name) == parent:
			return nil
		case kind == closed:
			return p.errorf("closing tag of %s: want that of %s", name, parent)
		case string(name) == child:
			err = read(kind)
		case kind == open: // an element that all readers ignore
			err = p.skipElement(name)
		}
		if err != nil {
			return err
		}
	}
}

// requiredBySome lists the attributes of algo that some runtime requires.
var requiredBySome = []string{"name", "ngpus", "nchannels", "proto", "inplace", "outofplace", "minBytes", "maxBytes"}

func (p *parser) algo() error {
	f := p.f
	for _, a := range requiredBySome {
		if p.value(a) == nil {
			f.Missing = append(f.Missing, a)
		}
	}
	f.Name, f.Proto, f.Coll = string(p.value("name")), string(p.value("proto")), string(p.value("coll"))
	f.Collective = string(p.value("collective"))
	if f.Coll == "" {
		return p.errorf("attribute coll of algo missing")
	}
	if f.Proto != "" && !slices.Contains(ir.Protocols, f.Proto) {
		return p.errorf("attribute proto of algo is %q: want LL, LL128 or Simple", f.Proto)
	}
	f.NGPUs, f.NChannels = -1, -1 // unless they are given: see finish
	return cmp.Or(
		p.number(&f.NGPUs, "ngpus", 1, 1<<16),
		p.number(&f.NChannels, "nchannels", 0, mostChannels),
		need(p, &f.NChunksPerLoop, "algo", "nchunksperloop", 1, maxChunks),
		p.number(&f.Root, "root", 0, 1<<16),
		p.option(&f.InPlace, "inplace", 1),
		p.option(&f.OutOfPlace, "outofplace", 1),
		p.option(&f.MinBytes, "minBytes", math.MaxInt64),
		p.option(&f.MaxBytes, "maxBytes", math.MaxInt64),
		p.option(&f.NThreads, "nthreads", 1<<16),
	)
}

func (p *parser) gpu(kind element) error {
	id, g := 0, &GPU{}
	err := cmp.Or(
		need(p, &id, "gpu", "id", 0, 1<<16-1),
		need(p, &g.In, "gpu", "i_chunks", 0, maxChunks),
		need(p, &g.Out, "gpu", "o_chunks", 0, maxChunks),
		need(p, &g.Scratch, "gpu", "s_chunks", 0, maxChunks),
	)
	if err != nil {
		return err
	}
	for len(p.gpus) <= id {
		p.gpus = append(p.gpus, nil)
	}
	if p.gpus[id] != nil {
		return p.errorf("gpu %d given twice", id)
	}
	p.gpus[id] = g
	if kind == single {
		return nil
	}
	var order []int
	err = p.children("gpu", "tb", func(kind element) error {
		id := 0
		if err := need(p, &id, "tb", "id", 0, 1<<24); err != nil {
			return err
		}
		order = append(order, id)
		return p.threadblock(g, kind)
	})
	if err != nil {
		return err
	}
	if len(order) == 0 {
		return nil
	}
	// By id, each of 0 … n-1 once.
	sorted := make([]Threadblock, len(order))
	taken := make([]bool, len(order))
	for i, id := range order {
		if id >= len(order) || taken[id] {
			return p.errorf("threadblock ids of a gpu: want each of 0 to %d once, found %d", len(order)-1, id)
		}
		taken[id], sorted[id] = true, g.Threadblocks[i]
	}
	g.Threadblocks = sorted
	return nil
}

func (p *parser) threadblock(g *GPU, kind element) error {
	var tb Threadblock
	err := cmp.Or(
		need(p, &tb.Send, "tb", "send", -1, 1<<16),
		need(p, &tb.Recv, "tb", "recv", -1, 1<<16),
		need(p, &tb.Chan, "tb", "chan", -1, 1<<16),
	)
	if err != nil {
		return err
	}
	if kind == open {
		err := p.children("tb", "step", func(kind element) error {
			s, err := p.step()
			if err != nil {
				return err
			}
			tb.Steps = append(tb.Steps, s)
			if kind == open {
				return p.children("step", "", nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	g.Threadblocks = append(g.Threadblocks, tb)
	return nil
}

func (p *parser) step() (s Step, err error) {
	if s.Op, err = p.op(); err != nil {
		return s, err
	}
	if s.SrcBuf, err = p.buffer("srcbuf"); err != nil {
		return s, err
	}
	if s.DstBuf, err = p.buffer("dstbuf"); err != nil {
		return s, err
	}
	hasDep := int32(0)
	err = cmp.Or(
		need(p, &s.S, "step", "s", 0, math.MaxInt32),
		need(p, &s.SrcOff, "step", "srcoff", -1, math.MaxInt32),
		need(p, &s.DstOff, "step", "dstoff", -1, math.MaxInt32),
		need(p, &s.Count, "step", "cnt", 0, mostOfAStep),
		need(p, &s.DepID, "step", "depid", -1, math.MaxInt32),
		need(p, &s.Deps, "step", "deps", -1, math.MaxInt32),
		need(p, &hasDep, "step", "hasdep", 0, 1),
	)
	s.HasDep = hasDep == 1
	return s, err
}

func (p *parser) op() (ir.Op, error) {
	v := p.value("type")
	if v == nil {
		return 0, p.errorf("attribute type of step missing")
	}
	for op := ir.Nop; op <= ir.RecvReduceCopySend; op++ {
		if string(v) == op.String() {
			return op, nil
		}
	}
	return 0, p.errorf("step of type %q: want nop, s, r, cpy, re, rrc, rcs, rrs or rrcs", v)
}

func (p *parser) buffer(name string) (collective.Buffer, error) {
	v := p.value(name)
	if len(v) == 1 {
		for b, letter := range letters {
			if v[0] == letter {
				return collective.Buffer(b), nil
			}
		}
	}
	return 0, p.errorf("attribute %s of step is %q: want i, o or s", name, v)
}

// need reads a required number.
func need[T int | int32 | int64](p *parser, into *T, element, name string, low, high int64) error {
	v := p.value(name)
	if v == nil {
		return p.errorf("attribute %s of %s missing", name, element)
	}
	n, ok := integer(v)
	if !ok {
		return p.errorf("attribute %s of %s is %q: want an integer", name, element, v)
	}
	if n < low || n > high {
		return p.errorf("attribute %s of %s is %d: want %d to %d", name, element, n, low, high)
	}
	*into = T(n)
	return nil
}

// number reads a number of algo, if it is there.
func (p *parser) number(into *int, name string, low, high int64) error {
	if p.value(name) == nil {
		return nil
	}
	return need(p, into, "algo", name, low, high)
}

// option reads a number of algo, of 0 to high; it stays nil if it is missing.
func (p *parser) option(into **int64, name string, high int64) error {
	if p.value(name) == nil {
		return nil
	}
	*into = new(int64)
	return need(p, *into, "algo", name, 0, high)
}

// integer reads an integer as C does, where 0x begins a hexadecimal and 0 an octal
// number.
func integer(v []byte) (n int64, ok bool) {
	negative := len(v) > 0 && v[0] == '-'
	if negative {
		v = v[1:]
	}
	base := int64(10)
	switch {
	case len(v) > 2 && v[0] == '0' && v[1]|0x20 == 'x':
		base, v = 16, v[2:]
	case len(v) > 1 && v[0] == '0':
		base, v = 8, v[1:]
	}
	if len(v) == 0 {
		return 0, false
	}
	for _, c := range v {
		d := int64(99)
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int64(c|0x20-'a') + 10
		}
		if d >= base || n > (math.MaxInt64-d)/base {
			return 0, false
		}
		n = n*base + d
	}
	if negative {
		n = -n
	}
	return n, true
}

// finish sorts the GPUs and infers missing attributes.
func (p *parser) finish() error {
	f := p.f
	if f.NGPUs < 0 {
		f.NGPUs = len(p.gpus)
	}
	if len(p.gpus) != f.NGPUs {
		return fmt.Errorf("gpus up to id %d: ngpus says %d", len(p.gpus)-1, f.NGPUs)
	}
	channels := 1
	for id, g := range p.gpus {
		if g == nil {
			return fmt.Errorf("gpu %d missing: ngpus says %d", id, f.NGPUs)
		}
		f.GPUs = append(f.GPUs, *g)
		for i := range g.Threadblocks {
			channels = max(channels, g.Threadblocks[i].Chan+1)
		}
	}
	if f.NChannels < 0 {
		f.NChannels = channels
	}
	for _, inPlace := range f.Placements() {
		if _, _, err := f.Spec(inPlace); err != nil {
			return err
		}
	}
	return nil
}
