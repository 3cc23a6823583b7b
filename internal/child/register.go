package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
)

// hidden is the first argument of a child: `colltune __child NAME MEMORY`.
const hidden = "__child"

// inside is set in a child's environment, so that a binary whose main forgot
// Dispatch can't start copies of itself without end.
const inside = "COLLTUNE_CHILD"

var registry = map[string]func(*Conn) error{}

// Register gives a child's work its name; call it from init. The child ends
// when serve returns, with an error's text on its standard error.
func Register(name string, serve func(*Conn) error) {
	if _, twice := registry[name]; twice {
		panic("child " + name + " registered twice")
	}
	registry[name] = serve
}

// Dispatch does a child's work and exits where args are a child's; otherwise it
// returns at once. Call it first in main, with os.Args.
func Dispatch(args []string) {
	if len(args) < 2 || args[1] != hidden {
		return
	}
	os.Exit(work(args[2:]))
}

func work(args []string) int {
	if len(args) != 2 {
		fmt.Fprintln(os.Stderr, "this is for colltune itself: see colltune help")
		return 2
	}
	serve, known := registry[args[0]]
	if !known {
		names := make([]string, 0, len(registry))
		for n := range registry {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "unknown child %q: want one of %s\n", args[0], strings.Join(names, ", "))
		return 2
	}
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err == nil {
		err = capMemory(memory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "memory cap of a child:", err)
		return 2
	}
	dieWithParent()
	in, out, err := takeStandardStreams()
	if err != nil {
		fmt.Fprintln(os.Stderr, "standard streams of a child:", err)
		return 2
	}
	if err := serve(newConn(in, out, memory)); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
