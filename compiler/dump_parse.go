package compiler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// Dump is a program between two passes, as Options.Dump receives it in text
// form.
type Dump struct {
	Pass string // the pass it was taken after; emit if the text is IR
	text string
}

// ParseDump reads a dump taken after any pass. Because the text may have been
// edited, the invariants between passes are checked; an error names the line,
// or the instruction where no single line is at fault. The program's results
// are not checked: package verify does that for the IR.
func ParseDump(text string) (*Dump, error) {
	prog, err := readUnit(text)
	if err != nil {
		return nil, err
	}
	return &Dump{Pass: prog.after, text: text}, nil
}

// Compile runs the remaining passes. Options.Instances is ignored, because the
// dump has its instances already. Errors are those of package function Compile.
func (d *Dump) Compile(o Options) (*Result, error) {
	skip, err := o.complete()
	if err != nil {
		return nil, err
	}
	prog, err := readUnit(d.text)
	if err != nil {
		return nil, err
	}
	prog.callPerChunk = prog.callPerChunk || o.CallPerChunk
	prog.opt = o
	return prog.compile(passIndex(d.Pass)+1, skip)
}

// maxDumpPlaces bounds the chunks of all buffers of all ranks of a dump.
const maxDumpPlaces = lang.MaxPlaces

type dumpReader struct {
	*program
	lines []string
	at    int // index of the current line
	stage int // index of the pass that the dump was taken after

	said  []dumpInstr // by instruction
	order []int32
}

// dumpInstr is what a dump says of an instruction, beside its operation and places.
type dumpInstr struct {
	known, result   bool
	channels, peers [2]int32 // of the message received and of the one sent
	instance        int32
	after, waits    []int32
	position        int // in the global order
}

