package child

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// hidden is the first argument of a child's command line: `colltune __child NAME
// MEMORY`.
const hidden = "__child"

// inside is set in a child's environment. It stops a binary whose main forgot to
// call Dispatch from starting copies of itself without end.
const inside = "COLLTUNE_CHILD"

var registry = map[string]func(*Conn) error{}

// Register names a function that children can run; call it from init. The child exits
// when serve returns, after printing serve's error to standard error.
func Register(name string, serve func(*Conn) error) {
	if _, twice := registry[name]; twice {
		panic("child " + name + " registered twice")
	}
	registry[name] = serve
}

// Dispatch runs a registered function and exits if args are a child's command line;
// otherwise it returns at once. Call it with os.Args at the very start of main.
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
		fmt.Fprintf(os.Stderr, "unknown child %q: want one of %s\n", args[0], strings.Join(slices.Sorted(maps.Keys(registry)), ", "))
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
	endWithParent()
	in, out, err := TakeStreams()
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
