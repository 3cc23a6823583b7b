package executor

import (
	"maps"
	"slices"
	"sync"
)

// The hidden subcommands by which this binary runs executors; see package serve.
const (
	ServeCommand  = "executor-serve"       // executor-serve NAME: a built-in one
	LaunchCommand = "executor-launch"      // executor-launch KIND COMMAND SETTINGS LAUNCHER…: a launcher, with its far end's
	StdioCommand  = "executor-serve-stdio" // executor-serve-stdio KIND [SETTINGS]: the far end
)

// builtins are the executors of this binary, by name.
var builtins = struct {
	sync.Mutex
	make   map[string]func() Executor
	models map[string]bool // those whose Description is Simulated
}{make: map[string]func() Executor{}, models: map[string]bool{}}

// RegisterBuiltin makes an executor of this binary known under a name. Call it before
// serve.Dispatch, both in the host and in the child.
func RegisterBuiltin(name string, make func() Executor) {
	builtins.Lock()
	defer builtins.Unlock()
	builtins.make[name] = make
}

// RegisterModel is RegisterBuiltin of an executor whose Description is Simulated, so that this
// is known by its name, before it is started.
func RegisterModel(name string, make func() Executor) {
	RegisterBuiltin(name, make)
	builtins.Lock()
	defer builtins.Unlock()
	builtins.models[name] = true
}

// IsModel reports whether an executor was registered with RegisterModel. Of any other, a plugin
// for example, its Description says whether its times are simulated.
func IsModel(name string) bool {
	builtins.Lock()
	defer builtins.Unlock()
	return builtins.models[name]
}

// Builtin returns the constructor of a built-in executor; nil: there is none of that
// name.
func Builtin(name string) func() Executor {
	builtins.Lock()
	defer builtins.Unlock()
	return builtins.make[name]
}

// builtinNames lists the registered names, sorted.
func builtinNames() []string {
	builtins.Lock()
	defer builtins.Unlock()
	return slices.Sorted(maps.Keys(builtins.make))
}
