package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"github.com/colltune/colltune/internal/suggest"
)

// predeclared is the environment of every template in addition to Starlark's
// own.
var predeclared = starlark.StringDict{
	"chunk":       starlark.NewBuiltin("chunk", chunkBuiltin),
	"parallelize": starlark.NewBuiltin("parallelize", parallelizeBuiltin),
	"collective":  starlark.NewBuiltin("collective", collectiveBuiltin),
	"family":      starlark.NewBuiltin("family", familyBuiltin),
	"choice":      starlark.NewBuiltin("choice", choiceBuiltin),
	"between":     starlark.NewBuiltin("between", betweenBuiltin),
	"range":       starlark.NewBuiltin("range", rangeBuiltin),
}

// rangeBuiltin implements Starlark's range, limited to maxRange elements, since
// functions such as max and sorted go through a range in a single step that
// can't be interrupted.
func rangeBuiltin(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Universe["range"].(*starlark.Builtin).CallInternal(th, args, kwargs)
	if err != nil {
		return nil, err
	}
	if n := v.(starlark.Sequence).Len(); n > maxRange {
		return nil, fmt.Errorf("range of %d elements: want at most %d", n, maxRange)
	}
	return v, nil
}

// init adds the holes to predeclared.
func init() {
	for _, k := range holeKinds {
		predeclared[k.declare] = starlark.NewBuiltin(k.declare, holeBuiltin(k.kind))
	}
}

// modules holds the compiled modules of libraries, since each template loads its own.
var modules sync.Map // from moduleText to *starlark.Program

type moduleText struct{ name, text string }

func compiledModule(name, text string) (*starlark.Program, error) {
	if program, ok := modules.Load(moduleText{name, text}); ok {
		return program.(*starlark.Program), nil
	}
	_, program, err := compiled(name, []byte(text))
	if err == nil {
		modules.Store(moduleText{name, text}, program)
	}
	return program, err
}

// library holds the modules that load() finds, each executed once.
type library struct {
	sources map[string]string
	loaded  map[string]*module
}

type module struct {
	globals starlark.StringDict
	err     error
}

func (l *library) load(th *starlark.Thread, name string) (starlark.StringDict, error) {
	if m, ok := l.loaded[name]; ok {
		if m == nil {
			return nil, fmt.Errorf("it loads itself")
		}
		return m.globals, m.err
	}
	src, ok := l.sources[name]
	if !ok {
		names := slices.Sorted(maps.Keys(l.sources))
		if len(names) == 0 {
			return nil, fmt.Errorf("there are no modules")
		}
		return nil, fmt.Errorf("no such module%s: there are %s", suggest.DidYouMean(name, names), strings.Join(names, ", "))
	}
	l.loaded[name] = nil // while it is being loaded
	m := &module{}
	own := &starlark.Thread{Name: name, Load: l.load, Print: th.Print}
	own.SetLocal(sessionKey, &session{file: name, limits: usual})
	own.SetMaxExecutionSteps(usual.Steps)
	var program *starlark.Program
	if program, m.err = compiledModule(name, src); m.err == nil {
		m.globals, m.err = program.Init(own, predeclared)
	}
	m.globals.Freeze()
	l.loaded[name] = m
	return m.globals, m.err
}
