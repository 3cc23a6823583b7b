package serve

import (
	"fmt"
	"os"
	"strings"
	"sync"

	hclog "github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/executor/wire"
	"github.com/colltune/colltune/internal/child"
)

// Dispatch runs a built-in executor, or an end of a launched one, and exits, if args are
// its command line; otherwise it returns at once. Call it with os.Args first thing in main,
// and in TestMain, of a binary with executors.
func Dispatch(args []string) {
	if len(args) < 3 {
		return
	}
	switch n := len(args); {
	case args[1] == executor.ServeCommand && n == 3:
		serveBuiltin(args[2])
	case args[1] == executor.LaunchCommand && n > 5:
		launch(args[2], args[3], args[4], args[5:])
	case args[1] == executor.StdioCommand && n <= 4:
		os.Exit(serveStdio(args[2], strings.Join(args[3:], "")))
	}
}

func serveBuiltin(name string) {
	make := executor.Builtin(name)
	if make == nil {
		fmt.Fprintf(os.Stderr, "executor %s is not built into this binary\n", name)
		os.Exit(2)
	}
	prepare() // before make, because a library may print while it is loaded
	Main(make())
	os.Exit(0)
}

// Main serves a host until it shuts the executor down or dies, and is the whole of an
// executor's main. Started by hand, it says so and exits 1. An executor that is an
// io.Closer is closed at the end, and given a second for it.
//
// From here on everything printed, by C libraries too, goes to standard error,
// which the host keeps: standard output belongs to the handshake.
func Main(impl executor.Executor) {
	prepare()
	serveHost(newServer(impl))
	closeExecutor(impl)
}

// serveHost answers the host's calls until it ends.
func serveHost(server protocol.ExecutorServer) {
	stderr := os.Stderr // taken now, because plugin.Serve replaces it
	if hostLine != nil {
		os.Stdout = hostLine // where go-plugin prints its one line
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Versions(server),
		GRPCServer:       wire.NewServer,
		Logger:           hclog.New(&hclog.LoggerOptions{Output: stderr, Level: hclog.Warn}),
	})
}

var (
	prepared sync.Once
	hostLine *os.File // what was standard output; nil where no host listens
)

// prepare diverts standard output and ties this process's life to the host that started
// it, if one has.
func prepare() {
	prepared.Do(func() {
		if !startedByHost() {
			return
		}
		var err error
		if hostLine, err = child.DivertStdout(); err != nil {
			fmt.Fprintln(os.Stderr, "standard output:", err)
			os.Exit(1)
		}
		child.EndWithParent(cleanUp)
	})
}

// startedByHost reports whether a host has started this process as an executor.
func startedByHost() bool {
	return os.Getenv(wire.Handshake.MagicCookieKey) == wire.Handshake.MagicCookieValue
}
