package script

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/suggest"
)

// A template declares itself by calling family(…) once at its top level, with
// its parameters as choice(…), between(…), ring_order() in a dictionary.

// declaration is what a file declares: the arguments of family(…), and the collectives
// of collective(…).
type declaration struct {
	Name        string
	Doc         string
	Collectives []string
	Where       string
	Protocol    string
	Parameters  []Parameter
	Defined     []definition

	done   bool // family was called
	custom []*customCollective
}

// names lists the collectives there are, including those the file defines.
func (d *declaration) names() []string {
	names := collective.Names()
	for _, c := range d.Defined {
		names = append(names, c.Name)
	}
	return names
}

// The longest texts of a declaration, in bytes: they are columns of tables.
const (
	maxName  = 64 // also of a value
	maxWhere = 200
	maxDoc   = 1000
)

// tooLong returns an error if a text of a declaration has more bytes than it may.
func tooLong(what, text string, most int) error {
	if len(text) > most {
		return fmt.Errorf("%s of %d bytes: want at most %d", what, len(text), most)
	}
	return nil
}

var identifier = lazyregexp.New(`^[a-z][a-z0-9_]{0,63}$`)
var familyName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

func familyBuiltin(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	d := sessionOf(th).declare
	if d == nil {
		return nil, fmt.Errorf("family: only the template's own file, at its top level, declares the family")
	}
	if d.done {
		return nil, fmt.Errorf("family: declared twice")
	}
	var collectives *starlark.List
	parameters := starlark.NewDict(0)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &d.Name, "collectives", &collectives, "where?", &d.Where, "parameters?", &parameters, "protocol?", &d.Protocol); err != nil {
		return nil, err
	}
	if err := cmp.Or(tooLong("family: name", d.Name, maxName), tooLong("family: where", d.Where, maxWhere)); err != nil {
		return nil, err
	}
	if !familyName().MatchString(d.Name) {
		return nil, fmt.Errorf("family: name %q: want lower-case letters, digits and -", d.Name)
	}
	if d.Protocol != "" && !slices.Contains(ir.Protocols, d.Protocol) {
		return nil, fmt.Errorf("family: protocol %.40q%s: want one of %s", d.Protocol, suggest.DidYouMean(d.Protocol, ir.Protocols), strings.Join(ir.Protocols, ", "))
	}
	for i := range collectives.Len() {
		c, _ := starlark.AsString(collectives.Index(i))
		if names := d.names(); !slices.Contains(names, c) {
			return nil, fmt.Errorf("family: unknown collective %s%s: want some of %s, or one that collective(…) has declared before", kindOf(collectives.Index(i)), suggest.DidYouMean(c, names), strings.Join(names, ", "))
		}
		if slices.Contains(d.Collectives, c) {
			return nil, fmt.Errorf("family: collective %s is there twice", c)
		}
		d.Collectives = append(d.Collectives, c)
	}
	if len(d.Collectives) == 0 {
		return nil, fmt.Errorf("family: no collectives: want some of %s", strings.Join(collective.Names(), ", "))
	}
	for _, kv := range parameters.Items() {
		name, _ := starlark.AsString(kv[0])
		p, ok := kv[1].(*parameter)
		if err := tooLong("family: parameter name", name, maxName); err != nil {
			return nil, err
		}
		switch {
		case !identifier().MatchString(name):
			return nil, fmt.Errorf("family: parameter name %s: want lower-case letters, digits and _", kindOf(kv[0]))
		case !ok:
			return nil, fmt.Errorf("family: parameter %s is %s: want choice(…), between(…)%s", name, kindOf(kv[1]), orHoles())
		}
		if err := tooLong("family: doc of parameter "+name, p.Doc, maxDoc); err != nil {
			return nil, err
		}
		q := p.Parameter
		q.Name = name
		d.Parameters = append(d.Parameters, q)
	}
	if err := checkCounted(d.Parameters); err != nil {
		return nil, err
	}
	d.done = true
	return starlark.None, nil
}

// parameter carries a Parameter from choice(…) and the like to family(…).
type parameter struct{ Parameter }

func (p *parameter) String() string        { return "<parameter>" }
func (p *parameter) Type() string          { return "parameter" }
func (p *parameter) Freeze()               {}
func (p *parameter) Truth() starlark.Bool  { return true }
func (p *parameter) Hash() (uint32, error) { return 0, fmt.Errorf("parameters cannot be keys") }

// maxValues limits the values of a parameter.
const maxValues = 1 << 12

