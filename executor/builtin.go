package executor

// The hidden subcommands by which this binary runs executors; see package serve.
const (
	ServeCommand  = "executor-serve"       // executor-serve NAME: a built-in one
	LaunchCommand = "executor-launch"      // executor-launch KIND COMMAND SETTINGS LAUNCHER…: a launcher, with its far end's
	StdioCommand  = "executor-serve-stdio" // executor-serve-stdio KIND [SETTINGS]: the far end
)

var (
	builtins registry[func() Executor] // the executors of this binary
	models   registry[bool]            // those whose Description is Simulated
)

// RegisterBuiltin makes an executor of this binary known under a name. Call it before
// serve.Dispatch, both in the host and in the child.
func RegisterBuiltin(name string, make func() Executor) { builtins.set(name, make) }

// RegisterModel is RegisterBuiltin of an executor whose Description is Simulated, so that this
// is known by its name, before it is started.
func RegisterModel(name string, make func() Executor) {
	RegisterBuiltin(name, make)
	models.set(name, true)
}

// IsModel reports whether an executor was registered with RegisterModel. Of any other, a plugin
// for example, its Description says whether its times are simulated.
func IsModel(name string) bool {
	_, ok := models.get(name)
	return ok
}

// Builtin returns the constructor of a built-in executor; nil: there is none of that
// name.
func Builtin(name string) func() Executor {
	make, _ := builtins.get(name)
	return make
}
