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
	"github.com/colltune/colltune/internal/suggest"
)

// Template is a loaded .star file. It is immutable and safe for concurrent use.
type Template struct {
	Name        string      // the family's name
	Doc         string      // the file's docstring
	Collectives []string    // in the order declared
	Where       string      // the machines it applies to, in words; empty means any
	Parameters  []Parameter // in the order declared
	File        string

	globals starlark.StringDict
	own     []*customCollective
	print   func(string)
	limits  limits
	budget  *Budget
	trusted bool // its memory is not watched
}

// Options are the options of Load. The zero value has no library, drops output
// and limits memory.
type Options struct {
	Library map[string]string // the modules for load(): name → source
	Print   func(msg string)  // receives the output of print; nil drops it

	// Own means that the template and its modules are the caller's own. The sizes
	// of single operators' results are then not limited, which saves a tenth of a
	// large program's time, and neither is the process's memory, which grows for
	// other reasons too.
	Own bool
}

// Load reads a template from src, the text of file name. An error is an *Error
// or several of them, with positions in src.
func Load(name string, src []byte, o Options) (*Template, error) {
	return load(name, src, o, usual)
}

func load(name string, src []byte, o Options, l limits) (*Template, error) {
	s := &session{file: name, limits: l, trusted: o.Own, declare: &declaration{}}
	t := &Template{File: name, print: o.Print, limits: l, trusted: o.Own}
	err := run(s, o.Print, func(th *starlark.Thread) error {
		th.Load = newLibrary(o).load
		doc, globals, err := execute(th, name, src, o.Own)
		if err != nil {
			return err
		}
		globals.Freeze()
		t.Doc, t.globals = doc, globals
		return nil
	})
	if err != nil {
		return nil, err
	}
	d := s.declare
	if !d.done {
		return nil, &Error{Pos: lang.Pos{File: name}, Msg: "family(…) is missing: a template declares its name, collectives and parameters"}
	}
	t.Name, t.Collectives, t.Where, t.Parameters, t.own = d.name, d.collectives, d.where, d.parameters, d.own
	for _, c := range t.Collectives {
		if _, err := t.program(c); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Parameter returns a declared parameter, or an error that suggests a similar
// name.
func (t *Template) Parameter(name string) (Parameter, error) {
	names := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	if len(names) == 0 {
		return Parameter{}, fmt.Errorf("%s has no parameter %s: it has none", t.Name, name)
	}
	return Parameter{}, fmt.Errorf("%s has no parameter %s%s: it has %s", t.Name, name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
}

// Bind completes the given values, as a program or a JSON document has them, with
// the defaults of the other parameters.
func (t *Template) Bind(given map[string]any) (Params, error) {
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if _, err := t.Parameter(name); err != nil {
			return nil, err
		}
	}
	params := Params{}
	for _, p := range t.Parameters {
		v, ok := given[p.Name]
		if !ok {
			params[p.Name] = p.Default
			continue
		}
		v, err := p.Check(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		params[p.Name] = v
	}
	return params, nil
}

// Applies reports whether the family can implement a collective on a machine with
// its default parameters, and if not, why.
func (t *Template) Applies(m Machine, coll string, root int) (bool, string, error) {
	return t.Admits(m, Request{Collective: coll, Root: root, InPlace: collective.DefaultInPlace(coll)}, nil)
}

// Admits returns Applies for one request and one set of parameters.
func (t *Template) Admits(m Machine, q Request, given map[string]any) (bool, string, error) {
	if !slices.Contains(t.Collectives, q.Collective) {
		return false, fmt.Sprintf("%s is not among its collectives (%s)", q.Collective, strings.Join(t.Collectives, ", ")), nil
	}
	c, err := t.prepare(m, q, given)
	if err != nil {
		return false, "", err
	}
	if q.Root < 0 || q.Root >= m.Ranks() {
		return false, "", fmt.Errorf("root %d is out of range: there are %d ranks", q.Root, m.Ranks())
	}
	if why := c.mismatch(); why != "" {
		return false, why, nil
	}
	yes, why := true, ""
	err = c.call("applies", func(v starlark.Value) error {
		switch v := v.(type) {
		case starlark.Bool:
			if yes = bool(v); !yes {
				why = "it does not apply here"
			}
			return nil
		case starlark.String:
			yes, why = false, string(v)
			return nil
		}
		return fmt.Errorf("applies returned %s: want True, or a string that says why not", kindOf(v))
	})
	if err != nil {
		return false, "", err
	}
	return yes, why, nil
}

// Chunks returns the number of chunks in the collective's unit (see
// collective.Spec) for these parameters.
func (t *Template) Chunks(m Machine, q Request, given map[string]any) (int, error) {
	c, err := t.prepare(m, q, given)
	if err != nil {
		return 0, err
	}
	return c.chunks()
}

// Trace runs the program and returns its operations, which satisfy the
// postcondition. It does not check first whether the template applies. An error
// is an *Error.
func (t *Template) Trace(m Machine, q Request, given map[string]any) (*lang.Program, error) {
	if !slices.Contains(t.Collectives, q.Collective) {
		return nil, fmt.Errorf("%s does not implement %s: it implements %s", t.Name, q.Collective, strings.Join(t.Collectives, ", "))
	}
	c, err := t.prepare(m, q, given)
	if err != nil {
		return nil, err
	}
	if why := c.mismatch(); why != "" {
		return nil, fmt.Errorf("%s: %s", t.Name, why)
	}
	n, err := c.chunks()
	if err != nil {
		return nil, err
	}
	coll, err := t.Collective(m, q, n)
	if err != nil {
		return nil, err
	}
	fn, err := t.program(q.Collective)
	if err != nil {
		return nil, err
	}
	if err := t.checkOperations(c, fn, q.MaxOps); err != nil {
		return nil, err
	}
	trace := lang.NewTrace(t.Name, coll)
	trace.SetLinked(func(a, b int) bool { return m.Linked == nil || m.Linked(a, b) })
	if q.MaxOps > 0 {
		trace.SetMaxOps(q.MaxOps)
	}
	trace.At(position(fn.Position()))
	if err := trace.Err(); err != nil {
		return nil, asError(t.File, err)
	}
	s := &session{file: t.File, limits: t.limits, budget: t.budget, trusted: t.trusted, machine: c.machine, trace: trace, chunks: m.Ranks() * coll.LoopChunks()}
	if coll.LoopChunks()%m.Ranks() == 0 && coll.Custom == nil && coll.Counts == nil {
		s.unit = coll.LoopChunks() / m.Ranks()
	}
	err = run(s, t.print, func(th *starlark.Thread) error {
		if _, err := starlark.Call(th, fn, c.args(), nil); err != nil {
			return err
		}
		return s.err
	})
	if err != nil {
		return nil, err
	}
	// Checking the result counts for no limit, as its cost depends on the chunks
	// and operations, which are limited.
	program, err := trace.Finish()
	if err != nil {
		return nil, asError(t.File, err)
	}
	return program, nil
}

// Collective returns the collective of a request on a machine, divided into
// chunks: a built-in one, or one that the template defines.
func (t *Template) Collective(m Machine, q Request, chunks int) (collective.Collective, error) {
	s := collective.Spec{Name: q.Collective, Ranks: m.Ranks(), Chunks: chunks, Root: q.Root, InPlace: q.InPlace, Counts: q.Counts}
	for _, own := range t.own {
		if own.name != q.Collective {
			continue
		}
		table, err := t.table(own, m)
		if err != nil {
			return collective.Collective{}, err
		}
		s.Custom = table
		c, err := collective.New(s)
		if err != nil {
			return c, &Error{Pos: own.pos, Msg: err.Error()}
		}
		return c, nil
	}
	return collective.New(s)
}

// Defines reports whether the template defines a collective.
func (t *Template) Defines(coll string) bool {
	return slices.ContainsFunc(t.own, func(c *customCollective) bool { return c.name == coll })
}

// program returns the function that implements a collective: program, or else
// the one named for the collective.
func (t *Template) program(coll string) (*starlark.Function, error) {
	for _, name := range []string{"program", coll} {
		if fn, ok := t.globals[name].(*starlark.Function); ok {
			return fn, nil
		}
	}
	return nil, &Error{Pos: lang.Pos{File: t.File}, Msg: fmt.Sprintf("%s is declared, but there is neither def program(topo, p) nor def %s(topo, p)", coll, coll)}
}

// call holds a template's functions with their common arguments: the machine and
// request as topo, the parameters as p.
type call struct {
	t       *Template
	machine Machine
	request Request
	params  Params
}

func (t *Template) prepare(m Machine, q Request, given map[string]any) (*call, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	params, err := t.Bind(given)
	if err != nil {
		return nil, err
	}
	return &call{t, m.numbered(), q, params}, nil
}

// mismatch returns the reason why the values of holes do not fit the machine,
// or "".
func (c *call) mismatch() string {
	for _, p := range c.t.Parameters {
		if why := p.Mismatch(c.params[p.Name], c.machine); why != "" {
			return why
		}
	}
	return ""
}

func (c *call) args() starlark.Tuple {
	values := starlark.StringDict{}
	for name, v := range c.params {
		values[name] = starlarkValue(v)
	}
	p := starlarkstruct.FromStringDict(starlark.String("p"), values)
	p.Freeze()
	return starlark.Tuple{topo(c.machine, c.request), p}
}

// call runs an optional function of the template, and passes on its result.
func (c *call) call(name string, use func(starlark.Value) error) error {
	fn, ok := c.t.globals[name].(*starlark.Function)
	if !ok {
		return nil
	}
	s := &session{file: c.t.File, limits: c.t.limits, budget: c.t.budget, trusted: c.t.trusted, machine: c.machine}
	return run(s, c.t.print, func(th *starlark.Thread) error {
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

func (c *call) chunks() (int, error) {
	n := 1
	err := c.call("chunks", func(v starlark.Value) error {
		var err error
		if n, err = starlark.AsInt32(v); err != nil || n < 1 || n > maxChunks {
			return fmt.Errorf("chunks returned %s: want a number from 1 to %d", kindOf(v), maxChunks)
		}
		return nil
	})
	return n, err
}

// dialect is the Starlark that templates are written in: sets and top-level
// loops are allowed, endless loops and recursion are not.
var dialect = &syntax.FileOptions{Set: true, TopLevelControl: true}

// execute parses, checks and runs a file, and gives its docstring and globals.
func execute(th *starlark.Thread, name string, src []byte, own bool) (string, starlark.StringDict, error) {
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
	if !own {
		if err := guardFile(file); err != nil {
			return "", nil, err
		}
	}
	program, err := starlark.FileProgram(file, predeclared.Has)
	if err != nil {
		return "", nil, err
	}
	globals, err := program.Init(th, predeclared)
	return doc, globals, err
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