func readUnit(text string) (*program, error) {
	r := &dumpReader{program: &program{instances: 1, scopeInstances: 1, in: &lang.Program{Scopes: []lang.Scope{{Factor: 1}}}}, lines: strings.Split(text, "\n")}
	r.opt.Slots = math.MaxInt32
	head, ok := r.next()
	if !ok {
		return nil, errors.New("no program: want the text of a dump")
	}
	if !strings.HasPrefix(head, "after ") {
		p, err := ir.Parse(strings.NewReader(text))
		if err != nil {
			return nil, err
		}
		r.out, r.program.after = p, passes[len(passes)-1].Name
		return r.program, nil
	}
	if err := r.header(head); err != nil {
		return nil, r.lineError(err)
	}
	read := r.instructionLines
	if r.stage < passIndex("instructions") {
		read = r.operationLines
	}
	if err := read(); err != nil {
		return nil, r.lineError(err)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r.program, nil
}

// content trims a line and reports whether it is neither blank nor a comment.
func content(line string) (string, bool) {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	return line, line != "" && line[0] != '#'
}

// contentLines counts the lines that are neither blank nor comments. Limits are
// based on it, so that blank lines do not raise them.
func (r *dumpReader) contentLines() int {
	n := 0
	for _, line := range r.lines {
		if _, says := content(line); says {
			n++
		}
	}
	return n
}

func (r *dumpReader) next() (string, bool) {
	for ; r.at < len(r.lines); r.at++ {
		if line, says := content(r.lines[r.at]); says {
			r.at++
			return line, true
		}
	}
	return "", false
}

func (r *dumpReader) lineError(err error) error { return fmt.Errorf("line %d: %w", r.at, err) }

// header reads the lines above the operations or instructions.
func (r *dumpReader) header(line string) error {
	name, of, ok := strings.Cut(strings.TrimPrefix(line, "after "), " of ")
	if !ok {
		return fmt.Errorf(`%.60q: want after PASS of "NAME"`, line)
	}
	if _, err := find(name); err != nil {
		return err
	}
	r.program.after, r.stage = name, passIndex(name)
	if r.stage == len(passes)-1 {
		return fmt.Errorf("after %s there is the IR alone", name)
	}
	var err error
	if r.in.Name, err = strconv.Unquote(of); err != nil {
		return fmt.Errorf("name %.40s: want it in quotes", of)
	}
	line, _ = r.next()
	spec, err := ir.ParseHeading(line)
	if err == nil {
		r.col, err = collective.New(spec)
	}
	if err != nil {
		return err
	}
	r.in.Collective = r.col
	r.scratch = make([]int32, r.col.Ranks)
	for line, ok := r.next(); ok; line, ok = r.next() {
		words := strings.Fields(line)
		at := slices.IndexFunc(headings, func(h heading) bool { return h.word == words[0] && r.stage <= h.last })
		if at < 0 {
			r.at-- // it belongs to what follows the header
			break
		}
		if err := headings[at].read(r, words); err != nil {
			return err
		}
	}
	if r.places() > maxDumpPlaces {
		return fmt.Errorf("more than %d chunks of all buffers", maxDumpPlaces)
	}
	return nil
}

// heading is one of the optional header lines, which may come in any order.
type heading struct {
	word string
	last int // index of the last pass whose dumps have it
	read func(*dumpReader, []string) error
}

var headings = []heading{
	{"protocol", len(passes), (*dumpReader).protocolLine},
	{"scratch", len(passes), (*dumpReader).scratchLine},
	{"instances", len(passes), (*dumpReader).instancesLine},
	{"calls", len(passes), (*dumpReader).callsLine},
	{"cycles", len(passes), (*dumpReader).cyclesLine},
	{"scope", 0, (*dumpReader).scopeLine},
}

func (r *dumpReader) protocolLine(words []string) (err error) {
	r.in.Protocol, err = ir.ParseProtocol(words)
	return err
}

func (r *dumpReader) scratchLine(words []string) (err error) {
	if len(words) != 1+r.col.Ranks {
		return fmt.Errorf("scratch of %d ranks, of %d", len(words)-1, r.col.Ranks)
	}
	for i, w := range words[1:] {
		if r.scratch[i], err = count(w, 0, math.MaxInt32); err != nil {
			return err
		}
	}
	return nil
}

func (r *dumpReader) instancesLine(words []string) error {
	if len(words) != 4 || words[2] != "×" {
		return errors.New("want instances N × N")
	}
	n, err := count(words[1], 1, math.MaxInt16)
	if err == nil {
		r.scopeInstances, err = count(words[3], 1, math.MaxInt16)
	}
	r.program.instances = n * r.scopeInstances
	return err
}

func (r *dumpReader) callsLine(words []string) error {
	if strings.Join(words, " ") != "calls of one chunk" {
		return errors.New("want calls of one chunk")
	}
	r.program.callPerChunk = true
	return nil
}

func (r *dumpReader) cyclesLine(words []string) error {
	if len(words) != 3 || words[1] != "broken" {
		return errors.New("want cycles broken N")
	}
	n, err := count(words[2], 1, math.MaxInt16)
	r.program.cycleBreaks = int(n)
	return err
}

// places returns the number of chunks in all buffers, or some number above
// maxDumpPlaces.
func (prog *program) places() (n int) {
	for rank := range prog.col.Ranks {
		for b := collective.In; b <= collective.Scratch && n <= maxDumpPlaces; b++ {
			n += prog.size(int32(rank), b)
		}
	}
	return n
}

func (r *dumpReader) scopeLine(words []string) error {
	known := len(r.in.Scopes)
	if len(words) != 6 || words[1] != strconv.Itoa(known) || words[2] != "in" || words[4] != "by" {
		return fmt.Errorf("want scope %d in N by N", known)
	}
	parent, err := count(words[3], 0, int32(known-1))
	if err != nil {
		return err
	}
	factor, err := count(words[5], 1, lang.MaxFactor)
	if err != nil {
		return err
	}
	r.in.Scopes = append(r.in.Scopes, lang.Scope{Parent: parent, Factor: int(factor)})
	return nil
}

// operationLines reads the operations, which dumps have up to pass scratch.
func (r *dumpReader) operationLines() error {
	dag := r.stage >= passIndex("chunk dag")
	if dag {
		r.srcDeps, r.dstDeps = newCSR(len(r.lines)), newCSR(len(r.lines))
	}
	for {
		line, ok := r.next()
		if !ok {
			return nil
		}
		f := &fields{words: strings.Fields(line)}
		if dag {
			r.writesResult = append(r.writesResult, false)
		}
		o := r.operation(f)
		for f.more() {
			r.operationMark(f, &o, dag)
		}
		if f.err != nil {
			return f.err
		}
		r.ops = append(r.ops, o)
		if dag {
			r.srcDeps.end()
			r.dstDeps.end()
		}
	}
}

// operation reads the beginning of a line: the kind of operation, its source
// and its destination.
func (r *dumpReader) operation(f *fields) op {
	o := op{channel: none}
	f.expect(strconv.Itoa(len(r.ops)))
	switch kind := f.word(); kind {
	case "copy":
	case "reduce":
		o.reduce = true
	default:
		f.fail(fmt.Errorf("%.20q: want copy or reduce", kind))
	}
	f.expect("rank")
	o.src = f.count(0, r.col.Ranks-1)
	src := f.place()
	f.expect("→")
	f.expect("rank")
	o.dst = f.count(0, r.col.Ranks-1)
	dst := f.place()
	if src.count != dst.count {
		f.fail(fmt.Errorf("%d chunks to %d", src.count, dst.count))
	}
	o.setPlaces(src, dst)
	return o
}

// operationMark reads one of the marks that follow an operation's places. dag
// is true if the dump has dependencies and results.
func (r *dumpReader) operationMark(f *fields, o *op, dag bool) {
	switch w := f.word(); {
	case w == "with" && r.stage >= passIndex("propagate copies"):
		with := f.place()
		if !o.reduce || with.count != o.count {
			f.fail(fmt.Errorf("%d chunks: want as many as a reduction has", with.count))
		}
		o.withBuf, o.withOff, o.withStride = with.buf, with.off, with.stride
	case w == "ch":
		o.channel = f.count(0, math.MaxInt16-1)
	case w == "scope" && r.stage == 0:
		o.scope = f.count(0, len(r.in.Scopes)-1)
	case w == "instance":
		o.instance = f.count(0, int(r.program.instances)-1)
	case w == "result" && dag:
		r.writesResult[len(r.ops)] = true
	case w == "after" && dag:
		r.srcDeps.list = append(r.srcDeps.list, r.depsAt(f, o.src)...)
		f.expect("|")
		r.dstDeps.list = append(r.dstDeps.list, r.depsAt(f, o.dst)...)
	default:
		f.fail(fmt.Errorf("%.20q: want with, ch, scope, instance, after or result", w))
	}
}

// depsAt reads the operations to wait for at a rank. All must be earlier and have
// an end at that rank.
func (r *dumpReader) depsAt(f *fields, rank int32) []int32 {
	list := f.counts(len(r.ops) - 1)
	for _, d := range list {
		if f.err == nil && r.ops[d].src != rank && r.ops[d].dst != rank {
			f.fail(fmt.Errorf("operation %d has no part at rank %d", d, rank))
		}
	}
	return list
}
