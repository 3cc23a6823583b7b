package script

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// program is a template's Starlark program. It is immutable once it is loaded.
type program struct {
	file    string
	globals starlark.StringDict
	custom  []*customCollective
	limits  limits
	parent  *parent // the process that it is evaluated for, if this is a child; or nil
}

// load executes the file, which declares the family.
func (p *program) load(src []byte, modules map[string]string, print func(string)) (*declaration, error) {
	d := &declaration{}
	s := &session{file: p.file, limits: p.limits, parent: p.parent, declare: d}
	err := run(s, print, func(th *starlark.Thread) error {
		th.Load = (&library{modules, map[string]*module{}}).load
		doc, globals, err := execute(th, p.file, src)
		if err != nil {
			return err
		}
		globals.Freeze()
		d.Doc, p.globals = doc, globals
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !d.done {
		return nil, &Error{Pos: lang.Pos{File: p.file}, Msg: "family(…) is missing: a template declares its name, collectives and parameters"}
	}
	p.custom = d.custom
	for _, c := range d.Collectives {
		if _, err := p.function(c); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// function returns the function that implements a collective: program, or else
// the one named for the collective.
func (p *program) function(coll string) (*starlark.Function, error) {
	for _, name := range []string{"program", coll} {
		if fn, ok := p.globals[name].(*starlark.Function); ok {
			return fn, nil
		}
	}
	return nil, &Error{Pos: lang.Pos{File: p.file}, Msg: fmt.Sprintf("%s is declared, but there is neither def program(topo, p) nor def %s(topo, p)", coll, coll)}
}

func (p *program) session(c *call) *session {
	return &session{file: p.file, limits: p.limits, budget: c.template.budget, parent: p.parent, machine: c.machine}
}

// call calls an optional function of the template, and passes on its result.
func (p *program) call(name string, c *call, use func(starlark.Value) error) error {
	fn, ok := p.globals[name].(*starlark.Function)
	if !ok {
		return nil
	}
	return run(p.session(c), c.template.print, func(th *starlark.Thread) error {
		v, err := starlark.Call(th, fn, c.args(), nil)
		if err != nil {
			return err
		}
		if err := use(v); err != nil {
			return &Error{Pos: position(fn.Position()), Msg: err.Error()}
		}
		return nil
	})
}

func (c *call) args() starlark.Tuple {
	values := starlark.StringDict{}
	for name, v := range c.params {
		values[name] = starlarkValue(v)
	}
	p := starlarkstruct.FromStringDict(starlark.String("p"), values)
	p.Freeze()
	if c.topo != nil {
		return starlark.Tuple{c.topo(), p}
	}
	return starlark.Tuple{c.describe(), p}
}

// describe is the call's topo.
func (c *call) describe() starlark.Value {
	v := topo(c.machine, c.request)
	v.Freeze()
	return v
}

func (p *program) evaluate(function string, c *call) (result, error) {
	switch function {
	case "applies":
		return p.applies(c)
	case "operations":
		return p.operations(c)
	case "cost":
		return p.cost(c)
	case "table":
		table, err := p.table(c)
		return result{Table: table}, err
	}
	return result{}, fmt.Errorf("no function %q", function)
}

func (p *program) applies(c *call) (result, error) {
	r := result{Yes: true}
	err := p.call("applies", c, func(v starlark.Value) error {
		switch v := v.(type) {
		case starlark.Bool:
			if r.Yes = bool(v); !r.Yes {
				r.Why = "it does not apply here"
			}
			return nil
		case starlark.String:
			r = result{Why: string(v)}
			return nil
		}
		return fmt.Errorf("applies returned %s: want True, or a string that says why not", kindOf(v))
	})
	return r, err
}

func (p *program) chunks(c *call) (int, error) {
	n := 1
	err := p.call("chunks", c, func(v starlark.Value) error {
		var err error
		if n, err = starlark.AsInt32(v); err != nil || n < 1 || n > maxChunks {
			return fmt.Errorf("chunks returned %s: want a number from 1 to %d", kindOf(v), maxChunks)
		}
		return nil
	})
	return n, err
}

func (p *program) table(c *call) (*collective.Table, error) {
	i := slices.IndexFunc(p.custom, func(d *customCollective) bool { return d.name == c.request.Collective })
	if i < 0 {
		return nil, nil
	}
	return p.custom[i].table(p.session(c), c.template.print)
}

func (p *program) trace(c *call) (*lang.Program, error) {
	trace, err := p.record(c, func(coll collective.Collective) *lang.Trace {
		trace := c.newTrace(coll)
		trace.SetLinked(c.machine.Linked)
		return trace
	}, nil)
	if err != nil {
		return nil, err
	}
	return finish(p.file, trace)
}

// newTrace returns an empty trace of the call's program.
func (c *call) newTrace(coll collective.Collective) *lang.Trace {
	begin := lang.NewTrace
	if c.request.Sketch {
		begin = lang.NewSketch
	}
	trace := begin(c.template.Name, coll)
	if c.request.MaxOps > 0 {
		trace.SetMaxOps(c.request.MaxOps)
	}
	if c.request.MaxPeers > 0 {
		trace.SetMaxPeers(c.request.MaxPeers)
	}
	return trace
}

// finish ends a trace. It counts for no limit, as its cost depends on the chunks and
// operations, which are limited.
func finish(file string, trace *lang.Trace) (*lang.Program, error) {
	program, err := trace.Finish()
	if err != nil {
		return nil, asError(file, err)
	}
	return program, nil
}

// record runs the function that implements the call's collective. Its operations go to
// the trace that begin returns. progress, if there is one, is called after some of them.
func (p *program) record(c *call, begin func(collective.Collective) *lang.Trace, progress func()) (*lang.Trace, error) {
	n, err := p.chunks(c)
	if err != nil {
		return nil, err
	}
	table, err := p.table(c)
	if err != nil {
		return nil, err
	}
	coll, err := c.collective(n, table)
	if err != nil {
		return nil, err
	}
	fn, err := p.function(c.request.Collective)
	if err != nil {
		return nil, err
	}
	if err := p.checkOperations(c, fn, c.request.MaxOps); err != nil {
		return nil, err
	}
	trace := begin(coll)
	trace.At(position(fn.Position()))
	if err := trace.Err(); err != nil {
		return nil, asError(p.file, err)
	}
	s := p.session(c)
	s.trace, s.chunks, s.progress = trace, c.machine.Ranks()*coll.LoopChunks(), progress
	if coll.LoopChunks()%c.machine.Ranks() == 0 && coll.Custom == nil && coll.Counts == nil {
		s.unit = coll.LoopChunks() / c.machine.Ranks()
	}
	err = run(s, c.template.print, func(th *starlark.Thread) error {
		if _, err := starlark.Call(th, fn, c.args(), nil); err != nil {
			return err
		}
		return s.err
	})
	return trace, err
}

// dialect is the Starlark that templates are written in: sets and top-level
// loops are allowed, endless loops and recursion are not.
var dialect = &syntax.FileOptions{Set: true, TopLevelControl: true}

// execute parses, checks and runs a file, and gives its docstring and globals.
func execute(th *starlark.Thread, name string, src []byte) (string, starlark.StringDict, error) {
	doc, program, err := compiled(name, src)
	if err != nil {
		return "", nil, err
	}
	globals, err := program.Init(th, predeclared)
	return doc, globals, err
}

// compiled parses and checks a file, and gives its docstring.
func compiled(name string, src []byte) (string, *starlark.Program, error) {
	if len(src) > MaxSource {
		return "", nil, &Error{Pos: lang.Pos{File: name}, Msg: fmt.Sprintf("%d bytes: a template has at most %d", len(src), MaxSource)}
	}
	if i := bytes.IndexByte(src, 0); i >= 0 { // the scanner takes it for the end
		line := 1 + bytes.Count(src[:i], []byte("\n"))
		return "", nil, &Error{Pos: lang.Pos{File: name, Line: line, Col: i - bytes.LastIndexByte(src[:i], '\n')}, Msg: "a byte 0: want text"}
	}
	file, err := dialect.Parse(name, bytes.TrimPrefix(src, []byte("\ufeff")), 0) // as Python reads a file of Windows
	if err != nil {
		return "", nil, err
	}
	doc := docstring(file)
	program, err := starlark.FileProgram(file, predeclared.Has)
	return doc, program, err
}

// docstring returns the string a file begins with.
func docstring(f *syntax.File) string {
	if len(f.Stmts) > 0 {
		if e, ok := f.Stmts[0].(*syntax.ExprStmt); ok {
			if lit, ok := e.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
				return strings.TrimSpace(lit.Value.(string))
			}
		}
	}
	return ""
}