// choiceBuiltin implements choice(value, …, default=the first, doc="").
func choiceBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p := &parameter{}
	var otherwise starlark.Value
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "default?", &otherwise, "doc?", &p.Doc); err != nil {
		return nil, err
	}
	if len(args) == 0 || len(args) > maxValues {
		return nil, fmt.Errorf("choice of %d values: want 1 to %d", len(args), maxValues)
	}
	for _, a := range args {
		v, err := plain(a)
		if err != nil {
			return nil, fmt.Errorf("choice: %w", err)
		}
		if slices.Contains(p.Values, v) {
			return nil, fmt.Errorf("choice: %s is there twice", kindOf(a))
		}
		p.Values = append(p.Values, v)
	}
	p.Default = p.Values[0]
	if otherwise != nil {
		v, err := plain(otherwise)
		if err != nil || !slices.Contains(p.Values, v) {
			return nil, fmt.Errorf("choice: the default %s is not among the values", kindOf(otherwise))
		}
		p.Default = v
	}
	return p, nil
}

// betweenBuiltin implements between(low, high, default=low, doc="").
func betweenBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	p := &parameter{}
	var otherwise starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "low", &p.Min, "high", &p.Max, "default?", &otherwise, "doc?", &p.Doc); err != nil {
		return nil, err
	}
	if p.Max < p.Min || p.Max-p.Min >= maxValues {
		return nil, fmt.Errorf("between(%d, %d): want 1 to %d values", p.Min, p.Max, maxValues)
	}
	n, err := number("default", otherwise, p.Min)
	if err != nil || n < p.Min || n > p.Max {
		return nil, fmt.Errorf("between: the default %s is not within %d to %d", kindOf(otherwise), p.Min, p.Max)
	}
	p.Default = n
	return p, nil
}

// orHoles lists the functions that declare holes, as the end of a sentence.
func orHoles() string {
	list, last := "", len(holeKinds)-1
	for _, k := range holeKinds[:last] {
		list += ", " + k.declare + "()"
	}
	return list + " or " + holeKinds[last].declare + "()"
}

// holeBuiltin declares a hole of a kind, as in ring_order(doc="").
func holeBuiltin(kind string) func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		p := &parameter{Parameter{Hole: kind}}
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "doc?", &p.Doc); err != nil {
			return nil, err
		}
		return p, nil
	}
}

// plain reads a value that a choice can have.
func plain(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.Bool:
		return bool(v), nil
	case starlark.String:
		return string(v), tooLong("a string", string(v), maxName)
	case starlark.Int:
		if n, err := starlark.AsInt32(v); err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s: want numbers, strings, True or False", kindOf(v))
}

// value is a parameter's value as the template sees it.
func starlarkValue(v any) starlark.Value {
	switch v := v.(type) {
	case int:
		return starlark.MakeInt(v)
	case string:
		return starlark.String(v)
	case bool:
		return starlark.Bool(v)
	case [][]int:
		return listOf(len(v), func(i int) starlark.Value {
			return listOf(len(v[i]), func(j int) starlark.Value { return starlark.MakeInt(v[i][j]) })
		})
	}
	return starlark.None
}

// check returns an error unless a file may declare this, and gives the parameters'
// values their types: it is for what a child process tells.
func (d *declaration) check() error {
	bad := fmt.Errorf("internal error: a garbled declaration")
	if d == nil || !familyName().MatchString(d.Name) || len(d.Where) > maxWhere || len(d.Doc) > MaxSource || len(d.Collectives) == 0 ||
		d.Protocol != "" && !slices.Contains(ir.Protocols, d.Protocol) {
		return bad
	}
	for _, c := range d.Defined {
		if !familyName().MatchString(c.Name) || slices.Contains(collective.Names(), c.Name) {
			return bad
		}
	}
	names := d.names()
	if slices.ContainsFunc(d.Collectives, func(c string) bool { return !slices.Contains(names, c) }) {
		return bad
	}
	for i := range d.Parameters {
		if !d.Parameters[i].restore() {
			return bad
		}
	}
	return checkCounted(d.Parameters)
}

// restore gives the values of a parameter that was read from JSON their types. It
// reports whether a file may declare the parameter.
func (p *Parameter) restore() bool {
	if !identifier().MatchString(p.Name) || len(p.Doc) > maxDoc || len(p.Values) > maxValues || p.Max < p.Min || p.Max-p.Min >= maxValues {
		return false
	}
	if p.Hole != "" {
		return kindOfHole(p.Hole) != nil && p.Default == nil
	}
	for i, v := range p.Values {
		if n, ok := asInt(v); ok {
			p.Values[i] = n
			continue
		}
		switch v := v.(type) {
		case string:
			if len(v) > maxName {
				return false
			}
		case bool:
		default:
			return false
		}
	}
	v, err := p.Check(p.Default)
	p.Default = v
	return err == nil
}
