package executor

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
)

// serveCommand is the hidden subcommand by which this binary runs one of its
// built-in executors.
const serveCommand = "executor-serve"

var builtins = struct {
	sync.Mutex
	make map[string]func() Executor
}{make: map[string]func() Executor{}}

// RegisterBuiltin makes an executor of this binary known under a name. Call it
// before Dispatch, both in the host and in the child.
func RegisterBuiltin(name string, make func() Executor) {
	builtins.Lock()
	defer builtins.Unlock()
	builtins.make[name] = make
}

// builtinNames lists the registered names, sorted.
func builtinNames() []string {
	builtins.Lock()
	defer builtins.Unlock()
	names := make([]string, 0, len(builtins.make))
	for n := range builtins.make {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func builtin(name string) func() Executor {
	builtins.Lock()
	defer builtins.Unlock()
	return builtins.make[name]
}

// Dispatch looks at the arguments. If they ask for a built-in executor, or for an
// end of a launched one, this process becomes that and never returns; otherwise it
// returns at once. A program that starts executors, or a test binary that does,
// calls it first thing.
func Dispatch(args []string) {
	if len(args) < 3 {
		return
	}
	switch n := len(args); {
	case args[1] == serveCommand && n == 3:
		serveBuiltin(args[2])
	case args[1] == launchCommand && n > 5:
		launch(args[2], args[3], args[4], args[5:])
	case args[1] == stdioCommand && n <= 4:
		os.Exit(serveStdio(args[2], strings.Join(args[3:], "")))
	}
}

func serveBuiltin(name string) {
	make := builtin(name)
	if make == nil {
		fmt.Fprintf(os.Stderr, "executor %s is not built into this binary\n", name)
		os.Exit(2)
	}
	prepare() // before make, because a library may print while it is loaded
	Serve(make())
	os.Exit(0)
}

// Serve answers a host until it says goodbye or dies, and is the whole of an
// executor's main. Started by hand, it says so and exits 1. An executor that is
// an io.Closer is closed at goodbye, and given a second for it.
//
// From here on everything printed, by C libraries too, goes to standard error,
// which the host keeps: standard output belongs to the handshake.
func Serve(impl Executor) {
	prepare()
	stderr := os.Stderr
	if hostLine != nil {
		os.Stdout = hostLine // where go-plugin prints its one line
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: versions(newServer(impl)),
		GRPCServer:       grpcServer,
		Logger:           hclog.New(&hclog.LoggerOptions{Output: stderr, Level: hclog.Warn}),
	})
	closeExecutor(impl)
}

var (
	prepared sync.Once
	hostLine *os.File // what was standard output; nil where no host listens
)

// prepare ties this process to the host that started it, if one has.
func prepare() {
	prepared.Do(func() {
		if !startedByHost() {
			return
		}
		var err error
		if hostLine, err = divertStdout(); err != nil {
			fmt.Fprintln(os.Stderr, "standard output:", err)
			os.Exit(1)
		}
		dieWithHost()
	})
}

// startedByHost reports whether a host has started this process as an executor.
func startedByHost() bool {
	return os.Getenv(handshake.MagicCookieKey) == handshake.MagicCookieValue
}
