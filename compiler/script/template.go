package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

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
	Protocol    string      // of ir.Protocols, the only one to run its programs with (GC3 section 6.1); empty means any
	Parameters  []Parameter // in the order declared
	File        string

	defined []definition // the collectives that it defines
	print   func(string)
	budget  *Budget
	code    evaluator
}

// definition is a collective that a template defines.
type definition struct {
	Name string
	Pos  lang.Pos
}

// evaluator evaluates the functions of a template: a program does so in this process,
// a worker in a child.
type evaluator interface {
	evaluate(function string, c *call) (result, error) // applies, operations, cost or table
	trace(c *call) (*lang.Program, error)
}

// result is what a function of a template returns.
type result struct {
	Yes   bool              `json:"yes,omitempty"` // of applies; of operations and cost whether there is a result
	Why   string            `json:"why,omitempty"`
	N     int               `json:"n,omitempty"`
	Wire  string            `json:"wire,omitempty"`
	Table *collective.Table `json:"table,omitempty"` // nil: the template does not define the collective
}

// call is an evaluation: the machine and the request are the template's topo, the
// parameters its p.
type call struct {
	template *Template
	machine  Machine
	request  Request
	params   Params
	topo     func() starlark.Value // nil: args makes one
}

// Options are the options of Load and LoadApart. The zero value has no library and
// drops output.
type Options struct {
	Library map[string]string // the modules for load(): name → source
	Print   func(msg string)  // receives the output of print; nil drops it
}

// Load reads a template from src, the text of file name, and evaluates it in this
// process. It is for texts that come with the program: steps and operations are
// limited, memory and time are not. An error is an *Error or several of them, with
// positions in src.
func Load(name string, src []byte, o Options) (*Template, error) {
	p := &program{file: name, limits: usual}
	d, err := p.load(src, o.Library, o.Print)
	if err != nil {
		return nil, err
	}
	return newTemplate(name, d, o.Print, p), nil
}

func newTemplate(file string, d *declaration, print func(string), code evaluator) *Template {
	return &Template{
		Name: d.Name, Doc: d.Doc, Collectives: d.Collectives, Where: d.Where, Protocol: d.Protocol, Parameters: d.Parameters, File: file,
		defined: d.Defined, print: print, code: code,
	}
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
// the defaults of the other parameters. A value of an unknown parameter, or one that
// its parameter does not accept, is an error.
func (t *Template) Bind(given map[string]any) (Params, error) {
	known := 0
	for i := range t.Parameters {
		if _, is := given[t.Parameters[i].Name]; is {
			known++
		}
	}
	if known < len(given) {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if _, err := t.Parameter(name); err != nil {
				return nil, err
			}
		}
	}
	params := make(Params, len(t.Parameters))
	for i := range t.Parameters {
		p := &t.Parameters[i]
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
// its default parameters, and if not, why. An error is a root out of range or an
// *Error of the template.
func (t *Template) Applies(m Machine, coll string, root int) (bool, string, error) {
	return t.Admits(m, Request{Collective: coll, Root: root, InPlace: collective.DefaultInPlace(coll)}, nil)
}

// Admits is Applies for one request and one set of parameters; an error may also be one
// of Bind.
func (t *Template) Admits(m Machine, q Request, given map[string]any) (bool, string, error) {
	return t.Admission(m, q)(given)
}

// Admission is Admits for many sets of parameters, and describes the machine once for all.
func (t *Template) Admission(m Machine, q Request) func(given map[string]any) (bool, string, error) {
	asked, refused := t.ask(m, q)
	if refused == nil {
		asked.topo = sync.OnceValue(asked.describe)
	}
	return func(given map[string]any) (bool, string, error) {
		if !slices.Contains(t.Collectives, q.Collective) {
			return false, fmt.Sprintf("%s is not among its collectives (%s)", q.Collective, strings.Join(t.Collectives, ", ")), nil
		}
		if refused != nil {
			return false, "", refused
		}
		params, err := t.Bind(given)
		if err != nil {
			return false, "", err
		}
		c := *asked
		c.params = params
		if q.Root < 0 || q.Root >= m.Ranks() {
			return false, "", fmt.Errorf("root %d is out of range: there are %d ranks", q.Root, m.Ranks())
		}
		if why := c.mismatch(); why != "" {
			return false, why, nil
		}
		r, err := t.code.evaluate("applies", &c)
		if err != nil {
			return false, "", err
		}
		return r.Yes, r.Why, nil
	}
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
	program, err := t.code.trace(c)
	if err == nil {
		program.Protocol = t.Protocol
	}
	return program, err
}

// Collective returns the collective of a request on a machine, divided into
// chunks: a built-in one, or one that the template defines. An error is one of
// collective.New; if the template defines the collective, it is an *Error at the
// definition.
func (t *Template) Collective(m Machine, q Request, chunks int) (collective.Collective, error) {
	c := &call{template: t, machine: m, request: q}
	if !t.Defines(q.Collective) {
		return c.collective(chunks, nil)
	}
	if err := m.check(); err != nil {
		return collective.Collective{}, err
	}
	c.machine = m.numbered()
	r, err := t.code.evaluate("table", c)
	if err != nil {
		return collective.Collective{}, err
	}
	return c.collective(chunks, r.Table)
}

// collective returns the call's collective; table is that of one which the template
// defines.
func (c *call) collective(chunks int, table *collective.Table) (collective.Collective, error) {
	q := c.request
	coll, err := collective.New(collective.Spec{
		Name: q.Collective, Ranks: c.machine.Ranks(), Chunks: chunks, Root: q.Root, InPlace: q.InPlace, Counts: q.Counts, Custom: table,
	})
	for _, d := range c.template.defined {
		if err != nil && d.Name == q.Collective {
			err = &Error{Pos: d.Pos, Msg: err.Error()}
		}
	}
	return coll, err
}

// Defines reports whether the template defines a collective.
func (t *Template) Defines(coll string) bool {
	return slices.ContainsFunc(t.defined, func(d definition) bool { return d.Name == coll })
}

func (t *Template) prepare(m Machine, q Request, given map[string]any) (*call, error) {
	c, err := t.ask(m, q)
	if err != nil {
		return nil, err
	}
	c.params, err = t.Bind(given)
	return c, err
}

// ask is prepare without parameters.
func (t *Template) ask(m Machine, q Request) (*call, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return &call{template: t, machine: m.numbered(), request: q}, nil
}

// mismatch returns the reason why the values of holes do not fit the machine,
// or "".
func (c *call) mismatch() string {
	for _, p := range c.template.Parameters {
		if why := p.Mismatch(c.params[p.Name], c.machine); why != "" {
			return why
		}
	}
	return ""
}
