package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/child"
)

// command is a subcommand. Its arguments follow its name.
type command struct {
	name string
	run  func(ctx context.Context, args []string) error
}

var commands = []command{
	{"papers", runPapers},
	{"accuracy", runAccuracy},
	{"score", runScore},
}

func main() {
	child.Dispatch(os.Args)
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	at := -1
	if len(os.Args) > 1 {
		at = slices.Index(names, os.Args[1])
	}
	if at < 0 {
		fmt.Fprintf(os.Stderr, "lab: want one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	if err := commands[at].run(context.Background(), os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "lab %s: %v\n", names[at], err)
		os.Exit(1)
	}
}

// parseFlags reads the arguments of a command that takes flags only.
func parseFlags(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if rest := flags.Args(); len(rest) > 0 {
		return fmt.Errorf("%q: want flags only", rest[0])
	}
	return nil
}
